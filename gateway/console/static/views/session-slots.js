// The context slots of a session.

import { button } from "../action.js";
import { badge } from "../badge.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { none, number, time } from "../format.js";
import { field, select } from "../form.js";
import { t, term } from "../i18n.js";
import { later } from "../later.js";
import { to } from "../router.js";
import { table } from "../table.js";
import { confirm, renew, subject } from "./session-actions.js";
import { slotName } from "./slot-choice.js";
import { focus, focusFields, idField, settings, settingsFields } from "./slot-form.js";

export function slots(view) {
  const { api, session } = view;
  const [list] = later(view, (signal) => api.get("slots", { signal }), ({ items }) => [table(columns(view, items), items)]);
  return [list, h("p", {}, button(t("New slot"), () => openDialog({
    title: t("New slot"), subject: subject(session), label: t("Create"), body: [idField(), settingsFields()],
    submit: async (form) => {
      await api.post("slots", { body: { id: form.id, ...settings(form) } });
      renew(view);
      return t("The slot is made.");
    },
  })))];
}

const columns = (view, all) => [
  { label: t("Slot"), cell: (s) => [h("a", { href: to("session", { key: view.session.key, slot: s.id }) }, slotName(s)), s.current && [" ", badge("current")]] },
  { label: t("Mode"), cell: (s) => [term(s.mode), !s.compact && h("div", { class: "fine" }, t("not compacted"))] },
  { label: t("Source"), cell: (s) => (s.source.parentId ? t("{kind} from {parent}", { kind: term(s.source.kind), parent: s.source.parentId }) : term(s.source.kind)) },
  { label: t("Budget"), cell: (s) => (s.budget ? budget(s.budget) : none) },
  { label: t("Messages"), class: "number", cell: (s) => number(s.messageCount) },
  { label: t("Tokens"), class: "number", cell: (s) => number(s.totalTokens) },
  { label: t("Created"), class: "when", cell: (s) => time(s.createdAt) },
  { label: t("Actions"), class: "acts", cell: (s) => acts(view, s, all) },
];

const budget = (b) => (b.auto ? t("automatic") : Object.entries(b).filter(([, n]) => n > 0).map(([part, n]) => `${term(part)} ${number(n)}`).join(", "));

function acts(view, slot, all) {
  const { api } = view;
  const fixed = slot.source.kind === "static";
  const others = all.filter((s) => s.id !== slot.id && s.source.kind !== "static").map((s) => [s.id, slotName(s)]);
  const path = `slots/${encodeURIComponent(slot.id)}`;
  const about = [subject(view.session), h("span", {}, t("Slot: {slot}", { slot: slotName(slot) }))];
  return [
    !slot.current && !fixed && button(t("Switch to it"), async () => {
      await api.post(`${path}/switch`);
      renew(view);
      return t("The slot {slot} is the current one.", { slot: slotName(slot) });
    }),
    !fixed && button(t("Change"), () => openDialog({
      title: t("Change the slot"), subject: about, label: t("Save"), body: settingsFields(slot),
      submit: async (form) => {
        await api.patch(path, { body: settings(form) });
        renew(view);
        return t("Saved.");
      },
    })),
    button(t("Derive"), () => openDialog({
      title: t("Derive a slot"), subject: about, label: t("Derive"),
      body: [idField(), focusFields(t("Messages"), "strategy", [["full", t("all of them")], ["focused", t("those that a focus shows")]], "full")],
      submit: async (form) => {
        await api.post(`${path}/derive`, { body: { id: form.id, strategy: form.strategy, ...(form.strategy === "focused" && { focused: focus(form) }) } });
        renew(view);
        return t("The slot is made.");
      },
    })),
    others.length > 0 && button(t("Merge"), () => openDialog({
      title: t("Merge the slot into another"), subject: about, label: t("Merge"), danger: true,
      body: [field(t("Into"), select("into", others, others[0][0])),
        field(t("What is added"), select("strategy", [["messages", t("its new messages")], ["summary", t("a summary of them")]], "messages"))],
      submit: async (body) => {
        const { changed } = await api.post(`${path}/merge`, { body });
        renew(view);
        return t("Messages that were added: {n}.", { n: number(changed) });
      },
    })),
    slot.id !== "default" && !fixed && button(t("Delete"), () => confirm(view, {
      label: t("Delete"), title: t("Delete the slot {slot}?", { slot: slotName(slot) }), text: t("Its messages go with it. This cannot be undone."),
      act: (dryRun) => api.remove(path, { query: { dryRun } }),
    }), { class: "danger" }),
  ];
}

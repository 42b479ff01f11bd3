// What can be done with a session as a whole.

import { button } from "../action.js";
import { destroy, openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { number } from "../format.js";
import { field, input, textarea } from "../form.js";
import { t, term } from "../i18n.js";
import { item, menu } from "../menu.js";
import { nameOf } from "../names.js";
import { go } from "../router.js";
import { exportMenu } from "./session-export.js";

export function actions(view, ...more) {
  const { session, api } = view;
  return h("div", { class: "tools" },
    button(t("Rename"), () => rename(view)),
    button(session.pinned ? t("Unpin") : t("Pin"), async () => {
      await api.patch("", { body: { pinned: !session.pinned } });
      renew(view);
      return session.pinned ? t("The session is not pinned any more.") : t("The session is pinned.");
    }),
    exportMenu(view),
    menu(t("Actions"), changes(view).map((c) => item(`${c.label}…`, () => confirm(view, c), c.danger && "danger"))), more);
}

// changes are the actions that are confirmed after a dry run.
function changes(view) {
  const { session, api } = view;
  const slot = view.parameters.slot || session.currentSlot;
  const posts = (path, query) => (dryRun) => api.post(path, { query: { ...query, dryRun } });
  const instructions = textarea("instructions", { rows: 3, maxlength: 4096 });
  return [
    {
      label: t("Compact"), title: t("Compact the session?"), text: t("In the context of the slot {slot} a summary takes the place of the older messages.", { slot }),
      more: field(t("Instructions for the summary (optional)"), instructions),
      act: (dryRun) => api.post("compact", { query: { slot, dryRun }, body: instructions.value ? { instructions: instructions.value } : {} }),
    },
    {
      label: t("Prune"), title: t("Prune the session?"), text: t("Old results of tools in the slot {slot} are sent in a shorter form from now on.", { slot }),
      act: posts("prune", { slot }),
    },
    {
      label: t("Reset"), title: t("Reset the session?"), text: t("An empty context starts. Notes, variables, plan files and settings stay; what was said can be restored for a while."),
      act: posts("reset"),
    },
    {
      label: t("Restore the last reset"), title: t("Restore the last reset?"), text: t("What it set aside comes back; what was said since is set aside."),
      act: posts("restore", { reset: "latest" }),
    },
    session.state === "archived"
      ? { label: t("Restore"), title: t("Restore the session?"), text: t("It becomes active."), act: posts("restore") }
      : { label: t("Archive"), title: t("Archive the session?"), text: t("Nothing is lost; the next message makes it active again."), act: posts("archive") },
    {
      label: t("Cancel what runs"), title: t("Cancel what runs and waits?"), text: t("Messages that run or wait end without an answer."),
      act: posts("cancel"),
    },
    {
      label: t("Delete"), title: t("Delete the session?"), text: t("Everything is erased: messages, slots, notes, files and texts. This cannot be undone."),
      danger: true, act: (dryRun) => api.remove("", { query: { dryRun } }), done: () => go("sessions"),
    },
  ];
}

// subject names the session that a dialog is about.
export const subject = (session) => [h("strong", {}, nameOf(session)), h("span", { class: "fine mono" }, session.key)];

// renew shows the view again, unless another one has taken its place.
export const renew = (view) => view.signal.aborted || view.again();

// confirm shows what a change would come to, and makes it once that was seen. act(dryRun)
// answers {changed, skipped, …}.
export function confirm(view, { label, title, text, more, act, done = view.again }) {
  destroy({
    title, subject: subject(view.session), body: [h("p", {}, text), more], label,
    dry: async () => {
      const would = await act(true);
      return { shown: wouldChange(would), possible: would.changed > 0 };
    },
    submit: async () => {
      const { changed, reason } = await act(false);
      if (!view.signal.aborted) done();
      return changed === 0 && reason ? t("Nothing was changed: {reason}.", { reason: term(reason) }) : t("Done: {n} changed.", { n: number(changed) });
    },
  });
}

function wouldChange(would) {
  return [
    t("{n} would change, {m} would stay.", { n: number(would.changed), m: number(would.skipped) }),
    would.tokensAfter < would.tokensBefore && t("Tokens: {before} now, about {after} then.", { before: number(would.tokensBefore), after: number(would.tokensAfter) }),
    would.deleted > 0 && t("{n} would be deleted.", { n: number(would.deleted) }),
    would.reason && t("Reason: {reason}.", { reason: term(would.reason) }),
  ].filter(Boolean).map((line) => h("p", {}, line));
}

function rename(view) {
  openDialog({
    title: t("Rename the session"), subject: subject(view.session), label: t("Rename"),
    body: field(t("Title"), input("title", { value: view.session.title, maxlength: 512 }), t("Empty: it is called by its scope.")),
    submit: async ({ title }) => {
      await view.api.patch("", { body: { title } });
      renew(view);
      return t("The session has a new title.");
    },
  });
}

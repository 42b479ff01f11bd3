// What the session remembers for good.

import { button } from "../action.js";
import { openDialog, sure } from "../dialog.js";
import { h } from "../dom.js";
import { none, time } from "../format.js";
import { field, input, textarea } from "../form.js";
import { t } from "../i18n.js";
import { pages } from "../table.js";
import { subject } from "./session-actions.js";

export function notes(view) {
  const { api, session } = view;
  const forget = (note) => async () => {
    await api.remove(`memory/${encodeURIComponent(note.id)}`);
    reload();
    return t("The note is forgotten.");
  };
  const [list, reload] = pages(view, "memory", {
    read: api.get, none: t("There are no notes."),
    columns: [
      { label: t("Key"), cell: (n) => n.key || none },
      { label: t("Note"), class: "wide", cell: (n) => h("div", { class: "text" }, n.value) },
      { label: t("Created"), class: "when", cell: (n) => time(n.createdAt) },
      { label: t("Actions"), class: "acts", cell: (n) => button(t("Forget"), () => sure({
        title: t("Forget the note?"), subject: subject(session), text: n.value, label: t("Forget"), submit: forget(n),
      }), { class: "danger" }) },
    ],
  });
  return [list, h("p", { class: "tools" },
    button(t("New note"), () => openDialog({
      title: t("New note"), subject: subject(session), label: t("Remember"),
      body: [field(t("Key (optional)"), input("key", { maxlength: 256 }), t("A note with the same key is replaced.")), field(t("Note"), textarea("value", { required: true, maxlength: 4096 }))],
      submit: async ({ key, value }) => {
        await api.post("memory", { body: key ? { key, value } : { value } });
        reload();
        return t("The note is remembered.");
      },
    })),
    button(t("Forget all"), () => sure({
      title: t("Forget all notes?"), subject: subject(session), text: t("This cannot be undone."), label: t("Forget all"),
      submit: async () => {
        const { changed } = await api.remove("memory");
        reload();
        return t("Notes that were forgotten: {n}.", { n: changed });
      },
    }), { class: "danger" }))];
}

// Variables of a session: names with any JSON.

import { button } from "../action.js";
import { openDialog, sure } from "../dialog.js";
import { h } from "../dom.js";
import { exact, indented } from "../exact.js";
import { field, input, textarea } from "../form.js";
import { t } from "../i18n.js";
import { mono } from "../names.js";
import { pages } from "../table.js";
import { subject } from "./session-actions.js";

export function variables(view) {
  const { api, session } = view;
  const path = (name) => `variables/${encodeURIComponent(name)}`;
  const [list, reload] = pages(view, "variables", {
    read: (of, options) => api.get(of, { ...options, parse: exact }), none: t("There are no variables."),
    columns: [
      { label: t("Name"), cell: (v) => mono(v.name) },
      { label: t("Value"), class: "wide", cell: (v) => h("pre", {}, indented(JSON.stringify(v.value))) },
      { label: t("Actions"), class: "acts", cell: (v) => [
        button(t("Change"), () => edit(v)),
        button(t("Remove"), () => sure({
          title: t("Remove the variable {name}?", { name: v.name }), subject: subject(session), text: t("This cannot be undone."), label: t("Remove"),
          submit: async () => {
            await api.remove(path(v.name));
            reload();
            return t("The variable is removed.");
          },
        }), { class: "danger" })] },
    ],
  });
  const edit = (variable) => openDialog({
    title: variable ? t("Change the variable") : t("New variable"), subject: subject(session), label: t("Save"),
    body: [field(t("Name"), input("name", { required: true, maxlength: 256, value: variable?.name ?? "", readonly: Boolean(variable) })),
      field(t("Value"), textarea("value", { required: true, class: "mono", value: variable ? JSON.stringify(variable.value, null, 2) : "" }), t("JSON; what is none is kept as text."))],
    submit: async ({ name, value }) => {
      await api.put(path(name), { body: { value: parsed(value) } });
      reload();
      return t("Saved.");
    },
  });
  return [list, h("p", {}, button(t("New variable"), () => edit(null)))];
}

function parsed(text) {
  try {
    return exact(text);
  } catch {
    return text;
  }
}

// The plan files of a session.

import { once } from "../action.js";
import { h } from "../dom.js";
import { field, textarea } from "../form.js";
import { t } from "../i18n.js";
import { later } from "../later.js";

export function files(view) {
  return h("div", { class: "columns" }, ["PLAN.md", "TODO.md"].map((name) => {
    const path = `files/${name}`;
    const [editor] = later(view, (signal) => view.api.get(path, { signal }), (text) => {
      const control = textarea("text", { rows: 16, class: "mono", value: text });
      const submit = h("button", {}, t("Save {name}", { name }));
      return h("form", { onsubmit: (e) => {
        e.preventDefault();
        once(submit, async () => {
          await view.api.put(path, { text: control.value });
          return t("{name} is saved.", { name });
        });
      } }, field(name, control), submit);
    });
    return editor;
  }));
}

// Controls with their labels.

import { h, freshId } from "./dom.js";
import { t, term } from "./i18n.js";

// field is a control below its label; hint says more.
export function field(label, control, hint) {
  control.id ||= freshId();
  const hintId = hint && freshId();
  if (hint) control.setAttribute("aria-describedby", hintId);
  return h("div", { class: control.type === "checkbox" ? "field check" : "field" },
    h("label", { for: control.id }, label), control, hint && h("small", { id: hintId }, hint));
}

export const input = (name, attributes = {}) => h("input", { name, autocomplete: "off", spellcheck: "false", ...attributes });
export const textarea = (name, attributes = {}) => h("textarea", { name, rows: 5, ...attributes });
export const checkbox = (name, checked) => h("input", { name, type: "checkbox", checked });

// select offers options: values, or pairs of value and label.
export function select(name, options, value = "", attributes = {}) {
  const nodes = options.map((o) => (Array.isArray(o) ? h("option", { value: o[0] }, o[1]) : h("option", { value: o }, term(o))));
  return h("select", { name, value, ...attributes }, nodes);
}

// choice is a select whose first option means all.
export const choice = (name, options, value, attributes) => select(name, [["", t("All")], ...options], value ?? "", attributes);

// values of a form's controls by name; those that are not shown are left out.
export function values(form) {
  const out = {};
  for (const control of form.elements) {
    if (!control.name || control.closest("[hidden]")) continue;
    out[control.name] = control.type === "checkbox" ? control.checked : control.value;
  }
  return out;
}

// shownFor shows fields with some values of a control only, and returns them: each of the
// parts is those values, then the fields. What is not shown is neither checked nor sent.
export function shownFor(control, ...parts) {
  function show() {
    for (const [wanted, ...fields] of parts) {
      for (const node of fields) {
        node.hidden = !wanted.includes(control.value);
        for (const inner of node.querySelectorAll("input, select, textarea")) inner.disabled = node.hidden;
      }
    }
  }
  control.addEventListener("change", show);
  show();
  return parts.flatMap(([, ...fields]) => fields);
}

// filters is a form whose values become the parameters of the view: each at once but dates,
// which are whole several times while somebody types.
export function filters(changed, ...fields) {
  const apply = () => changed(values(form));
  const form = h("form", { class: "filters", onsubmit: (e) => { e.preventDefault(); apply(); }, onchange: (e) => e.target.type !== "date" && apply() }, fields);
  return form;
}

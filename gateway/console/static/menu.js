// Menus of actions below a button.

import { button } from "./action.js";
import { h } from "./dom.js";

// menu opens below its label and closes when something else is used.
export function menu(label, ...items) {
  const summary = h("summary", {}, label);
  const node = h("details", { class: "dropdown", onkeydown: (e) => e.key === "Escape" && close(true) }, summary, h("div", { class: "items" }, items));
  function close(focus) {
    node.open = false;
    if (focus) summary.focus();
  }
  node.addEventListener("focusout", (e) => !node.contains(e.relatedTarget) && close(false));
  return node;
}

// item is one action, which closes its menu.
export function item(label, act, className) {
  const node = button(label, () => {
    const opened = node.closest("details");
    opened.firstElementChild.focus(); // the item is hidden with its menu
    opened.open = false;
    return act();
  }, { class: className });
  return node;
}

// Buttons that do something.

import { h } from "./dom.js";
import { complain, say } from "./notice.js";

// once runs an action unless the control's last one still runs: a double click is one. A
// text that it returns is said, what it throws goes to the person.
export async function once(control, run, failed = complain) {
  if (control.getAttribute("aria-disabled") === "true") return;
  control.setAttribute("aria-disabled", "true"); // not disabled, which would lose the focus
  try {
    const text = await run();
    if (typeof text === "string") say(text);
  } catch (error) {
    failed(error);
  }
  control.removeAttribute("aria-disabled");
}

// button makes a button for an action.
export function button(label, run, attributes = {}) {
  const node = h("button", { type: "button", ...attributes, onclick: () => once(node, run) }, label);
  return node;
}

// What became of an action, in a corner of the page and for screen readers.

import { h } from "./dom.js";
import { t } from "./i18n.js";

const shownFor = 6000; // ms; errors stay until they are closed
const most = 4;

// say tells of a success.
export function say(text) {
  const notice = show("notice", text);
  setTimeout(() => notice.remove(), shownFor);
}

// complain tells of an error.
export function complain(error) {
  if (error.name !== "AbortError") show("notice bad", explain(error));
}

function show(className, ...content) {
  const box = document.getElementById("notices");
  const notice = h("div", { class: className }, h("div", {}, content),
    h("button", { type: "button", class: "quiet", "aria-label": t("Close"), onclick: () => notice.remove() }, "✕"));
  while (box.childElementCount >= most) box.firstElementChild.remove();
  box.append(notice);
  return notice;
}

// hush takes away what was said.
export function hush() {
  document.getElementById("notices").replaceChildren();
}

// explain shows an error with what finds it in the log.
export function explain(error) {
  const parts = [error.code, error.requestId && t("request {id}", { id: error.requestId })].filter(Boolean);
  return [error.message, parts.length > 0 && h("div", { class: "fine" }, parts.join(" · "))];
}

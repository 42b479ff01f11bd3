// Parts of a view that arrive later: loading, then there, or an error with another try.

import { h } from "./dom.js";
import { keepFocus } from "./focus.js";
import { t } from "./i18n.js";
import { explain } from "./notice.js";

// later returns a node that shows what fetch brings, as show puts it, and the function
// that asks again. What comes after the view has changed, or after a newer question, is
// dropped. title heads the view until it has a heading of its own.
export function later(view, fetch, show, title) {
  const node = h("div", { class: "later" });
  const head = () => (title ? [h("h1", { tabindex: -1 }, title)] : []);
  const put = (nodes) => keepFocus(node, () => node.replaceChildren(...nodes));
  let latest = 0;
  async function load() {
    const mine = ++latest;
    const stale = () => view.signal.aborted || mine !== latest;
    node.setAttribute("aria-busy", "true");
    if (!node.hasChildNodes()) node.append(...head(), h("p", { class: "quietly" }, t("Loading…")));
    try {
      const data = await fetch(view.signal);
      if (!stale()) put([show(data)].flat());
    } catch (error) {
      if (!stale()) put([...head(), trouble(error, load)]);
    }
    if (!stale()) node.removeAttribute("aria-busy");
  }
  load();
  return [node, load];
}

// trouble shows an error where something else should be.
export function trouble(error, again) {
  return h("div", { class: "trouble", role: "alert" }, h("div", {}, explain(error)),
    again && h("button", { type: "button", onclick: again }, t("Try again")));
}

// empty says that there is nothing.
export const empty = (text) => h("p", { class: "quietly" }, text);

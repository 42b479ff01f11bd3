// Views by the part of the address behind #: #/name?param=value.

import { h } from "./dom.js";
import { closeDialogs } from "./dialog.js";
import { focusTop, keepFocus } from "./focus.js";
import { t } from "./i18n.js";
import { trouble } from "./later.js";

// to is the address of a view; empty parameters are left out.
export function to(name, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== "" && v !== null && v !== undefined));
  return `#/${name}${query.size > 0 ? `?${query}` : ""}`;
}

// go opens a view; the one that is shown is made anew.
export const go = (name, parameters) => {
  const wanted = to(name, parameters);
  if (wanted === shown) dispatchEvent(new Event("hashchange"));
  else location.hash = wanted;
};

let shown = ""; // the address of what is shown

export function place() {
  const [name, query] = location.hash.replace(/^#\//, "").split(/\?(.*)/s);
  return { name, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

// start shows the view of the address in main, now and whenever it changes, and returns
// the function that ends this. Each view gets a signal that aborts when the next one
// comes, its parameters, and a way to be shown again.
export function start(main, views, changed) {
  let current = new AbortController();
  let before = "";
  function show() {
    current.abort();
    current = new AbortController();
    closeDialogs();
    const { name, parameters } = place();
    const known = Object.hasOwn(views, name) ? name : "overview";
    const view = { name: known, parameters, signal: current.signal, again: show };
    const { title, make } = views[known];
    document.title = `${title()} · chatkeep`;
    keepFocus(main, () => {
      try {
        main.replaceChildren(...[make(view)].flat());
      } catch (error) {
        main.replaceChildren(h("h1", { tabindex: -1 }, title()), trouble(error, show));
        console.error(error);
      }
    });
    changed(known);
    if (before && before !== known) {
      scrollTo(0, 0);
      focusTop(main);
    }
    before = known;
    shown = location.hash;
  }
  addEventListener("hashchange", show);
  show();
  return () => {
    removeEventListener("hashchange", show);
    current.abort();
    closeDialogs();
  };
}

// heading of a view, with what can be done in it.
export function heading(text, ...tools) {
  return h("header", { class: "heading" }, h("h1", { tabindex: -1 }, text), tools.length > 0 && h("div", { class: "tools" }, tools));
}

// back leads to the list that something came from.
export const back = (name, text) => h("a", { class: "back", href: to(name) }, t("← {where}", { where: text }));

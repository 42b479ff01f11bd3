// What surrounds the views: name, navigation, language, logging out.

import { operations, token } from "./api.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { languageSwitch } from "./language.js";
import { start, to } from "./router.js";
import { views } from "./views.js";

// shell returns the page, and the function that starts it and returns its end.
export function shell(logOut) {
  const main = h("main", { id: "main", tabindex: -1 });
  const links = Object.entries(views).filter(([, v]) => !v.of).map(([name, v]) => h("a", { href: to(name), "data-view": name }, v.title()));
  const menu = h("button", { type: "button", class: "menu", "aria-expanded": "false", "aria-controls": "nav", onclick: () => open(!isOpen()) }, t("Menu"));
  const nav = h("nav", { id: "nav", "aria-label": t("Views") }, links);
  const version = h("span", { class: "fine" });
  const side = h("div", { class: "side" },
    h("div", { class: "brand" }, h("a", { href: to("overview") }, "chatkeep"), menu), nav,
    h("footer", {}, languageSwitch(), token.get() && h("button", { type: "button", class: "quiet", onclick: logOut }, t("Log out")), version));

  const isOpen = () => menu.getAttribute("aria-expanded") === "true";
  function open(yes) {
    menu.setAttribute("aria-expanded", String(yes));
    side.classList.toggle("open", yes);
  }
  function changed(name) {
    open(false);
    const shown = views[name].of ?? name;
    for (const link of links) {
      if (link.dataset.view === shown) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
  const skip = h("button", { type: "button", class: "skip", onclick: () => main.focus() }, t("Skip to the content"));
  operations("healthz").then((health) => { version.textContent = health.version; }, () => {});
  return { node: h("div", { class: "shell" }, skip, side, main), start: () => start(main, views, changed) };
}

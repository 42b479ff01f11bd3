// A session's page: what it is, what can be done with it, and its parts in tabs.

import { button } from "../action.js";
import { ofSession } from "../api.js";
import { badge, pin } from "../badge.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { later } from "../later.js";
import { nameOf } from "../names.js";
import { back, to } from "../router.js";
import { actions, renew } from "./session-actions.js";
import { context } from "./session-context.js";
import { details } from "./session-details.js";
import { files } from "./session-files.js";
import { history } from "./session-history.js";
import { notes } from "./session-notes.js";
import { slots } from "./session-slots.js";
import { variables } from "./session-variables.js";

const tabs = {
  history: { title: () => t("History"), make: history },
  context: { title: () => t("Context"), make: context },
  slots: { title: () => t("Slots"), make: slots },
  notes: { title: () => t("Notes"), make: notes },
  variables: { title: () => t("Variables"), make: variables },
  files: { title: () => t("Plan files"), make: files },
  details: { title: () => t("Details"), make: details },
};

export function session(view) {
  const api = ofSession(view.parameters.key ?? "");
  const [page] = later(view, (signal) => api.get("", { signal }), (found) => shown({ ...view, api, session: found }), t("Session"));
  return [back("sessions", t("Sessions")), page];
}

function shown(view) {
  const { session: of, parameters: p } = view;
  const tab = Object.hasOwn(tabs, p.tab ?? "") ? p.tab : "history";
  const links = Object.entries(tabs).map(([name, { title }]) =>
    h("a", { href: to("session", { key: of.key, tab: name, slot: p.slot }), "aria-current": name === tab && "page" }, title()));
  return [
    h("header", { class: "heading" },
      h("div", {}, h("h1", { tabindex: -1 }, nameOf(of)), " ", badge(of.state), of.pinned && [" ", pin()], h("p", { class: "fine mono" }, of.key)),
      actions(view, button(t("Refresh"), () => renew(view)))),
    h("nav", { class: "tabs", "aria-label": t("Parts of the session") }, links),
    h("section", { "aria-label": tabs[tab].title() }, tabs[tab].make(view)),
  ];
}

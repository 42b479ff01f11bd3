// Accepted messages and what became of them.

import { button } from "../action.js";
import { post } from "../api.js";
import { badge } from "../badge.js";
import { h } from "../dom.js";
import { duration, time } from "../format.js";
import { choice, field, filters } from "../form.js";
import { t } from "../i18n.js";
import { placeOf, sessionLink } from "../names.js";
import { go, heading } from "../router.js";
import { pages } from "../table.js";

const states = ["received", "running", "done", "observed", "superseded", "cancelled", "ignored", "failed", "dead"];
const again = ["failed", "dead", "cancelled"];

export function inbound(view) {
  const { state } = view.parameters;
  const [list, reload] = pages(view, "inbound", {
    query: { state }, none: t("There are no such messages."),
    columns: [
      { label: t("Received"), class: "when", cell: (m) => time(m.receivedAt) },
      { label: t("State"), class: "tight", cell: (m) => badge(m.state) },
      { label: t("Session"), class: "wide", cell: (m) => [
        sessionLink(m.sessionKey), m.error && h("div", { class: "wrong" }, m.error),
        h("div", { class: "fine mono" }, m.id, m.mergedInto && [" ", t("merged into {id}", { id: m.mergedInto })])] },
      { label: t("From"), class: "tight", cell: placeOf },
      { label: t("Took"), class: "when", cell: (m) => duration(m.receivedAt, m.finishedAt) },
      { label: t("Attempts"), class: "number", cell: (m) => m.attempts },
      { label: t("Actions"), class: "acts", cell: (m) => again.includes(m.state) && button(t("Retry"), async () => {
        await post(`inbound/${encodeURIComponent(m.id)}/retry`);
        reload();
        return t("The message runs again.");
      }) },
    ],
  });
  return [heading(t("Inbound"), button(t("Refresh"), reload)), filters((p) => go("inbound", p), field(t("State"), choice("state", states, state))), list];
}

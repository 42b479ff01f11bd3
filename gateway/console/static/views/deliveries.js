// Outgoing messages.

import { button } from "../action.js";
import { post } from "../api.js";
import { badge } from "../badge.js";
import { h } from "../dom.js";
import { start, time } from "../format.js";
import { choice, field, filters } from "../form.js";
import { t } from "../i18n.js";
import { placeOf, sessionLink } from "../names.js";
import { go, heading, to } from "../router.js";
import { pages } from "../table.js";

const states = ["pending", "sending", "delivered", "failed", "dead"];
const shown = 160; // characters of a text

export function deliveries(view) {
  const { state } = view.parameters;
  const [list, reload] = pages(view, "deliveries", {
    query: { state }, none: t("There are no such deliveries."),
    columns: [
      { label: t("Created"), class: "when", cell: (d) => time(d.createdAt) },
      { label: t("State"), class: "tight", cell: (d) => badge(d.state) },
      { label: t("Text"), class: "wide", cell: (d) => [text(d.text), d.error && h("div", { class: "wrong" }, d.error)] },
      { label: t("To"), cell: (d) => [placeOf(d), h("div", { class: "fine mono" }, [d.target.chatId || d.target.userId, d.target.threadId].filter(Boolean).join(" / "))] },
      { label: t("Session"), cell: (d) => sessionLink(d.sessionKey) },
      { label: t("Attempts"), class: "number", cell: (d) => d.attempts },
      { label: t("Sent or next"), class: "when", cell: (d) => time(d.deliveredAt ?? d.nextAttemptAt) },
      { label: t("Actions"), class: "acts", cell: (d) => ["failed", "dead"].includes(d.state) && button(t("Retry"), async () => {
        await post(`deliveries/${encodeURIComponent(d.id)}/retry`);
        reload();
        return t("It is sent again.");
      }) },
    ],
  });
  return [heading(t("Deliveries"), h("a", { class: "button", href: to("push") }, t("Push a message")), button(t("Refresh"), reload)),
    filters((p) => go("deliveries", p), field(t("State"), choice("state", states, state))), list];
}

function text(whole) {
  if (whole.length <= shown) return h("div", { class: "text" }, whole);
  return h("details", { class: "fold" }, h("summary", {}, h("div", { class: "text" }, start(whole, shown))), h("div", { class: "text" }, whole));
}

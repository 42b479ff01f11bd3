// Calls of tools that a person must approve.

import { button } from "../action.js";
import { post } from "../api.js";
import { badge } from "../badge.js";
import { sure } from "../dialog.js";
import { h } from "../dom.js";
import { indented } from "../exact.js";
import { none, time } from "../format.js";
import { choice, field, filters } from "../form.js";
import { t } from "../i18n.js";
import { placeOf, sessionLink } from "../names.js";
import { go, heading } from "../router.js";
import { pages } from "../table.js";

const states = ["pending", "approved", "running", "done", "denied", "expired"];

export function approvals(view) {
  const state = view.parameters.state ?? "pending";
  const decide = (a, what) => async () => {
    await post(`approvals/${encodeURIComponent(a.code)}/${what}`);
    reload();
    return what === "approve" ? t("The call runs.") : t("The call is refused.");
  };
  const confirm = (a, what, title, text, label) => () => sure({
    title, subject: [h("strong", {}, a.tool), sessionLink(a.sessionKey), h("pre", {}, indented(a.arguments))], text, label, submit: decide(a, what),
  });
  const [list, reload] = pages(view, "approvals", {
    query: { state: state === "all" ? "" : state }, none: t("There are no such calls."),
    columns: [
      { label: t("Call"), class: "wide", cell: (a) => [h("strong", {}, a.tool), h("pre", {}, indented(a.arguments))] },
      { label: t("State"), class: "tight", cell: (a) => badge(a.state) },
      { label: t("Who asked"), cell: (a) => [a.senderName || a.senderId || none, h("div", { class: "fine" }, placeOf(a))] },
      { label: t("Session"), cell: (a) => sessionLink(a.sessionKey, { slot: a.slot }) },
      { label: t("Asked"), class: "when", cell: (a) => time(a.createdAt) },
      { label: t("Expires"), class: "when", cell: (a) => time(a.expiresAt) },
      { label: t("Decided"), cell: (a) => (a.decidedAt ? [time(a.decidedAt), h("div", { class: "fine" }, a.decidedBy)] : none) },
      { label: t("Actions"), class: "acts", cell: (a) => a.state === "pending" && [
        button(t("Approve"), confirm(a, "approve", t("Approve the call?"), t("It runs once; its result goes to the model."), t("Approve"))),
        button(t("Deny"), confirm(a, "deny", t("Deny the call?"), t("The model learns that it was refused."), t("Deny")), { class: "danger" })] },
    ],
  });
  return [heading(t("Approvals"), button(t("Refresh"), reload)),
    filters((p) => go("approvals", { state: p.state || "all" }), field(t("State"), choice("state", states, state === "all" ? "" : state))), list];
}

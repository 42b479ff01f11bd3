// Who asks to use the bot, and what was decided.

import { button } from "../action.js";
import { post, remove } from "../api.js";
import { badge } from "../badge.js";
import { sure } from "../dialog.js";
import { h } from "../dom.js";
import { none, time } from "../format.js";
import { t, term } from "../i18n.js";
import { mono, placeOf } from "../names.js";
import { heading } from "../router.js";
import { pages } from "../table.js";

const who = (g) => [h("strong", {}, g.name || g.subjectId), h("div", { class: "fine mono" }, g.subjectId)];
const subject = (g) => [h("strong", {}, g.name || g.subjectId), h("span", { class: "fine mono" }, `${placeOf(g)} ${g.subjectId}`)];

export function access(view) {
  const reload = () => { reloadRequests(); reloadGrants(); };
  const decide = (g, what) => async () => {
    await post(`access/requests/${encodeURIComponent(g.code)}/${what}`);
    reload();
    return what === "approve" ? t("They are let in.") : t("They are refused.");
  };
  const columns = [
    { label: t("Who"), class: "wide", cell: who },
    { label: t("Kind"), cell: (g) => term(g.kind) },
    { label: t("Account"), class: "tight", cell: placeOf },
  ];
  const [requests, reloadRequests] = pages(view, "access/requests", {
    none: t("Nobody asks to be let in."),
    columns: [...columns,
      { label: t("Code"), cell: (g) => mono(g.code) },
      { label: t("Asked"), class: "when", cell: (g) => time(g.requestedAt) },
      { label: t("Expires"), class: "when", cell: (g) => time(g.expiresAt) },
      { label: t("Actions"), class: "acts", cell: (g) => [button(t("Approve"), decide(g, "approve")), button(t("Deny"), () => sure({
        title: t("Deny the request?"), subject: subject(g), text: t("They are told, and cannot ask again until the decision is taken back."), label: t("Deny"), submit: decide(g, "deny"),
      }), { class: "danger" })] },
    ],
  });
  const [grants, reloadGrants] = pages(view, "access/grants", {
    none: t("Nothing was decided yet."),
    columns: [...columns,
      { label: t("State"), class: "tight", cell: (g) => badge(g.state) },
      { label: t("Decided"), class: "when", cell: (g) => time(g.decidedAt) },
      { label: t("Decided by"), cell: (g) => g.decidedBy || none },
      { label: t("Actions"), class: "acts", cell: (g) => button(t("Take back"), () => sure({
        title: t("Take the decision back?"), subject: subject(g), text: t("Whoever it was about is unknown again, at once."), label: t("Take back"),
        submit: async () => {
          await remove(`access/grants/${encodeURIComponent(g.id)}`);
          reload();
          return t("The decision is taken back.");
        },
      }), { class: "danger" }) },
    ],
  });
  return [heading(t("Access"), button(t("Refresh"), reload)), h("h2", {}, t("Requests")), requests, h("h2", {}, t("Decisions")), grants];
}

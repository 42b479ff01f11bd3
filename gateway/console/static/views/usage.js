// What was used, by what.

import { get } from "../api.js";
import { h } from "../dom.js";
import { number } from "../format.js";
import { field, filters, input, select } from "../form.js";
import { t } from "../i18n.js";
import { empty, later } from "../later.js";
import { sessionLink } from "../names.js";
import { go, heading } from "../router.js";
import { table } from "../table.js";

const ways = () => [["day", t("Day")], ["session", t("Session")], ["agent", t("Agent")], ["user", t("User")], ["model", t("Model")]];

export function usage(view) {
  const { by = "day", from, to } = view.parameters;
  const [list] = later(view, (signal) => get("usage", { query: { by, from, to }, signal }), ({ items }) => {
    if (items.length === 0) return empty(t("Nothing was used in these days."));
    const sum = (part) => items.reduce((n, i) => n + i[part], 0);
    return [
      h("div", { class: "facts" }, ...[["totalTokens", t("Tokens")], ["turns", t("Turns")], ["errors", t("Failed turns")]].map(([part, label]) =>
        h("div", { class: "fact" }, h("span", {}, label), h("strong", {}, number(sum(part)))))),
      table(columns(by, Math.max(...items.map((i) => i.totalTokens))), items),
    ];
  });
  return [heading(t("Usage")),
    filters((wanted) => go("usage", wanted), field(t("By"), select("by", ways(), by)),
      field(t("First day"), input("from", { type: "date", value: from ?? "" })), field(t("Last day"), input("to", { type: "date", value: to ?? "" })),
      h("button", {}, t("Show"))),
    list];
}

const columns = (by, most) => [
  { label: Object.fromEntries(ways())[by], class: "wide", cell: (i) => (by === "session" ? sessionLink(i.key) : i.key) },
  { label: t("Share"), class: "share", cell: (i) => h("meter", { value: i.totalTokens, max: Math.max(most, 1), "aria-hidden": "true" }) },
  { label: t("Tokens"), class: "number", cell: (i) => number(i.totalTokens) },
  { label: t("Prompts"), class: "number", cell: (i) => number(i.promptTokens) },
  { label: t("Answers"), class: "number", cell: (i) => number(i.completionTokens) },
  { label: t("Turns"), class: "number", cell: (i) => number(i.turns) },
  { label: t("Failed turns"), class: "number", cell: (i) => number(i.errors) },
];

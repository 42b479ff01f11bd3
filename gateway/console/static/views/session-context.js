// The context as the next turn would send it.

import { badge } from "../badge.js";
import { h } from "../dom.js";
import { number } from "../format.js";
import { t } from "../i18n.js";
import { empty, later } from "../later.js";
import { message } from "./message.js";
import { slotChoice } from "./slot-choice.js";

export function context(view) {
  const slot = view.parameters.slot || view.session.currentSlot;
  const [shown] = later(view, (signal) => view.api.get("context", { query: { slot }, signal }), (c) => [
    h("div", { class: "facts" },
      fact(t("Tokens"), c.limit > 0 ? t("{n} of {limit}", { n: number(c.tokens), limit: number(c.limit) }) : number(c.tokens),
        c.limit > 0 && h("meter", { value: c.tokens, max: c.limit, "aria-label": t("Share of the limit") })),
      fact(t("Messages"), number(c.messages.length)),
      fact(t("Left out"), t("{n} messages, {tokens} tokens", { n: number(c.omitted.messages), tokens: number(c.omitted.tokens) })),
      fact(t("Tools"), t("{n}, {tokens} tokens", { n: number(c.tools.count), tokens: number(c.tools.tokens) })),
      c.tools.left.length > 0 && fact(t("Tools without room"), c.tools.left.join(", "))),
    c.messages.length === 0 ? empty(t("The context is empty.")) : h("div", { class: "messages" },
      c.messages.map((m) => message(m, { marks: m.pruned ? badge(m.pruned, t("pruned")) : [] }))),
  ]);
  return [slotChoice(view, slot, "context"), shown];
}

const fact = (label, value, more) => h("div", { class: "fact" }, h("span", {}, label), h("strong", {}, value), more);

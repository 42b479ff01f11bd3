// Messages of a history or a context.

import { badge } from "../badge.js";
import { h } from "../dom.js";
import { indented } from "../exact.js";
import { number, start, time } from "../format.js";
import { t, term } from "../i18n.js";

// Texts that are longer are folded, in characters.
const long = 1500;

// message shows one; marks stand beside its role.
export function message(m, { marks = [], wanted = false } = {}) {
  const who = m.senderName || m.senderId;
  const tokens = m.tokens ?? m.tokenCount;
  return h("article", { class: `message ${m.role}${wanted ? " wanted" : ""}`, "data-key": m.seq > 0 && m.seq },
    h("header", {},
      h("strong", {}, term(m.role)), who && h("span", {}, who), m.isCompacted && badge("summary"), marks,
      h("span", { class: "fine" }, [m.createdAt && time(m.createdAt), m.createdAt && " · ", m.seq > 0 && `#${m.seq} · `, t("{n} tokens", { n: number(tokens) })])),
    m.content && text(m.content),
    m.images?.length > 0 && h("p", { class: "fine" }, t("{n} pictures", { n: m.images.length })),
    m.toolCalls.map((c) => h("details", { class: "call" }, h("summary", {}, t("calls {tool}", { tool: c.name })), h("pre", {}, indented(c.arguments)))));
}

function text(content) {
  if (content.length <= long) return h("div", { class: "text" }, content);
  return h("details", { class: "fold" },
    h("summary", {}, h("div", { class: "text" }, start(content, long / 3)), h("span", { class: "fine" }, t("{n} characters: show all", { n: number(content.length) }))),
    h("div", { class: "text" }, content));
}

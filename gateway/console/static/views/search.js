// Messages by the words in them.

import { get } from "../api.js";
import { h } from "../dom.js";
import { time } from "../format.js";
import { choice, field, filters, input } from "../form.js";
import { t, term } from "../i18n.js";
import { empty } from "../later.js";
import { mono, sessionLink } from "../names.js";
import { go, heading } from "../router.js";
import { pages } from "../table.js";

export function search(view) {
  const p = view.parameters;
  const agent = choice("agentId", p.agentId ? [[p.agentId, p.agentId]] : [], p.agentId);
  get("agents", { signal: view.signal }).then(({ items }) => {
    agent.append(...items.filter((a) => a.id !== p.agentId).map((a) => h("option", { value: a.id }, a.id)));
  }, () => {});
  const form = filters((wanted) => go("search", wanted),
    field(t("Words"), input("q", { type: "search", value: p.q ?? "", maxlength: 200 })),
    field(t("Agent"), agent),
    field(t("Session key"), input("sessionKey", { value: p.sessionKey ?? "" })),
    h("button", { class: "primary" }, t("Search")));
  form.setAttribute("role", "search");
  const words = (p.q ?? "").split(/\s+/).filter(Boolean);
  const [found] = words.length === 0 ? [empty(t("All words must be in a message, anywhere and in either case."))] : pages(view, "search", {
    query: p, none: t("No message has these words."),
    columns: [
      { label: t("Message"), class: "wide", cell: (m) => h("div", { class: "text" }, marked(m.snippet, words)) },
      { label: t("Who"), cell: (m) => m.senderName || m.senderId || term(m.role) },
      { label: t("Session"), cell: (m) => sessionLink(m.sessionKey, { slot: m.slot, before: m.seq + 10, seq: m.seq }) },
      { label: t("Slot"), cell: (m) => mono(m.slot) },
      { label: t("Time"), class: "when", cell: (m) => time(m.createdAt) },
    ],
  });
  return [heading(t("Search")), form, found];
}

// marked splits a text at the words, which are marked.
function marked(text, words) {
  const pattern = new RegExp(`(${words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
  return text.split(pattern).map((part, i) => (i % 2 === 1 ? h("mark", {}, part) : part));
}

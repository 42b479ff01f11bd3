// Sessions by the filters of the API.

import { button } from "../action.js";
import { get, post } from "../api.js";
import { badge, pin } from "../badge.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { number, time } from "../format.js";
import { choice, field, filters, input } from "../form.js";
import { t } from "../i18n.js";
import { nameOf, placeOf } from "../names.js";
import { go, heading, to } from "../router.js";
import { pages } from "../table.js";

const states = ["active", "idle", "compacted", "archived"];
const scopes = ["main", "per_peer", "per_channel_peer", "per_account_channel_peer", "thread", "task"];

export function sessions(view) {
  const p = view.parameters;
  const agent = choice("agentId", p.agentId ? [[p.agentId, p.agentId]] : [], p.agentId);
  const channel = choice("channel", p.channel ? [[p.channel, p.channel]] : [], p.channel);
  offer(view, agent, "agents", (a) => a.id);
  offer(view, channel, "channels", (c) => c.channel);
  const form = filters((wanted) => go("sessions", wanted),
    field(t("Key or title"), input("q", { type: "search", value: p.q ?? "" })),
    field(t("Agent"), agent),
    field(t("Channel"), channel),
    field(t("Scope"), choice("scope", scopes, p.scope)),
    field(t("State"), choice("state", states, p.state)));
  const [list, reload] = pages(view, "sessions", { query: p, columns: columns(), none: t("There are no such sessions.") });
  return [heading(t("Sessions"), button(t("Import"), () => importSession(view)), button(t("Refresh"), reload)), form, list];
}

function importSession(view) {
  const file = h("input", { name: "file", type: "file", accept: ".jsonl,application/x-ndjson", required: true });
  openDialog({
    title: t("Import a session"), label: t("Import"),
    body: field(t("Export of a session (JSONL)"), file, t("It gets the key that it had; a session that is there is not changed.")),
    submit: async () => {
      const { key } = await post("sessions/import", { text: file.files[0], endless: true });
      if (!view.signal.aborted) go("session", { key });
      return t("The session is imported.");
    },
  });
}

const columns = () => [
  { label: t("Session"), class: "wide", cell: (s) => [h("a", { href: to("session", { key: s.key }), class: "clip" }, nameOf(s)), s.pinned && pin(), h("div", { class: "fine mono", title: s.key }, s.key)] },
  { label: t("State"), class: "tight", cell: (s) => badge(s.state) },
  { label: t("From"), class: "tight", cell: placeOf },
  { label: t("Agent"), class: "tight", cell: (s) => s.agentId },
  { label: t("Messages"), class: "number", cell: (s) => number(s.messageCount) },
  { label: t("Tokens"), class: "number", cell: (s) => number(s.totalTokenCount) },
  { label: t("Last activity"), class: "when", cell: (s) => time(s.lastActivityAt) },
];

// offer adds what the gateway has of something to a filter, when it is known.
async function offer(view, control, path, nameIn) {
  const { items } = await get(path, { signal: view.signal }).catch(() => ({ items: [] }));
  const there = new Set(Array.from(control.options, (o) => o.value));
  for (const name of new Set(items.map(nameIn))) {
    if (!there.has(name)) control.append(h("option", { value: name }, name));
  }
}

// States, as small coloured words.

import { h } from "./dom.js";
import { t, term } from "./i18n.js";

const kinds = {
  good: ["active", "done", "delivered", "connected", "approved", "ok"],
  busy: ["running", "received", "sending", "pending", "scheduled"],
  bad: ["failed", "dead", "timeout", "denied", "disconnected"],
  odd: ["missed", "skipped", "superseded", "cancelled", "expired", "paused", "soft", "hard", "off"],
};
const kindOf = Object.fromEntries(Object.entries(kinds).flatMap(([kind, states]) => states.map((s) => [s, kind])));

export const badge = (state, title) => h("span", { class: `badge ${kindOf[state] ?? ""}`, title }, term(state));

// connection of a channel.
export const connection = (channel) => badge(channel.connected ? "connected" : "disconnected");

export const pin = () => h("span", { class: "badge odd" }, t("pinned"));

// What can be said of a slot: its name, what it shows, and what may act on it.

import { checkbox, field, input, select, shownFor, textarea } from "../form.js";
import { t } from "../i18n.js";

const name = "[A-Za-z0-9._\\-]{1,64}";

export const idField = () => field(t("Name of the slot"), input("id", { required: true, pattern: name, title: t("Letters, digits, dots, dashes and underscores") }));

// focusFields are a choice with the fields of a focus, which is for its value "focused".
export function focusFields(label, name, options, value, focused, hint) {
  const control = select(name, options, value);
  return [field(label, control, hint), shownFor(control, [["focused"],
    field(t("Newest messages"), input("recent", { type: "number", min: 0, required: true, value: String(focused?.recentMessages ?? 10) })),
    field(t("System message first"), checkbox("keepSystem", focused?.keepSystem ?? true)),
    field(t("Summary behind them (optional)"), textarea("summary", { rows: 3, value: focused?.summaryOverride ?? "" }))])];
}

// focus is what the API takes for them.
export const focus = ({ recent, keepSystem, summary }) => ({ keepSystem, recentMessages: Number(recent), ...(summary && { summaryOverride: summary }) });

// settingsFields are for a new slot, or for one that is there.
export function settingsFields(slot = { mode: "full", focused: null, budget: null, compact: true }) {
  const budgets = [["none", t("none")], ["auto", t("from the agent's window")]];
  if (slot.budget && !slot.budget.auto) budgets.push(["own", t("as it is")]);
  return [
    focusFields(t("Mode"), "mode", ["full", "focused", "readonly"], slot.mode, slot.focused, t("Focused shows the newest messages only; nothing is said in a read-only one.")),
    field(t("Budget"), select("budget", budgets, budgets.at(slot.budget ? -1 : 0)[0])),
    field(t("Compaction may act on it"), checkbox("compact", slot.compact)),
  ];
}

// settings is what the API takes for them.
export function settings({ mode, budget, compact, ...form }) {
  return { mode, compact, ...(mode === "focused" && { focused: focus(form) }), ...(budget !== "own" && { budget: budget === "auto" ? "auto" : null }) };
}

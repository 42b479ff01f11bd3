// All that is known of a session, its settings, and large results of its tools.

import { button } from "../action.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { bytes, moment, none, number, time } from "../format.js";
import { field, input, textarea } from "../form.js";
import { t, term } from "../i18n.js";
import { mono, placeOf } from "../names.js";
import { pages } from "../table.js";
import { subject } from "./session-actions.js";
import { save } from "./session-export.js";

export function details(view) {
  const s = view.session;
  const [results] = pages(view, "results", {
    read: view.api.get, none: t("No result of a tool was too large for the model."),
    columns: [
      { label: t("Tool"), cell: (r) => r.tool },
      { label: t("Size"), class: "number", cell: (r) => bytes(r.size) },
      { label: t("Time"), class: "when", cell: (r) => time(r.createdAt) },
      { label: t("Text"), cell: (r) => button(t("Save"), async () => save(`${r.id}.txt`, await (await view.api.fetch(`results/${r.id}`)).blob())) },
    ],
  });
  const rows = [
    [t("Key"), mono(s.key)], [t("Agent"), s.agentId], [t("From"), placeOf(s)], [t("Scope"), term(s.scope)], [t("Scope id"), mono(s.scopeId)],
    [t("Current slot"), s.currentSlot], [t("Messages"), number(s.messageCount)], [t("Tokens"), number(s.totalTokenCount)], [t("Compactions"), number(s.compactionCount)],
    [t("Model"), s.model || t("the agent's")], [t("System prompt"), s.systemPrompt ? h("div", { class: "text" }, s.systemPrompt) : t("the agent's")],
    [t("Summary"), s.compactedSummary ? h("div", { class: "text" }, s.compactedSummary) : none],
    [t("Created"), moment(s.createdAt)], [t("Last activity"), moment(s.lastActivityAt)], [t("Updated"), moment(s.updatedAt)],
  ];
  return [
    h("dl", { class: "details" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("p", {}, button(t("Change the model and prompt"), () => settings(view))),
    h("h2", {}, t("Large results of tools")), results,
  ];
}

function settings(view) {
  const s = view.session;
  openDialog({
    title: t("Change the model and prompt"), subject: subject(s), label: t("Save"),
    body: [field(t("Model"), input("model", { value: s.model, maxlength: 256 }), t("Empty: the agent's.")),
      field(t("System prompt"), textarea("systemPrompt", { value: s.systemPrompt ?? "", rows: 8 }), t("Empty: the agent's."))],
    submit: async (body) => {
      await view.api.patch("", { body });
      if (!view.signal.aborted) view.again();
      return t("Saved.");
    },
  });
}

// The configured agents.

import { number, none } from "../format.js";
import { t } from "../i18n.js";
import { heading } from "../router.js";
import { pages } from "../table.js";

export function agents(view) {
  const [list] = pages(view, "agents", {
    none: t("There are no agents."),
    columns: [
      { label: t("Agent"), class: "wide", cell: (a) => a.id },
      { label: t("Kind"), cell: (a) => a.kind || none },
      { label: t("Model"), cell: (a) => a.model || none },
      { label: t("Context window"), class: "number", cell: (a) => (a.contextWindow ? number(a.contextWindow) : none) },
    ],
  });
  return [heading(t("Agents")), list];
}

// The configuration in force, without its secrets.

import { get } from "../api.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { later } from "../later.js";
import { heading } from "../router.js";

export function config(view) {
  const [text] = later(view, (signal) => get("config", { signal }), (c) => h("pre", { class: "document" }, JSON.stringify(c, null, 2)));
  return [heading(t("Configuration")), text];
}

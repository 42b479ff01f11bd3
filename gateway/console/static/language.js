// The switch between languages.

import { h } from "./dom.js";
import { language, languages, speak } from "./i18n.js";

export function languageSwitch() {
  return h("div", { class: "languages", role: "group", "aria-label": "Language / 语言" },
    Object.entries(languages).map(([code, name]) =>
      h("button", { type: "button", class: "quiet", lang: code, "aria-pressed": String(code === language), onclick: () => code !== language && speak(code) }, name)));
}

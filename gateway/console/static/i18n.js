// The language of the page. The texts in the modules are English and are the keys of the
// dictionary; {name} in them stands for a value.

import { chinese } from "./chinese.js";

const stored = "chatkeep.language";

export const languages = { en: "English", zh: "中文" };

export const language = choose();

function choose() {
  const wanted = localStorage.getItem(stored);
  if (wanted in languages) return wanted;
  const first = navigator.languages.map((l) => l.slice(0, 2).toLowerCase()).find((l) => l in languages);
  return first ?? "en";
}

// speak changes the language, for good.
export function speak(wanted) {
  localStorage.setItem(stored, wanted);
  location.reload();
}

// t translates a text.
export function t(text, values = {}) {
  const translated = language === "zh" ? chinese[text] ?? text : text;
  return translated.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// term translates a word of the API, such as a state; what it does not know stays as it is.
export function term(word) {
  return language === "zh" && Object.hasOwn(chinese, word) ? chinese[word] : String(word).replaceAll("_", " ");
}

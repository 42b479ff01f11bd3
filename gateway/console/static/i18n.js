// The language of the page. The texts in the modules are English and are the keys of the
// dictionary; {name} in them stands for a value.

import { chinese } from "./chinese.js";
import { kept } from "./storage.js";

const stored = kept("localStorage", "chatkeep.language");

export const languages = { en: "English", zh: "中文" };

export const language = choose();

function choose() {
  const wanted = stored.get();
  if (Object.hasOwn(languages, wanted)) return wanted;
  const first = navigator.languages.map((l) => l.slice(0, 2).toLowerCase()).find((l) => Object.hasOwn(languages, l));
  return first ?? "en";
}

// speak changes the language, for good.
export function speak(wanted) {
  stored.set(wanted);
  location.reload();
}

// t translates a text.
export function t(text, values = {}) {
  const translated = language === "zh" ? chinese[text] ?? text : text;
  return translated.replace(/\{(\w+)\}/g, (_, name) => alone(String(values[name])));
}

// alone keeps a value that turns the direction of writing from doing so to what stands
// around it.
const alone = (value) => (/[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(value) ? `\u2068${value}\u2069` : value);

// term translates a word of the API, such as a state; what it does not know stays as it is.
export function term(word) {
  return language === "zh" && Object.hasOwn(chinese, word) ? chinese[word] : String(word).replaceAll("_", " ");
}

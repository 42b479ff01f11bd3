// Values as people read them.

import { h } from "./dom.js";
import { language } from "./i18n.js";

const locale = language === "zh" ? "zh-CN" : navigator.language.startsWith("en") ? navigator.language : "en";
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const date = new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric" });
const dayOfYear = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });
const hour = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const whole = new Intl.NumberFormat(locale);

export const none = "–";

export const number = (n) => whole.format(n);

// time shows a moment in the browser's zone, its UTC in the title.
export function time(iso) {
  const at = iso ? new Date(iso) : null;
  if (!at || Number.isNaN(at.getTime())) return none;
  const now = new Date();
  let text = `${date.format(at)}, ${hour.format(at)}`;
  if (at.toDateString() === now.toDateString()) text = clock.format(at);
  else if (at.getFullYear() === now.getFullYear()) text = `${dayOfYear.format(at)}, ${hour.format(at)}`;
  return h("time", { datetime: at.toISOString(), title: utc(at) }, text);
}

// moment is time with its date, always.
export function moment(iso) {
  const at = new Date(iso);
  return h("time", { datetime: at.toISOString(), title: utc(at) }, `${date.format(at)}, ${clock.format(at)}`);
}

const utc = (at) => `${at.toISOString().replace("T", " ").replace("Z", "")} UTC`;

// duration of the time between two moments.
export function duration(from, to) {
  const ms = new Date(to) - new Date(from);
  if (!from || !to || Number.isNaN(ms)) return none;
  if (ms < 1000) return `${ms} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(1)} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}

// bytes as kilobytes and megabytes.
export function bytes(n) {
  if (n < 1024) return `${n} B`;
  return n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / (1 << 20)).toFixed(1)} MiB`;
}

// start is the beginning of a text, of n characters at most.
export const start = (text, n) => (text.length <= n ? text : `${text.slice(0, n).replace(/[\ud800-\udbff]$/, "")}…`);

// Names of sessions and places, with links to them.

import { h } from "./dom.js";
import { none } from "./format.js";
import { to } from "./router.js";

// readable shows a part of a key as it is meant, where that tells as much: an escaped slash
// is no boundary, and stays what it is.
const readable = (part) => part.replaceAll("%20", " ").replaceAll("%3A", ":");

// nameOf is what a session is called: its title, or its scope's id.
export const nameOf = (session) => session.title || readable(session.scopeId);

// scopeOf is the last part of a session key, which tells sessions apart.
function scopeOf(key) {
  const at = key.indexOf(":scope:");
  return at < 0 ? key : key.slice(at + ":scope:".length);
}

// sessionLink leads to a session by its key alone.
export function sessionLink(key, parameters = {}) {
  return key ? h("a", { href: to("session", { key, ...parameters }), class: "mono", title: key }, readable(scopeOf(key))) : none;
}

export const placeOf = (of) => [of.channel, of.account].filter(Boolean).join("/") || none;

// mono is text of machines, such as ids.
export const mono = (text) => (text ? h("span", { class: "mono" }, text) : none);

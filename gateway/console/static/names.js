// Names of sessions and places, with links to them.

import { h } from "./dom.js";
import { none } from "./format.js";
import { to } from "./router.js";

// decoded shows an escaped part of a key as it is meant.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// nameOf is what a session is called: its title, or its scope's id.
export const nameOf = (session) => session.title || decoded(session.scopeId);

// scopeOf is the last part of a session key, which tells sessions apart.
function scopeOf(key) {
  const at = key.indexOf(":scope:");
  return at < 0 ? key : key.slice(at + ":scope:".length);
}

// sessionLink leads to a session by its key alone.
export function sessionLink(key, parameters = {}) {
  return key ? h("a", { href: to("session", { key, ...parameters }), class: "mono", title: key }, decoded(scopeOf(key))) : none;
}

export const placeOf = (of) => [of.channel, of.account].filter(Boolean).join("/") || none;

// mono is text of machines, such as ids.
export const mono = (text) => (text ? h("span", { class: "mono" }, text) : none);

// JSON as it is written. What the browser makes of it loses digits of large numbers, and
// all but the last of several values with one name.

// exact parses a JSON text and keeps its numbers, where the browser can.
export function exact(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source && context.source !== String(value) ? JSON.rawJSON(context.source) : value);
}

const tokens = /"(?:[^"\\]+|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/gs;
const deepest = 30; // indentation, in levels

// indented lays a JSON text out; each of its values stays. What is none stays as it
// is. Characters that nobody sees, or that turn others around, are shown by their codes.
export function indented(text) {
  try {
    JSON.parse(text);
  } catch {
    return visible(text);
  }
  let out = "";
  let depth = 0;
  let before = "";
  const line = () => `\n${"  ".repeat(Math.min(depth, deepest))}`;
  for (const [token] of text.matchAll(tokens)) {
    if ("]}".includes(token)) {
      depth -= 1;
      out += "[{".includes(before) ? token : line() + token;
    } else {
      if (before === "," || (before !== "" && "[{".includes(before))) out += line();
      if (token === ":") out += ": ";
      else out += visible(token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token);
    }
    if ("[{".includes(token)) depth += 1;
    before = token;
  }
  return out;
}

// Controls but for breaks of lines, and what has no width or a direction of its own.
const hidden = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udc7f]/g;

const visible = (text) => text.replace(hidden, (c) => Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""));

// Tables and lists that come in pages. On a narrow screen each row is a card.

import { once } from "./action.js";
import { get } from "./api.js";
import { h } from "./dom.js";
import { focusTop } from "./focus.js";
import { none as nothing } from "./format.js";
import { t } from "./i18n.js";
import { empty, later } from "./later.js";

// table shows items by columns {label, cell, class}.
export function table(columns, items, attributes = {}) {
  const body = h("tbody");
  const node = h("table", attributes,
    h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.class }, c.label)))), body);
  node.add = (more) => body.append(...more.map((item) => row(columns, item)));
  node.add(items);
  return node;
}

function row(columns, item) {
  return h("tr", { "data-key": item.id ?? item.key ?? item.code ?? item.name }, columns.map((c) => {
    const content = c.cell(item);
    return h("td", { "data-label": c.label, class: [c.class, (!content || content === nothing) && "nothing"].filter(Boolean).join(" ") || null }, content);
  }));
}

// pages shows a list of the API with a button for the next page, and returns the function
// that reads it anew, as far as it was shown.
export function pages(view, path, { query = {}, columns, none, size = 50, read = get }) {
  let shown = 0;
  const page = (cursor, signal) => read(path, { query: { ...query, limit: size, cursor }, signal });
  async function begin(signal) {
    const all = await page("", signal);
    while (all.nextCursor && all.items.length < shown) {
      const { items, nextCursor } = await page(all.nextCursor, signal);
      all.items.push(...items);
      all.nextCursor = nextCursor;
    }
    return all;
  }
  return later(view, begin, (first) => {
    if (first.items.length === 0 && !first.nextCursor) return empty(none);
    const rows = table(columns, first.items);
    let cursor = first.nextCursor;
    const more = h("button", { type: "button", class: "more", hidden: !cursor, onclick: () => once(more, next) }, t("Show more"));
    async function next() {
      const added = await page(cursor, view.signal);
      if (!rows.isConnected) return;
      const before = rows.tBodies[0].childElementCount;
      rows.add(added.items);
      shown = rows.tBodies[0].childElementCount;
      cursor = added.nextCursor;
      if (cursor) return;
      if (document.activeElement === more) focusTop(rows.tBodies[0].children[before] ?? rows);
      more.hidden = true;
    }
    return [rows, more];
  });
}

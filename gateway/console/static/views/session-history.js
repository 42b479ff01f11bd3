// The messages of a slot, newest at the end, read backwards.

import { once } from "../action.js";
import { h } from "../dom.js";
import { focusTop } from "../focus.js";
import { t } from "../i18n.js";
import { empty, later } from "../later.js";
import { message } from "./message.js";
import { slotChoice } from "./slot-choice.js";

const size = 50;

export function history(view) {
  const { api, parameters: p } = view;
  const slot = p.slot || view.session.currentSlot;
  const page = (before, signal) => api.get("messages", { query: { slot, before, limit: size }, signal });
  const [list] = later(view, (signal) => page(p.before, signal), (first) => {
    if (first.items.length === 0) return empty(t("Nothing was said here yet."));
    let before = first.nextCursor;
    const show = (items) => items.map((m) => message(m, { wanted: String(m.seq) === p.seq }));
    const messages = h("div", { class: "messages" }, show(first.items));
    const earlier = h("button", { type: "button", class: "more", hidden: !before, onclick: () => once(earlier, next) }, t("Show earlier messages"));
    async function next() {
      const added = await page(before, view.signal);
      if (!messages.isConnected) return;
      const earliest = messages.firstElementChild;
      messages.prepend(...show(added.items));
      before = added.nextCursor;
      if (before) return;
      if (document.activeElement === earlier) focusTop(earliest.previousElementSibling ?? earliest);
      earlier.hidden = true;
    }
    const onward = p.before && h("p", { class: "fine" }, h("a", { href: newest(view, slot) }, t("Show the newest messages")));
    queueMicrotask(() => messages.querySelector(".wanted")?.scrollIntoView({ block: "center" }));
    return [earlier, messages, onward || ""];
  });
  return [slotChoice(view, slot, "history"), list];
}

const newest = (view, slot) => `#/session?${new URLSearchParams({ key: view.session.key, slot })}`;

// Which slot of a session is shown.

import { h } from "../dom.js";
import { field, filters, select } from "../form.js";
import { t } from "../i18n.js";
import { go } from "../router.js";

// label of a slot in a list.
export const slotName = (slot) => (slot.title && slot.title !== slot.id ? `${slot.title} (${slot.id})` : slot.id);

export function slotChoice(view, shown, tab) {
  const { session, api } = view;
  const control = select("slot", [[shown, shown]], shown);
  api.get("slots", { signal: view.signal }).then(({ items }) => {
    control.replaceChildren(...items.map((s) => h("option", { value: s.id }, s.current ? t("{slot}, current", { slot: slotName(s) }) : slotName(s))));
    control.value = shown;
  }, () => {});
  return filters(({ slot }) => go("session", { key: session.key, tab, slot }), field(t("Slot"), control));
}

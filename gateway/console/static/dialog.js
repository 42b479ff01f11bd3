// Dialogs: forms, and confirmations of what destroys.

import { once } from "./action.js";
import { freshId, h } from "./dom.js";
import { focusTop } from "./focus.js";
import { values } from "./form.js";
import { t } from "./i18n.js";
import { complain, explain } from "./notice.js";

// closeDialogs closes what is open, as its view is gone.
export function closeDialogs() {
  for (const open of document.querySelectorAll("dialog")) open.close();
}

// openDialog asks for what is in body, about the subject. The submit button, or Enter, runs
// submit with the values; it closes unless that throws, which is shown inside. Before
// ready() is called it cannot be submitted.
export function openDialog({ title, subject, body = [], label, danger = false, submit, waits = false }) {
  const id = freshId();
  const wrong = h("div", { class: "trouble", role: "alert", hidden: true });
  const confirm = h("button", { class: danger ? "danger" : "primary", disabled: waits }, label);
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, t("Cancel"));
  const form = h("form", { onsubmit: onSubmit }, h("h2", { id }, title), subject && h("p", { class: "subject" }, subject), body, wrong,
    h("div", { class: "buttons" }, cancel, confirm));
  const dialog = h("dialog", { "aria-labelledby": id, onclose: closed }, form);
  const gone = new AbortController();

  function closed() {
    dialog.remove();
    gone.abort();
    // Whatever had opened it may be gone.
    if (document.activeElement === document.body) focusTop(document.querySelector("main"));
  }
  function fail(error) {
    if (error.name === "AbortError") return;
    if (!dialog.open) {
      complain(error);
      return;
    }
    wrong.replaceChildren(...explain(error).filter(Boolean));
    wrong.hidden = false;
  }
  function onSubmit(event) {
    event.preventDefault();
    wrong.hidden = true;
    once(confirm, async () => {
      const text = await submit(values(form));
      dialog.close();
      return text;
    }, fail);
  }
  document.body.append(dialog);
  dialog.showModal();
  if (danger) cancel.focus();
  return { fail, ready: () => { confirm.disabled = false; }, signal: gone.signal, values: () => values(form) };
}

// destroy shows what an action would do before it can be confirmed. dry returns the text
// or nodes to show, and whether there is anything to do.
export async function destroy({ title, subject, body = [], label, dry, submit }) {
  const outcome = h("div", { class: "outcome", "aria-live": "polite" }, t("Looking at what would change…"));
  const dialog = openDialog({ title, subject, body: [body, outcome], label, danger: true, submit, waits: true });
  try {
    const { shown, possible } = await dry();
    outcome.replaceChildren(...[shown].flat());
    if (possible) dialog.ready();
  } catch (error) {
    outcome.replaceChildren();
    if (!dialog.signal.aborted) dialog.fail(error);
  }
}

// sure asks before something that has no dry run.
export function sure({ title, subject, text, label, submit }) {
  openDialog({ title, subject, body: [h("p", {}, text)], label, danger: true, submit });
}

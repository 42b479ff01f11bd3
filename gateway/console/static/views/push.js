// Pushes a message into a chat.

import { once } from "../action.js";
import { get, post } from "../api.js";
import { h } from "../dom.js";
import { checkbox, field, input, select, textarea, values } from "../form.js";
import { t } from "../i18n.js";
import { later } from "../later.js";
import { back, go, heading } from "../router.js";

export function push(view) {
  const [form] = later(view, (signal) => get("channels", { signal }), ({ items }) => pushForm(view, items));
  return [back("deliveries", t("Deliveries")), heading(t("Push a message")), form];
}

function pushForm(view, channels) {
  // The same key for every try of this form: what was stored once is not sent twice.
  const idempotencyKey = `console-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16).padStart(8, "0")).join("")}`;
  const submit = h("button", { class: "primary" }, t("Push"));
  const form = h("form", { class: "narrow", onsubmit: onSubmit },
    field(t("Account"), select("account", channels.map((c, i) => [String(i), `${c.channel}/${c.account}`]), "0")),
    field(t("Kind of chat"), select("kind", [["chatId", t("a chat, by its id")], ["userId", t("a person, by their id")]], "chatId")),
    field(t("Id"), input("id", { required: true, maxlength: 256 })),
    field(t("Thread (optional)"), input("threadId", { maxlength: 256 })),
    field(t("Text"), textarea("text", { required: true })),
    field(t("Remember it in the chat's session"), checkbox("remember", true)),
    h("div", { class: "buttons" }, submit));

  function onSubmit(event) {
    event.preventDefault();
    once(submit, async () => {
      const { account, kind, id, threadId, text, remember } = values(form);
      const { channel, account: name } = channels[Number(account)];
      await post("deliveries", { body: { channel, account: name, [kind]: id, ...(threadId && { threadId }), text, remember, idempotencyKey } });
      if (!view.signal.aborted) go("deliveries");
      return t("The message is stored for sending.");
    });
  }
  return form;
}

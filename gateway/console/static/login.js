// The login: it asks for the admin token and tries it.

import { once } from "./action.js";
import { get, token } from "./api.js";
import { h } from "./dom.js";
import { field, values } from "./form.js";
import { t } from "./i18n.js";
import { languageSwitch } from "./language.js";
import { explain } from "./notice.js";

// login returns the page; reason is the error that led to it, if one did, and hint what
// the gateway says of those who come without a token.
export function login(reason, enter, hint) {
  const wrong = h("div", { class: "trouble", role: "alert", hidden: true });
  const submit = h("button", { class: "primary" }, t("Log in"));
  const control = h("input", { name: "token", type: "password", autocomplete: "current-password", required: true, spellcheck: "false", pattern: "\\s*[!-~]+\\s*", title: t("Visible characters of ASCII, without blanks") });
  const form = h("form", { onsubmit: onSubmit },
    field(t("Admin token"), control, t("server.adminToken of the configuration. It is kept until this tab is closed.")), submit);

  function show(error) {
    wrong.replaceChildren(...explain(error).filter(Boolean));
    wrong.hidden = false;
  }
  function onSubmit(event) {
    event.preventDefault();
    wrong.hidden = true;
    once(submit, async () => {
      token.set(values(form).token.trim());
      await get("agents");
      enter();
    }, (error) => {
      token.clear();
      show(error);
      control.select();
    });
  }
  if (reason) show(reason);
  return h("main", { class: "login" }, h("h1", {}, "chatkeep"), wrong, hint && hint !== reason?.message && h("p", { class: "fine" }, hint), form, languageSwitch());
}

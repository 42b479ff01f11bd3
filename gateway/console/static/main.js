// Begins the console: in, if the API lets us, else the login.

import { get, onRefused, token } from "./api.js";
import { h } from "./dom.js";
import { language, t } from "./i18n.js";
import { trouble } from "./later.js";
import { login } from "./login.js";
import { hush } from "./notice.js";
import { shell } from "./shell.js";

const app = document.getElementById("app");
let leave = () => {};

document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
onRefused((error) => {
  if (leave()) askToken(error);
});
begin();

// begin finds out whether a token is needed: from this machine there may be none, and then
// one that was left over would only be in the way.
async function begin(reason = null) {
  const hadToken = token.get() !== "";
  try {
    await get("agents");
    enter();
  } catch (error) {
    if (error.status === 401 && hadToken) {
      token.clear();
      await begin(error);
    } else if (error.status === 401) askToken(reason, error.message);
    else app.replaceChildren(h("main", { class: "login" }, h("h1", {}, "chatkeep"), trouble(error, () => begin())));
  }
}

function askToken(reason, hint) {
  token.clear();
  leave = () => false;
  document.title = `${t("Log in")} · chatkeep`;
  app.replaceChildren(login(reason, enter, hint));
  app.querySelector("input").focus();
}

// enter shows the console; leave ends it, once.
function enter() {
  const { node, start } = shell(() => {
    leave();
    hush();
    askToken(null);
  });
  app.replaceChildren(node);
  const end = start();
  leave = () => {
    leave = () => false;
    end();
    return true;
  };
}

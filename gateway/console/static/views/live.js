// The live tail of what happens on this replica.

import { call } from "../api.js";
import { badge } from "../badge.js";
import { h } from "../dom.js";
import { time } from "../format.js";
import { field, input } from "../form.js";
import { t } from "../i18n.js";
import { trouble } from "../later.js";
import { sessionLink } from "../names.js";
import { heading } from "../router.js";
import { events } from "../sse.js";

const most = 500; // events that are kept
const shortestWait = 1000; // ms before connecting again, doubled each time
const longestWait = 30_000;
const longestSilence = 45_000; // the gateway sends a comment every 15 seconds

export function live(view) {
  const state = h("p", { class: "quietly", role: "status" }, t("Connecting…"));
  const list = h("ol", { class: "events" });
  const wanted = input("filter", { type: "search", oninput: filter });
  let paused = false;
  let waiting = [];

  const matches = (node) => node.textContent.toLowerCase().includes(wanted.value.trim().toLowerCase());
  function filter() {
    for (const node of list.children) node.hidden = !matches(node);
  }
  function add(event) {
    if (paused) {
      waiting = [...waiting.slice(1 - most), event];
      return;
    }
    const node = line(event);
    node.hidden = !matches(node);
    list.prepend(node);
    while (list.childElementCount > most) list.lastElementChild.remove();
  }
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) waiting.splice(0).forEach(add);
  } }, t("Hold"));

  follow(view.signal, add, (text, error) => state.replaceChildren(...(error ? [trouble(error)] : [text])));
  return [heading(t("Live"), pause, h("button", { type: "button", onclick: () => list.replaceChildren() }, t("Clear"))),
    h("form", { class: "filters", onsubmit: (e) => e.preventDefault() }, field(t("Only lines with"), wanted)), state, list];
}

// follow reads events until the view is gone, connecting again when it has to.
async function follow(signal, add, tell) {
  let wait = shortestWait;
  let last = "0"; // what came after it is sent: at first all that is kept
  while (!signal.aborted) {
    let refusal = null;
    try {
      const response = await call("GET", "events", { headers: { "Last-Event-ID": last }, signal, endless: true });
      tell(t("Connected. What happens on this replica appears here."));
      wait = shortestWait;
      for await (const { id, event } of events(response.body, longestSilence)) {
        last = id || last;
        if (event.type !== "missed" || event.missed) add(event); // without a number it only says that there was something before
      }
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (error.status === 404) {
        tell(t("Not available: this gateway has no live events."));
        return;
      }
      if (error.status === 429) refusal = error; // which ends when others leave
      else if (error.status >= 400 && error.status < 500) {
        tell("", error);
        return;
      }
    }
    if (signal.aborted) return;
    tell(t("The connection was lost; connecting again…"), refusal);
    await pauseFor(wait * (0.5 + Math.random() / 2), signal);
    wait = Math.min(2 * wait, longestWait);
  }
}

function pauseFor(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

// line shows an event: when, what, what came of it, where, and the rest of it.
function line({ at, type, state, code, sessionKey, replica, ...rest }) {
  const known = Object.entries(rest).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return h("li", { title: replica }, time(at), " ", h("strong", {}, type), " ", state && [badge(state), " "], code && [h("span", { class: "wrong" }, code), " "], sessionKey && sessionLink(sessionKey), " ",
    h("span", { class: "fine mono" }, known.map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`).join(" ")));
}

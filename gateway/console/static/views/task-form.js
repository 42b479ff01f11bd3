// The form of a new task.

import { get, post } from "../api.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { field, input, select, textarea } from "../form.js";
import { t } from "../i18n.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// addTask asks for a task; added is called once it is scheduled.
export async function addTask(view, added) {
  const [agents, channels] = await Promise.all([get("agents"), get("channels")]);
  if (view.signal.aborted) return;
  const accounts = channels.items.map((c) => `${c.channel}/${c.account}`);
  openDialog({
    title: t("New task"), label: t("Create"),
    body: h("div", { class: "grid" },
      field(t("Name"), input("id", { required: true, pattern: "[A-Za-z0-9._\\-]{1,64}", title: t("Letters, digits, dots, dashes and underscores") })),
      field(t("Agent"), select("agent", agents.items.map((a) => [a.id, a.id]), agents.items[0]?.id)),
      when(),
      field(t("Time zone"), input("timezone", { required: true, value: zone }), t("IANA name, such as Asia/Shanghai")),
      h("div", { class: "whole" }, field(t("Prompt"), textarea("prompt", { required: true, rows: 4 }))),
      field(t("Memory"), select("session", [["persistent", t("one session for all runs")], ["isolated", t("a session of its own for each run")]], "persistent")),
      field(t("When a time was missed"), select("missed", [["once", t("run the newest one")], ["skip", t("record it only")]], "once")),
      delivery(accounts)),
    submit: async (form) => {
      await post("tasks", { body: task(form) });
      added();
      return t("The task is scheduled.");
    },
  });
}

// chosen shows the parts of a form that belong to what is selected: parts by its values.
function chosen(label, control, parts) {
  const show = () => Object.entries(parts).forEach(([value, part]) => { part.hidden = value !== control.value; });
  control.addEventListener("change", show);
  show();
  return [field(label, control), Object.values(parts)];
}

function when() {
  return chosen(t("Runs"), select("runs", [["repeatedly", t("repeatedly")], ["once", t("once")]], "repeatedly"), {
    repeatedly: field(t("Schedule"), input("schedule", { value: "0 9 * * 1-5", class: "mono" }), t("Minute, hour, day, month, weekday; or @every 10m")),
    once: field(t("At"), input("at", { type: "datetime-local" }), t("In the zone of this browser")),
  });
}

function delivery(accounts) {
  const options = [["", t("nowhere")], ...(accounts.length > 0 ? [["chatId", t("a chat, by its id")], ["userId", t("a person, by their id")]] : []), ["url", t("a URL")]];
  const id = field(t("Id"), input("target", { maxlength: 256 }));
  const account = field(t("Account"), select("account", accounts.map((a) => [a, a]), accounts[0]));
  const url = field(t("URL"), input("url", { type: "url" }));
  const control = select("deliver", options, "");
  const show = () => {
    account.hidden = id.hidden = !["chatId", "userId"].includes(control.value);
    url.hidden = control.value !== "url";
  };
  control.addEventListener("change", show);
  show();
  return [field(t("Deliver the answer to"), control), account, id, url];
}

// task is what the API takes.
function task({ id, agent, schedule, at, timezone, prompt, session, missed, deliver, account, target, url }) {
  const body = { id, agent, timezone, prompt, session, missed };
  if (at !== undefined) body.at = at ? new Date(at).toISOString() : null;
  else body.schedule = schedule;
  if (deliver === "url") body.deliver = { url };
  else if (deliver) {
    const [channel, name] = account.split("/");
    body.deliver = { channel, account: name, [deliver]: target };
  }
  return body;
}

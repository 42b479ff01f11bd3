// The form of a task: of a new one, or of one that is changed.

import { get, patch, post } from "../api.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { field, input, select, shownFor, textarea } from "../form.js";
import { t } from "../i18n.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const fresh = { schedule: "0 9 * * 1-5", timezone: zone, prompt: "", session: "persistent", missed: "once" };

// addTask asks for a task; added is called once it is scheduled.
export async function addTask(view, added) {
  const choices = await offered();
  if (view.signal.aborted) return;
  openDialog({
    title: t("New task"), label: t("Create"),
    body: h("div", { class: "grid" },
      field(t("Name"), input("id", { required: true, pattern: "[A-Za-z0-9._\\-]{1,64}", title: t("Letters, digits, dots, dashes and underscores") })),
      fields(fresh, choices)),
    submit: async (form) => {
      await post("tasks", { body: { id: form.id, ...task(form) } });
      added();
      return t("The task is scheduled.");
    },
  });
}

// changeTask asks for what is to be different; changed is called once it is.
export async function changeTask(view, of, changed) {
  const choices = await offered();
  if (view.signal.aborted) return;
  const body = h("div", { class: "grid" }, fields(of, choices));
  let before = null;
  const dialog = openDialog({
    title: t("Change the task"), label: t("Save"), body,
    subject: [h("strong", {}, of.id), of.owner === "config" && h("span", {}, t("The configuration sets it back when it is read again; change it there."))],
    submit: async (form) => {
      await patch(`tasks/${encodeURIComponent(of.id)}`, { body: different(before, task(form)) });
      changed();
      return t("Saved.");
    },
  });
  before = task(dialog.values());
}

// different is the part of a task that is not what it was: times lose their seconds here,
// and what nobody touched is not written again.
const different = (before, now) => Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));

async function offered() {
  const [agents, channels] = await Promise.all([get("agents"), get("channels")]);
  return { agents: agents.items.map((a) => a.id), accounts: channels.items.map((c) => `${c.channel}/${c.account}`) };
}

// having are options, with the one that is chosen among them though it is not offered any more.
const having = (options, chosen) => (chosen && !options.includes(chosen) ? [chosen, ...options] : options).map((o) => [o, o]);

function fields(of, { agents, accounts }) {
  const runs = select("runs", [["repeatedly", t("repeatedly")], ["once", t("once")]], of.at ? "once" : "repeatedly");
  return [
    field(t("Agent"), select("agent", having(agents, of.agent), of.agent ?? agents[0])),
    field(t("Runs"), runs), shownFor(runs,
      [["repeatedly"], field(t("Schedule"), input("schedule", { value: of.schedule ?? fresh.schedule, class: "mono" }), t("Minute, hour, day, month, weekday; or @every 10m"))],
      [["once"], field(t("At"), input("at", { type: "datetime-local", required: true, value: of.at ? here(of.at) : "" }), t("In the zone of this browser"))]),
    field(t("Time zone"), input("timezone", { required: true, value: of.timezone }), t("IANA name, such as Asia/Shanghai")),
    h("div", { class: "whole" }, field(t("Prompt"), textarea("prompt", { required: true, rows: 4, value: of.prompt }))),
    field(t("Memory"), select("session", [["persistent", t("one session for all runs")], ["isolated", t("a session of its own for each run")]], of.session)),
    field(t("When a time was missed"), select("missed", [["once", t("run the newest one")], ["skip", t("record it only")]], of.missed)),
    delivery(of.deliver ?? {}, accounts)];
}

function delivery(to, accounts) {
  const account = to.channel && `${to.channel}/${to.account}`;
  const offered = having(accounts, account);
  const options = [["", t("nowhere")], ...(offered.length > 0 ? [["chatId", t("a chat, by its id")], ["userId", t("a person, by their id")]] : []), ["url", t("a URL")]];
  const control = select("deliver", options, to.url ? "url" : to.chatId ? "chatId" : to.userId ? "userId" : "");
  return [field(t("Deliver the answer to"), control), shownFor(control,
    [["chatId", "userId"],
      field(t("Account"), select("account", offered, account || offered[0]?.[0])),
      field(t("Id"), input("target", { required: true, maxlength: 256, value: to.chatId || to.userId || "" })),
      field(t("Thread (optional)"), input("threadId", { maxlength: 256, value: to.threadId ?? "" }))],
    [["url"],
      field(t("URL"), input("url", { type: "url", required: true, value: to.url ?? "" })),
      field(t("Secret for its signature (optional)"), input("secret", { value: to.secret ?? "" }))])];
}

// here is a time as a datetime-local control takes it.
function here(at) {
  const time = new Date(at);
  return new Date(time - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// task is what the API takes.
function task({ agent, schedule, at, timezone, prompt, session, missed, deliver, account, target, threadId, url, secret }) {
  const body = { agent, timezone, prompt, session, missed, deliver: null };
  if (at !== undefined) body.at = at ? new Date(at).toISOString() : null;
  else body.schedule = schedule;
  if (deliver === "url") body.deliver = { url, ...(secret && { secret }) };
  else if (deliver) {
    const [channel, name] = account.split("/");
    body.deliver = { channel, account: name, [deliver]: target, ...(threadId && { threadId }) };
  }
  return body;
}

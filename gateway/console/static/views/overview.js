// How things are, and what needs a person.

import { button } from "../action.js";
import { get, operations, post } from "../api.js";
import { badge, connection } from "../badge.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { none, number, time } from "../format.js";
import { t, term } from "../i18n.js";
import { later } from "../later.js";
import { mono, placeOf } from "../names.js";
import { heading, to } from "../router.js";
import { pages, table } from "../table.js";

export function overview(view) {
  const [attention, reloadAttention] = later(view, needs, shownNeeds);
  const [counts, reloadCounts] = later(view, (signal) => get("stats", { signal }), tiles);
  const [today, reloadToday] = later(view, (signal) => get("usage", { query: { by: "agent", from: "today" }, signal }), used);
  const [channels, reloadChannels] = pages(view, "channels", { columns: channelColumns(), none: t("There are no channels.") });
  const [jobs, reloadJobs] = later(view, (signal) => get("jobs", { signal }), ({ items }) => table(jobColumns(view, () => reloadJobs()), items));
  const reload = () => [reloadAttention, reloadCounts, reloadToday, reloadChannels, reloadJobs].forEach((load) => load());
  return [heading(t("Overview"), button(t("Refresh"), reload)), attention, counts,
    h("h2", {}, t("Today")), today, h("h2", {}, t("Channels")), channels, h("h2", {}, t("Jobs")), jobs];
}

// needs collects what a person should look at.
async function needs(signal) {
  const [ready, stats, channels, requests, approvals, jobs] = await Promise.all([
    operations("readyz", signal).catch(() => null), get("stats", { signal }), get("channels", { signal }), get("access/requests", { signal }),
    get("approvals", { query: { state: "pending" }, signal }), get("jobs", { signal }),
  ]);
  const found = [];
  const tell = (text) => found.push([text]);
  const count = (n, text, href, more = "") => n > 0 && found.push([text, `${number(n)}${more}`, href]);
  const listed = (page, text, href) => count(page.items.length, text, href, page.nextCursor && "+");
  if (ready && !ready.ready) tell(t("The gateway is not ready: it starts, drains, or has lost its database."));
  if (ready && !ready.durable) tell(t("The storage is in memory: all is gone when the process ends."));
  for (const c of channels.items.filter((c) => !c.connected)) tell(t("{channel} is not connected.", { channel: placeOf(c) }));
  for (const j of jobs.items.filter((j) => j.lastRun?.error)) tell(t("The job {name} failed: {error}", { name: term(j.name), error: j.lastRun.error }));
  listed(approvals, t("Tool calls waiting for approval"), to("approvals"));
  listed(requests, t("Requests for access"), to("access"));
  for (const state of ["failed", "dead"]) count(stats.inbound[state], t("Inbound messages: {state}", { state: term(state) }), to("inbound", { state }));
  for (const state of ["failed", "dead"]) count(stats.deliveries[state], t("Deliveries: {state}", { state: term(state) }), to("deliveries", { state }));
  return found;
}

function shownNeeds(found) {
  if (found.length === 0) return h("p", { class: "calm" }, t("Nothing needs attention."));
  return h("section", { class: "attention", "aria-labelledby": "attention" }, h("h2", { id: "attention" }, t("Needs attention")),
    h("ul", {}, found.map(([text, n, href]) => h("li", {}, href ? [h("a", { href }, text), " ", h("strong", {}, n)] : text))));
}

function tiles(stats) {
  const tile = (name, title, counts) => h("section", { class: "tile" },
    h("h2", {}, h("a", { href: to(name) }, title), " ", h("span", { class: "sum" }, number(Object.values(counts).reduce((a, b) => a + b, 0)))),
    h("p", {}, Object.entries(counts).filter(([, n]) => n > 0).map(([state, n]) => h("a", { class: "count", href: to(name, { state }) }, badge(state), " ", number(n)))));
  return h("div", { class: "tiles" }, tile("sessions", t("Sessions"), stats.sessions), tile("inbound", t("Inbound"), stats.inbound), tile("deliveries", t("Deliveries"), stats.deliveries));
}

function used({ items }) {
  if (items.length === 0) return h("p", { class: "quietly" }, t("No model was used today."));
  return table([
    { label: t("Agent"), class: "wide", cell: (i) => i.agentId },
    { label: t("Tokens"), class: "number", cell: (i) => number(i.totalTokens) },
    { label: t("Turns"), class: "number", cell: (i) => number(i.turns) },
    { label: t("Failed turns"), class: "number", cell: (i) => number(i.errors) },
  ], items);
}

const channelColumns = () => [
  { label: t("Account"), class: "tight", cell: placeOf },
  { label: t("State"), class: "tight", cell: connection },
  { label: t("Mode"), class: "tight", cell: (c) => c.mode },
  { label: t("Last event"), class: "when", cell: (c) => time(c.lastEventAt) },
  { label: t("Error"), class: "wide", cell: (c) => (c.error ? h("span", { class: "wrong" }, c.error) : none) },
];

const jobColumns = (view, reload) => [
  { label: t("Job"), cell: (j) => [term(j.name), j.off && [" ", badge("off", j.off)]] },
  { label: t("Schedule"), cell: (j) => mono(j.schedule) },
  { label: t("Next run"), class: "when", cell: (j) => time(j.nextRunAt) },
  { label: t("Last run"), class: "when", cell: (j) => time(j.lastRun?.startedAt) },
  { label: t("Outcome"), class: "wide", cell: (j) => (j.lastRun ? outcome(j.lastRun) : none) },
  { label: t("Actions"), class: "acts", cell: (j) => button(t("Run…"), () => runJob(view, j, reload)) },
];

const outcome = (run) => (run.error ? h("span", { class: "wrong" }, run.error)
  : t("{changed} changed, {skipped} skipped of {considered}", { changed: number(run.changed), skipped: number(run.skipped), considered: number(run.considered) }));

// runJob shows what a job would do before it does it.
async function runJob(view, job, reload) {
  const path = `jobs/${job.name}/run`;
  const would = await post(path, { query: { dryRun: true } });
  if (view.signal.aborted) return;
  openDialog({
    title: t("Run the job {name}?", { name: term(job.name) }), label: t("Run"), danger: true,
    body: [h("p", {}, would.off || outcome(would)), would.sessions?.length > 0 && h("ul", { class: "fine mono" }, would.sessions.slice(0, 20).map((key) => h("li", {}, key)))],
    submit: async () => {
      const done = await post(path);
      reload();
      return done.error || t("{changed} changed, {skipped} skipped of {considered}", { changed: number(done.changed), skipped: number(done.skipped), considered: number(done.considered) });
    },
  });
}

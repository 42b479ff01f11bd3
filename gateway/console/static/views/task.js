// A task, its next times, and its runs.

import { button } from "../action.js";
import { get } from "../api.js";
import { badge } from "../badge.js";
import { h } from "../dom.js";
import { duration, moment, none, number, time } from "../format.js";
import { t, term } from "../i18n.js";
import { later } from "../later.js";
import { mono, sessionLink } from "../names.js";
import { back, go, heading } from "../router.js";
import { pages } from "../table.js";
import { taskActions } from "./task-actions.js";
import { schedule, target } from "./tasks.js";

export function task(view) {
  const path = `tasks/${encodeURIComponent(view.parameters.id ?? "")}`;
  const again = () => view.signal.aborted || view.again();
  const [page] = later(view, (signal) => get(path, { signal }), (k) => {
    const [runs] = pages(view, `${path}/runs`, { columns: columns(), none: t("It has not run yet.") });
    return [
      heading([k.id, k.paused && [" ", badge("paused")]], taskActions(view, k, again, () => view.signal.aborted || go("tasks")), button(t("Refresh"), again)),
      h("div", { class: "columns" }, h("section", {}, facts(k)), h("section", {}, h("h2", {}, t("Next times")), nextTimes(k))),
      h("h2", {}, t("Runs")), runs,
    ];
  }, t("Task"));
  return [back("tasks", t("Tasks")), page];
}

function nextTimes(k) {
  if (k.nextRuns.length === 0) return h("p", { class: "quietly" }, k.paused ? t("It is paused.") : t("It does not run again."));
  return h("ol", { class: "times" }, k.nextRuns.map((at) => h("li", {}, moment(at), h("span", { class: "fine" }, ` ${inZone(at)} ${k.timezone}`))));
}

// inZone is the time as the API wrote it, in the zone of the task.
const inZone = (at) => at.slice(0, 16).replace("T", " ");

function facts(k) {
  const rows = [
    [t("Prompt"), h("div", { class: "text" }, k.prompt)], [t("Schedule"), schedule(k)], [t("Agent"), k.agent], [t("Memory"), term(k.session)],
    [t("Delivers to"), mono(target(k.deliver))], [t("When a time was missed"), term(k.missed)], [t("Timeout"), k.timeout], [t("Retries"), number(k.retries)],
    [t("Owner"), k.owner], [t("Created"), moment(k.createdAt)],
  ];
  return h("dl", { class: "details" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

const columns = () => [
  { label: t("Time"), class: "when", cell: (r) => time(r.scheduledAt) },
  { label: t("State"), class: "tight", cell: (r) => badge(r.state) },
  { label: t("Delivery"), cell: (r) => badge(r.deliveryState) },
  { label: t("Session"), class: "wide", cell: (r) => [sessionLink(r.sessionKey), r.error && h("div", { class: "wrong" }, r.error)] },
  { label: t("Took"), class: "when", cell: (r) => (r.finishedAt ? duration(r.startedAt, r.finishedAt) : none) },
  { label: t("Tokens"), class: "number", cell: (r) => number(r.tokens) },
];

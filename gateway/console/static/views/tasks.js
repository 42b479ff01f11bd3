// Scheduled tasks.

import { button } from "../action.js";
import { badge } from "../badge.js";
import { h } from "../dom.js";
import { none, time } from "../format.js";
import { t } from "../i18n.js";
import { mono } from "../names.js";
import { heading, to } from "../router.js";
import { pages } from "../table.js";
import { taskActions } from "./task-actions.js";
import { addTask } from "./task-form.js";

export function tasks(view) {
  const [list, reload] = pages(view, "tasks", {
    none: t("There are no tasks."),
    columns: [
      { label: t("Task"), class: "wide", cell: (k) => [h("a", { href: to("task", { id: k.id }) }, k.id), k.paused && [" ", badge("paused")], h("div", { class: "fine clip" }, k.prompt)] },
      { label: t("Schedule"), cell: schedule },
      { label: t("Next run"), class: "when", cell: (k) => time(k.nextRunAt) },
      { label: t("Last run"), cell: (k) => (k.lastRun ? [badge(k.lastRun.state, k.lastRun.error), " ", time(k.lastRun.scheduledAt)] : none) },
      { label: t("Delivers to"), cell: (k) => mono(target(k.deliver)) },
      { label: t("Owner"), class: "tight", cell: (k) => k.owner },
      { label: t("Actions"), class: "acts", cell: (k) => taskActions(view, k, () => view.signal.aborted || reload()) },
    ],
  });
  return [heading(t("Tasks"), button(t("New task"), () => addTask(view, reload)), button(t("Refresh"), reload)), list];
}

export const schedule = (k) => (k.schedule ? [mono(k.schedule), h("div", { class: "fine" }, k.timezone)] : time(k.at));

// target of a task in one line.
export function target(d) {
  if (!d) return "";
  return d.url || [d.channel, d.account, d.chatId || d.userId, d.threadId].filter(Boolean).join("/");
}

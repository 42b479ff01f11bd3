// All views: what the address calls them, their titles, and what makes them.

import { t } from "./i18n.js";
import { access } from "./views/access.js";
import { agents } from "./views/agents.js";
import { approvals } from "./views/approvals.js";
import { config } from "./views/config.js";
import { deliveries } from "./views/deliveries.js";
import { inbound } from "./views/inbound.js";
import { live } from "./views/live.js";
import { overview } from "./views/overview.js";
import { push } from "./views/push.js";
import { search } from "./views/search.js";
import { session } from "./views/session.js";
import { sessions } from "./views/sessions.js";
import { task } from "./views/task.js";
import { tasks } from "./views/tasks.js";
import { usage } from "./views/usage.js";

// A view without a place in the navigation belongs to another one.
export const views = {
  overview: { title: () => t("Overview"), make: overview },
  live: { title: () => t("Live"), make: live },
  sessions: { title: () => t("Sessions"), make: sessions },
  session: { title: () => t("Session"), make: session, of: "sessions" },
  search: { title: () => t("Search"), make: search },
  inbound: { title: () => t("Inbound"), make: inbound },
  deliveries: { title: () => t("Deliveries"), make: deliveries },
  push: { title: () => t("Push a message"), make: push, of: "deliveries" },
  tasks: { title: () => t("Tasks"), make: tasks },
  task: { title: () => t("Task"), make: task, of: "tasks" },
  approvals: { title: () => t("Approvals"), make: approvals },
  access: { title: () => t("Access"), make: access },
  usage: { title: () => t("Usage"), make: usage },
  agents: { title: () => t("Agents"), make: agents },
  config: { title: () => t("Configuration"), make: config },
};

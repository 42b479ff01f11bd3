// What can be done with a task.

import { button } from "../action.js";
import { post, remove } from "../api.js";
import { sure } from "../dialog.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { changeTask } from "./task-form.js";

// taskActions returns the buttons; changed is called after each change, deleted after the last.
export function taskActions(view, task, changed, deleted = changed) {
  const path = `tasks/${encodeURIComponent(task.id)}`;
  const does = (what, said) => async () => {
    await post(`${path}/${what}`);
    changed();
    return said;
  };
  return [
    button(t("Run now"), does("run", t("The task runs."))),
    task.paused ? button(t("Resume"), does("resume", t("The task goes on."))) : button(t("Pause"), does("pause", t("The task is paused."))),
    button(t("Change"), () => changeTask(view, task, changed)),
    button(t("Delete"), () => sure({
      title: t("Delete the task?"), subject: h("strong", {}, task.id), text: t("It is forgotten with its runs. A run that has begun ends as it would have."), label: t("Delete"),
      submit: async () => {
        await remove(path);
        deleted();
        return t("The task is deleted.");
      },
    }), { class: "danger" }),
  ];
}

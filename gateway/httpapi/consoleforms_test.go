package httpapi_test

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

func (o *operated) operateTasks(b *tab) {
	o.t.Helper()
	b.view("tasks")
	b.press("New task")
	b.fill("id", "tidy")
	b.fill("schedule", "@every 1h")
	b.fill("prompt", "Tidy up.")
	b.picture("task-form")
	b.press("Create")
	b.said("The task is scheduled.")
	o.changeTask(b)
	b.press("Pause", "tidy")
	b.said("The task is paused.")
	b.press("Resume", "tidy")
	b.said("The task goes on.")
	b.press("tidy")
	b.wait("the five next times", `document.querySelectorAll(".times li").length === 5`)
	b.sees("It has not run yet.")
	b.press("Run now")
	b.said("The task runs.")
	b.wait("the run", `document.querySelector("table .badge")`)
	b.press("Delete")
	b.press("Delete")
	b.said("The task is deleted.")
	b.sees("standup")
	if n := len(o.admin(http.MethodGet, "/tasks", nil).ok().items()); n != 1 {
		o.t.Errorf("%d tasks", n)
	}
}

// changeTask changes some of it; what nobody touched stays, a secret that is not shown too.
func (o *operated) changeTask(b *tab) {
	o.t.Helper()
	o.admin(http.MethodPatch, "/tasks/tidy", obj{"at": "2036-05-04T03:02:01Z", "retries": 2, "deliver": obj{"url": "https://hooks.example/a", "secret": "shown to nobody"}}).ok()
	b.press("Refresh")
	b.sees("hooks.example")
	b.press("Change", "tidy")
	b.fill("prompt", "Tidy up well.")
	b.press("Save")
	b.said("Saved.")
	got := o.admin(http.MethodGet, "/tasks/tidy", nil).ok()
	if got.str("prompt") != "Tidy up well." || got.str("at") != "2036-05-04T03:02:01Z" || got.get("retries") != 2.0 || got.str("deliver", "secret") == "" {
		o.t.Errorf("%s", got.body)
	}
	b.press("Change", "tidy")
	b.fill("url", "https://hooks.example/b")
	b.press("Save")
	b.sees("deliver.secret is needed for a new url")
	b.fill("deliver", "chatId")
	b.fill("account", "fake/main")
	b.fill("target", "c-9")
	b.fill("threadId", "t-1")
	b.size(360, true)
	b.fits("the form of a task")
	b.picture("task-change")
	b.size(1280, false)
	b.fill("runs", "repeatedly")
	b.fill("schedule", "@every 1h")
	b.press("Save")
	b.said("Saved.")
	got = o.admin(http.MethodGet, "/tasks/tidy", nil).ok()
	if got.str("schedule") != "@every 1h" || got.get("at") != nil || got.str("deliver", "chatId") != "c-9" || got.str("deliver", "threadId") != "t-1" || got.get("deliver", "url") != nil {
		o.t.Errorf("%s", got.body)
	}
	b.clean("400")
}

// importSession brings back what was exported, once.
func (o *operated) importSession(b *tab) {
	o.t.Helper()
	turn := o.chat(obj{"userId": "exported", "text": "taken along"}).ok()
	export := o.do(request{method: http.MethodGet, path: "/admin/v1" + turn.session() + "/export?format=jsonl", token: adminToken}).ok()
	file := filepath.Join(o.t.TempDir(), "session.jsonl")
	if err := os.WriteFile(file, export.body, 0o600); err != nil {
		o.t.Fatal(err)
	}
	bring := func() {
		b.press("Import")
		b.do(chromedp.SetUploadFiles(chromedp.CSS("dialog[open] input[type=file]"), []string{file}))
		b.press("Import")
	}
	bring()
	b.sees("the session exists already")
	b.press("Cancel")
	o.admin(http.MethodDelete, turn.session(), nil).ok()
	bring()
	b.said("The session is imported.")
	b.sees("taken along")
	b.clean("409")
}

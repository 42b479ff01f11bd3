package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/signature"
	"github.com/chatkeep/chatkeep/models"
)

func (p *place) taskRuns(id string) []*models.TaskRun {
	p.t.Helper()
	return decode[page[*models.TaskRun]](p.t, p.must("task", "runs", "--json", id)).Items
}

// Every command, with and without --json, and what each says of a task that is not there.
func (p *place) taskCommands(id string) {
	t := p.t
	t.Helper()
	added := shown(t, p.must("task", "add", "--json", "--id", id, "--schedule", "0 9 * * 1-5", "--timezone", "Asia/Shanghai",
		"--channel", "api", "--account", "default", "--user", "lin", "--retries", "1", "--notify-after", "2", "--pause-after", "4",
		"--until", "2099-01-01T00:00:00+08:00", "--max-runs", "9", "--owner", "api/default/lin", "--grace", "1m", "--timeout", "5m", "--missed", "skip", "--session", "isolated",
		"sum up yesterday"))
	for name, want := range map[string]any{
		"id": id, "schedule": "0 9 * * 1-5", "timezone": "Asia/Shanghai", "retries": 1.0, "notifyAfter": 2.0, "pauseAfter": 4.0, "maxRuns": 9.0,
		"until": "2099-01-01T00:00:00+08:00", "grace": "1m0s", "timeout": "5m0s", "missed": "skip", "session": "isolated", "owner": "api/default/lin",
		"agent": "assistant", "paused": false, "prompt": "sum up yesterday", "lastRun": nil,
	} {
		if added[name] != want {
			t.Errorf("%s is %v, want %v", name, added[name], want)
		}
	}
	next, _ := added["nextRuns"].([]any)
	if len(next) != 5 || !strings.HasSuffix(fmt.Sprint(next[0]), "T09:00:00+08:00") {
		t.Errorf("next runs %v", next)
	}
	if text := p.must("task", "show", id); !strings.Contains(text, "09:00:00 +0800 Asia/Shanghai") || strings.Count(text, "\nnext ") != 5 {
		t.Errorf("show prints %q", text)
	}
	if got := shown(t, p.must("task", "show", "--json", id)); got["id"] != id {
		t.Errorf("show: %v", got)
	}
	list := decode[page[map[string]any]](t, p.must("task", "list", "--json", "--owner", "api/default/lin", "--limit", "500"))
	if text := p.must("task", "list"); len(list.Items) == 0 || !strings.Contains(text, id) {
		t.Errorf("lists are %v and %q", list, text)
	}
	if got := shown(t, p.must("task", "pause", "--json", id)); got["paused"] != true || got["nextRunAt"] != nil {
		t.Errorf("pause: %v", got)
	}
	if got := shown(t, p.must("task", "resume", "--json", id)); got["paused"] != false || got["nextRunAt"] == nil {
		t.Errorf("resume: %v", got)
	}
	p.must("task", "pause", id) // it runs all the same
	run := decode[*models.TaskRun](t, p.must("task", "run", "--json", id))
	if run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered || run.StartedAt == nil || run.FinishedAt == nil {
		t.Errorf("run: %+v", run)
	}
	if got := p.must("task", "run", id); got != "sum up yesterday\n" {
		t.Errorf("run prints %q", got)
	}
	if text := p.must("task", "runs", id); strings.Count(text, "done") != 2 || strings.Count(text, "delivered") != 2 {
		t.Errorf("runs prints %q", text)
	}
	if runs := p.taskRuns(id); len(runs) != 2 || runs[1].ID != run.ID {
		t.Errorf("runs: %+v", runs)
	}
	if got := shown(t, p.must("task", "show", "--json", id)); got["lastRun"] == nil {
		t.Errorf("last run: %v", got)
	}
	if got := p.must("task", "delete", id); got != "task deleted: "+id+"\n" {
		t.Errorf("delete prints %q", got)
	}
	for _, what := range []string{"show", "pause", "resume", "run", "runs", "delete"} {
		p.command("", "task", what, id).wants(t, exitFailed, "", "there is no task "+id)
	}
	chat := "agent:assistant:channel:any:scope:per_peer:api/default/lin"
	history := decode[page[*models.SessionMessage]](t, p.must("session", "history", "--json", chat)).Items
	if got := strings.Join(contents(history), "|"); got != "sum up yesterday|sum up yesterday" {
		t.Errorf("lin's history is %q", got)
	}
}

// shown reads a task.
func shown(t *testing.T, text string) map[string]any {
	t.Helper()
	return decode[map[string]any](t, text)
}

func TestTaskCommandsWithoutAServer(t *testing.T) { newPlace(t, "").taskCommands("standup") }

func TestTaskCommandsBesideAServer(t *testing.T) {
	p := newPlace(t, "")
	server, _ := p.serve()
	p.taskCommands("standup")
	server.signal(syscall.SIGTERM)
	if code := server.wait(); code != exitDone {
		t.Errorf("serve: exit %d: %s", code, server.err.String())
	}
}

func TestTaskAddRefuses(t *testing.T) {
	p := newPlace(t, "")
	at := []string{"task", "add", "--schedule", "@every 1h"}
	for want, args := range map[string][]string{
		"exactly one of schedule and at": {"task", "add", "x"}, "timezone": append(at, "--timezone", "Mars/Base", "x"),
		"needs 5 cron fields": {"task", "add", "--schedule", "0 9 * *", "x"}, "never comes": {"task", "add", "--schedule", "0 0 30 2 *", "x"},
		"its time has passed": {"task", "add", "--at", "2001-01-01T00:00:00Z", "x"}, "--at needs a time": {"task", "add", "--at", "tomorrow", "x"},
		"PROMPT is empty": append(at, " "), "0 to 10": append(at, "--retries", "11", "x"), "must not be negative": append(at, "--pause-after", "-1", "x"),
		"exactly one of chatId": append(at, "--channel", "api", "--account", "default", "x"), "unknown account": append(at, "--channel", "feishu", "--account", "main", "--chat", "oc", "x"),
		"begins with https": append(at, "--url", "file:///etc/passwd", "x"), "secret needs url": append(at, "--channel", "api", "--account", "default", "--user", "u", "--secret-file", p.config, "x"),
		"owner must be": append(at, "--owner", "somebody", "x"), "--owner config": append(at, "--owner", "config", "x"),
		"id needs": append(at, "--id", "a b", "x"), "terminal": append(at, "--channel", "cli", "--account", "cli", "--user", "u", "x"),
	} {
		r := p.command("", args...)
		if r.code != exitUsage || r.out != "" || !strings.Contains(r.err, want) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v: exit %d, err %q, want %q", args, r.code, r.err, want)
		}
	}
	p.must("task", "add", "--schedule", "@every 1h", "--id", "once", "x")
	p.command("", "task", "add", "--schedule", "@every 1h", "--id", "once", "x").wants(t, exitFailed, "", "choose another --id")
	p.command("", "task", "add", "--schedule", "@every 1h", "--agent", "nobody", "x").wants(t, exitFailed, "", "use one of: assistant")
	p.command("", "task", "runs", "once").wants(t, exitDone, "", "no runs")
}

// A run that is only put in line waits for a server, and goes on with one.
func TestTaskRunIsQueued(t *testing.T) {
	p := newPlace(t, "")
	p.must("task", "add", "--schedule", "0 0 1 1 *", "--id", "yearly", "x")
	if got := p.must("task", "run", "--queue", "yearly"); !strings.Contains(got, "waits for a running server") {
		t.Errorf("run prints %q", got)
	}
	p.command("", "task", "run", "--queue", "yearly").wants(t, exitFailed, "", "a run of task yearly is under way")
	if runs := p.taskRuns("yearly"); runs[0].State != models.RunScheduled || runs[0].StartedAt != nil {
		t.Errorf("run %+v", runs[0])
	}
	p.serve()
	waitFor(t, "the run", func() bool { return p.taskRuns("yearly")[0].State == models.RunDone })
}

// A run that is in line and that nobody works on is what the next command does.
func TestTaskRunGoesOnWithOneInLine(t *testing.T) {
	p := newPlace(t, "")
	p.must("task", "add", "--schedule", "0 0 1 1 *", "--id", "yearly", "x")
	p.must("task", "run", "--queue", "yearly")
	p.command("", "task", "run", "yearly").wants(t, exitDone, "x\n", "under way already")
	if runs := p.taskRuns("yearly"); len(runs) != 1 || runs[0].State != models.RunDone {
		t.Errorf("runs %+v", runs[0])
	}
}

// An interrupted run goes back into line, and on with the next command.
func TestTaskRunIsInterrupted(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Reply{Text: "never", Delay: patience}, agenttest.Say("done"))
	p := withModel(t, model)
	p.must("task", "add", "--schedule", "0 0 1 1 *", "--id", "yearly", "x")
	run := p.start(nil, "task", "run", "yearly")
	waitFor(t, "the model is asked", func() bool { return len(model.Requests()) == 1 })
	run.signal(os.Interrupt)
	if code := run.wait(); code != exitFailed || !strings.Contains(run.err.String(), "stays in line") {
		t.Errorf("exit %d: %s", code, run.err.String())
	}
	if runs := p.taskRuns("yearly"); runs[0].State != models.RunScheduled || runs[0].StartedAt == nil {
		t.Errorf("run %+v", runs[0])
	}
	p.command("", "task", "run", "yearly").wants(t, exitDone, "done\n", "under way already")
}

// A failed run says why, and exits as a failure; its answer is nowhere.
func TestTaskRunThatFails(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Reply{Status: 400}, agenttest.Reply{Status: 400})
	p := withModel(t, model)
	p.must("task", "add", "--schedule", "0 0 1 1 *", "--id", "yearly", "--retries", "0", "--channel", "api", "--account", "default", "--user", "lin", "x")
	r := p.command("", "task", "run", "yearly")
	if r.code != exitFailed || r.out != "" || strings.Count(r.err, "\n") != 1 {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
	r = p.command("", "task", "run", "--json", "yearly")
	if run := decode[*models.TaskRun](t, r.out); r.code != exitFailed || run.State != models.RunFailed || run.DeliveryState != models.RunDeliveryNone || run.Error == "" {
		t.Errorf("exit %d: %+v", r.code, run)
	}
}

// Without a server the command itself sends the answer, to any platform, group, person
// and thread, and does not receive as a server does. What the platform does not take is
// said, and kept with the run.
func TestTaskRunDelivers(t *testing.T) {
	feishu, err := feishutest.New(feishutest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer feishu.Close()
	feishu.AddChat("oc_team", feishutest.Group, "Team")
	first := feishu.Say(feishutest.Said{ChatID: "oc_team", From: "ou_lin", Text: "a topic"})
	feishu.Say(feishutest.Said{ChatID: "oc_team", From: "ou_lin", Text: "in it", ReplyTo: first, InThread: true})
	thread := ""
	for _, m := range feishu.Messages("oc_team") {
		thread = m.ThreadID
	}
	ding, err := dingtalktest.New(dingtalktest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ding.Close()
	ding.AddChat(dingtalktest.Chat{ID: "cidTeam==", Title: "Team", Group: true})
	ding.AddUser("lin", dingtalktest.User{StaffID: "emp1"})
	p := newPlace(t, fmt.Sprintf(`channels:
  feishu: [{account: main, appId: %q, appSecret: %q, baseUrl: %q}]
  dingtalk: [{account: main, clientId: %q, clientSecret: %q, baseUrl: %q, oapiBaseUrl: %q}]
`, feishutest.DefaultAppID, feishutest.DefaultAppSecret, feishu.URL(), ding.ClientID(), ding.ClientSecret(), ding.URL(), ding.URL()))
	run := func(id string, target ...string) *models.TaskRun {
		t.Helper()
		p.must(append(append([]string{"task", "add", "--schedule", "0 0 1 1 *", "--id", id, "--account", "main"}, target...), "said by "+id)...)
		r := p.command("", "task", "run", id)
		if r.out != "said by "+id+"\n" {
			t.Errorf("%s prints %q, %q", id, r.out, r.err)
		}
		return p.taskRuns(id)[0]
	}
	for id, target := range map[string][]string{
		"group":  {"--channel", "feishu", "--chat", "oc_team"},
		"thread": {"--channel", "feishu", "--chat", "oc_team", "--thread", thread},
		"person": {"--channel", "feishu", "--user", "ou_lin"},
		"ding":   {"--channel", "dingtalk", "--chat", "cidTeam=="},
		"staff":  {"--channel", "dingtalk", "--user", "emp1"},
	} {
		if r := run(id, target...); r.DeliveryState != models.RunDeliveryDelivered {
			t.Errorf("%s: %+v", id, r)
		}
	}
	seen := map[string]int{}
	for _, m := range feishu.FromBot() {
		seen[strings.TrimPrefix(m.Text, "said by ")+" in "+m.ChatID+" "+m.ThreadID]++
	}
	for _, m := range ding.Shown() {
		if m.User == "" {
			seen[strings.TrimPrefix(m.Text, "said by ")+" in "+m.ChatID]++
		}
	}
	for _, want := range []string{"group in oc_team ", "thread in oc_team " + thread, "ding in cidTeam=="} {
		if seen[want] != 1 {
			t.Errorf("%q is seen %d times", want, seen[want])
		}
	}
	if thread == "" || len(seen) != 5 {
		t.Errorf("people see %v", seen)
	}
	if feishu.Connections()+ding.Connections() != 0 {
		t.Error("the command connected as a server does")
	}
	if r := run("nowhere", "--channel", "feishu", "--chat", "oc_unknown"); r.State != models.RunDone || r.DeliveryState != models.RunDeliveryFailed || r.Error == "" {
		t.Errorf("to an unknown chat: %+v", r)
	}
}

// A URL of the configuration may be private and gets what its secret signs; one that
// comes from elsewhere may not. Tasks follow the configuration at SIGHUP.
func TestConfiguredTasksFollowTheFile(t *testing.T) {
	var mu sync.Mutex
	var posts []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		signed := "unsigned"
		if r.Header.Get(signature.Header) == signature.Sign("s3cret", r.Header.Get(signature.TimestampHeader), body) {
			signed = "signed"
		}
		var said struct{ TaskID, Text string }
		if err := json.Unmarshal(body, &said); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		posts = append(posts, said.TaskID+" "+said.Text+" "+signed)
	}))
	defer hook.Close()
	posted := func(what string) {
		t.Helper()
		waitFor(t, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(strings.Join(posts, "\n"), what)
		})
	}
	p := newPlace(t, "")
	secret := filepath.Join(p.dir, "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(p.config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(tasks string) {
		t.Helper()
		if err := os.WriteFile(p.config, append([]byte(nil), string(before)+tasks...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	server, _ := p.serve()
	p.command("", "task", "add", "--id", "stranger", "--schedule", "0 0 1 1 *", "--url", hook.URL, "--secret-file", secret, "sneak").
		wants(t, exitUsage, "", "egress.allowPrivate")
	p.must("task", "add", "--id", "stranger", "--schedule", "0 0 1 1 *", "--url", "https://hooks.example.com/", "sneak")

	every := func(id, prompt string) string {
		return fmt.Sprintf("  - {id: %s, schedule: '@every 1s', prompt: %s, retries: 0, maxRuns: 0, deliver: {url: %q, secretFile: %q}}\n", id, prompt, hook.URL, secret)
	}
	write("tasks:\n" + every("a", "one") + every("b", "two"))
	server.signal(syscall.SIGHUP)
	posted("a one signed")
	posted("b two signed")
	p.must("task", "pause", "b")
	write("tasks:\n" + every("a", "uno") + every("b", "dos"))
	server.signal(syscall.SIGHUP)
	posted("a uno signed")
	if b := shown(t, p.must("task", "show", "--json", "b")); b["paused"] != true || b["prompt"] != "dos" {
		t.Errorf("b is %v", b)
	}
	if text := p.must("task", "list", "--json"); strings.Contains(text, "s3cret") || !strings.Contains(text, models.Hidden) {
		t.Errorf("the secret is shown: %s", text)
	}
	// An agent that is new needs a restart, and so do its tasks; the others need none.
	write("agents: [{id: assistant, kind: echo}, {id: another, kind: echo}]\ntasks:\n" + every("b", "dos") +
		"  - {id: c, schedule: '@every 1h', prompt: x, agent: another}\n")
	server.signal(syscall.SIGHUP)
	server.err.await(t, "tasks of the configuration were not all taken over")
	waitFor(t, "a is gone", func() bool { return p.command("", "task", "show", "a").code == exitFailed })
	p.must("task", "show", "stranger") // it is not the configuration's
	server.signal(syscall.SIGTERM)
	if code := server.wait(); code != exitDone {
		t.Errorf("serve: exit %d: %s", code, server.err.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(posts, "\n"); strings.Contains(all, "unsigned") || strings.Contains(all, "sneak") {
		t.Errorf("posts:\n%s", all)
	}
}

// A model that is allowed to schedules for whoever asks, here at a terminal.
func TestTaskTool(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withTools(t, model, "task", "http://127.0.0.1:1/")
	use := func(arguments string) string {
		t.Helper()
		model.Script(agenttest.Call(agenttest.ReplyCall{ID: "1", Name: "task", Arguments: arguments}), agenttest.Say("ok"))
		p.ask("go on").wants(t, exitDone, "ok\n", "")
		requests := model.Requests()
		messages := requests[len(requests)-1].Messages
		return messages[len(messages)-1].Text()
	}
	got := use(`{"action":"add","when":"every weekday at 9:00","prompt":"sum up"}`)
	id, _, _ := strings.Cut(strings.TrimPrefix(got, "Task "), " ")
	task := shown(t, p.must("task", "show", "--json", id))
	if owner := fmt.Sprint(task["owner"]); !strings.HasPrefix(owner, "cli/cli/") || task["schedule"] != "0 9 * * 1-5" || task["deliver"] != nil {
		t.Errorf("task %v", task)
	}
	if list := use(`{"action":"list"}`); !strings.Contains(list, id) {
		t.Errorf("list %q", list)
	}
	for arguments, want := range map[string]string{
		`{"action":"add","when":"soon","prompt":"x"}`: "was not understood", `{"action":"run"}`: "schema", `{"action":"delete","id":"nothing"}`: "no task",
	} {
		if got := use(arguments); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
	if got := use(fmt.Sprintf(`{"action":"delete","id":%q}`, id)); !strings.Contains(got, "deleted") {
		t.Errorf("delete %q", got)
	}
	p.command("", "task", "show", id).wants(t, exitFailed, "", "there is no task")
}

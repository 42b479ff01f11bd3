package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// scheduled makes a task that is due at once, delivered to the group.
func (r *rig) scheduled(id string, change func(*models.Task)) *models.Task {
	r.t.Helper()
	t := r.gateway.NewTask("chat/main/lin")
	at := t.CreatedAt.Add(200 * time.Millisecond)
	t.ID, t.At, t.Timezone, t.Prompt, t.AgentID = id, &at, "Asia/Shanghai", "summarise "+id, "assistant"
	t.Deliver = &models.TaskTarget{Channel: "chat", Account: "main", ChatID: "group"}
	if change != nil {
		change(t)
	}
	if _, err := r.gateway.CreateTask(context.Background(), t); err != nil {
		r.t.Fatalf("create task: %v", err)
	}
	return t
}

// ran waits until the task's latest run has its outcome and returns it.
func (r *rig) ran(id string, n int) *models.TaskRun {
	r.t.Helper()
	var runs []*models.TaskRun
	r.until("task "+id+" ran", func() bool {
		var err error
		if runs, _, err = r.store.TaskRuns(context.Background(), store.TaskRunQuery{TaskID: id}); err != nil {
			r.t.Fatal(err)
		}
		return len(runs) >= n && runs[0].State.Final() && runs[0].DeliveryState != models.RunDeliveryPending
	})
	return runs[0]
}

func (r *rig) task(id string) *models.Task {
	r.t.Helper()
	t, err := r.store.Task(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

func TestTaskRunsOnTimeAndIsRemembered(t *testing.T) {
	r := newRig(t).start()
	task := r.scheduled("standup", nil)
	run := r.ran("standup", 1)
	if run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered {
		t.Fatalf("run is %s, delivery %s: %s", run.State, run.DeliveryState, run.Error)
	}
	if late := run.StartedAt.Sub(*task.At); late > time.Second {
		t.Errorf("it started %v late", late)
	}
	if want := "agent:assistant:channel:chat:scope:task:standup"; run.SessionKey != want {
		t.Errorf("session %s, want %s", run.SessionKey, want)
	}
	equal(t, "the group", r.platform.where(), "group/: re: summarise standup")
	r.say(said("m1", "lin", "what was that?"))
	r.ends("m1", models.InboundDone)
	equal(t, "history", r.history("m1"), "assistant re: summarise standup", "user what was that?", "assistant re: what was that?")
	if next := r.task("standup").NextRunAt; next != nil {
		t.Errorf("it comes again at %v", next)
	}
}

func TestSilentTaskSendsNothing(t *testing.T) {
	r := newRig(t)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer("  NO_REPLY\n"), nil })
	r.start()
	r.scheduled("check", nil)
	if run := r.ran("check", 1); run.State != models.RunDone || run.DeliveryState != models.RunDeliveryNone {
		t.Errorf("run is %s, delivery %s", run.State, run.DeliveryState)
	}
	equal(t, "the group", r.delivered())
}

func TestTaskFailuresGoToTheOwner(t *testing.T) {
	r := newRig(t)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errors.New("secret detail of the provider")}
	})
	r.start()
	r.scheduled("broken", func(t *models.Task) {
		t.At, t.Schedule, t.Retries, t.NotifyAfter, t.PauseAfter = nil, "@every 1s", 0, 2, 3
	})
	r.until("it is paused", func() bool { return r.task("broken").Paused })
	seen := r.delivered()
	if len(seen) != 2 || !strings.Contains(seen[0], "failed 2 times") || !strings.Contains(seen[1], "paused") || strings.Contains(strings.Join(seen, ""), "secret") {
		t.Errorf("people see %q", seen)
	}
	for _, where := range r.platform.where() {
		if strings.HasPrefix(where, "group/") {
			t.Errorf("the group was told: %s", where)
		}
	}
	if run := r.ran("broken", 3); run.State != models.RunFailed {
		t.Errorf("run is %s", run.State)
	}
}

func TestTaskIsRetriedWithinItsTimeout(t *testing.T) {
	r := newRig(t)
	var calls atomic.Int64
	r.mind.does(func(ctx context.Context, _ *agents.Request) (*agents.Response, error) {
		calls.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r.start()
	r.scheduled("slow", func(t *models.Task) { t.Timeout, t.NotifyAfter = 300*time.Millisecond, 0 })
	if run := r.ran("slow", 1); run.State != models.RunTimeout {
		t.Errorf("run is %s: %s", run.State, run.Error)
	}
	if calls.Load() != 1 {
		t.Errorf("the agent was asked %d times", calls.Load())
	}
}

func TestTaskOverlappingItselfIsSkipped(t *testing.T) {
	r := newRig(t).start()
	r.scheduled("long", func(t *models.Task) { t.At, t.Schedule, t.Prompt = nil, "@every 1s", hold })
	r.running(hold)
	var states []models.RunState
	r.until("two runs were skipped", func() bool {
		runs, _, err := r.store.TaskRuns(context.Background(), store.TaskRunQuery{TaskID: "long"})
		if err != nil {
			t.Fatal(err)
		}
		states = states[:0]
		for _, run := range runs {
			states = append(states, run.State)
		}
		return len(runs) >= 3
	})
	if last := states[len(states)-1]; last != models.RunRunning || states[0] != models.RunSkipped {
		t.Errorf("states %v", states)
	}
	if _, err := r.gateway.RunTask(context.Background(), "long"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("run by hand: %v", err)
	}
	if _, err := r.gateway.PauseTask(context.Background(), "long"); err != nil {
		t.Fatal(err)
	}
}

func TestTaskPostsToAURL(t *testing.T) {
	posted := make(chan string, 10)
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		posted <- string(body)
	}))
	defer server.Close()
	r := newRig(t)
	r.options = append(r.options, gateway.WithTaskHooks(server.Client()))
	r.start()
	r.scheduled("hook", func(t *models.Task) { t.Deliver = &models.TaskTarget{URL: server.URL + "/in"} })
	run := r.ran("hook", 1)
	if run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered || run.SessionKey != "agent:assistant:channel:task:scope:task:hook" {
		t.Fatalf("run %+v", run)
	}
	var body struct{ TaskID, Text string }
	if err := json.Unmarshal([]byte(<-posted), &body); err != nil || body.TaskID != "hook" || body.Text != "re: summarise hook" {
		t.Errorf("posted %+v, %v", body, err)
	}
}

func TestTaskToTheAPIChannelIsReadThere(t *testing.T) {
	r := newRig(t)
	r.known = func(channel string) bool { return channel == "api" }
	r.start()
	r.scheduled("report", func(t *models.Task) {
		t.Deliver = &models.TaskTarget{Channel: "api", Account: "main", UserID: "lin"}
		t.Session = models.TaskIsolated
	})
	if run := r.ran("report", 1); run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered || !strings.HasSuffix(run.SessionKey, "task:report/"+run.ID) {
		t.Fatalf("run %+v", run)
	}
	messages, err := r.store.Messages(context.Background(), "agent:assistant:channel:any:scope:per_peer:api/main/lin", models.DefaultSlot, 0, 10)
	if err != nil || len(messages) != 1 || messages[0].Content != "re: summarise report" {
		t.Errorf("the chat's history: %v, %v", messages, err)
	}
}

func TestTaskCommands(t *testing.T) {
	r := newRig(t)
	r.chat.Access.Admins = []string{"boss"}
	r.start()
	ask := func(id, user, text string) string {
		r.say(said(id, user, text))
		return r.ends(id, models.InboundDone).Reply.Content
	}
	added := ask("c1", "lin", `/task add "0 9 * * 1-5" sum up yesterday`)
	if !strings.Contains(added, "09:00:00") {
		t.Fatalf("answer %q", added)
	}
	id := strings.TrimSuffix(strings.Fields(added)[1], ".")
	task := r.task(id)
	if task.Owner != "chat/main/lin" || task.Deliver.ChatID != "group" || task.Prompt != "sum up yesterday" || task.Timezone != "UTC" {
		t.Errorf("task %+v", task)
	}
	if list := ask("c2", "bob", "/task list"); !strings.Contains(list, id) {
		t.Errorf("bob sees %q", list)
	}
	if no := ask("c3", "bob", "/task delete "+id); !strings.Contains(no, "somebody else") {
		t.Errorf("bob may delete: %q", no)
	}
	ask("c4", "lin", "/task pause "+id)
	if !r.task(id).Paused {
		t.Error("it is not paused")
	}
	ask("c5", "boss", "/task delete "+id)
	if _, err := r.store.Task(context.Background(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
	for i, text := range []string{"/task add", "/task add 60 9 * * 1 x", `/task add "TZ=0 9 * * *" x`, "/task add @every 1ms x", `/task add "0 0 30 2 *" x`} {
		ask(fmt.Sprint("bad", i), "lin", text)
	}
	if tasks, _, err := r.store.ListTasks(context.Background(), store.TaskQuery{}); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, %v", tasks, err)
	}
}

func TestTasksOfTheConfiguration(t *testing.T) {
	r := newRig(t)
	r.make()
	ctx := context.Background()
	build := func(id, spec string) *models.Task {
		task := r.gateway.NewTask(models.OwnerConfig)
		task.ID, task.Schedule, task.Timezone, task.Prompt, task.AgentID = id, spec, "Asia/Shanghai", "x", "assistant"
		return task
	}
	sync := func(tasks ...*models.Task) {
		if err := r.gateway.SyncTasks(ctx, tasks); err != nil {
			t.Fatal(err)
		}
	}
	sync(build("a", "@every 10m"), build("b", "0 9 * * *"))
	first := r.task("a")
	if _, err := r.gateway.PauseTask(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	sync(build("a", "@every 10m"), build("b", "0 10 * * *"))
	if again := r.task("a"); !again.NextRunAt.Equal(*first.NextRunAt) || again.Revision != first.Revision {
		t.Errorf("an unchanged task changed: %+v", again)
	}
	if b := r.task("b"); !b.Paused || b.Schedule != "0 10 * * *" {
		t.Errorf("b is %+v", b)
	}
	sync(build("a", "@every 10m"))
	if _, err := r.store.Task(ctx, "b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("b is there: %v", err)
	}
	bad := build("c", "@every 10m")
	bad.Deliver = &models.TaskTarget{Channel: "nowhere", Account: "main", ChatID: "x"}
	if err := r.gateway.SyncTasks(ctx, []*models.Task{bad}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("bad target: %v", err)
	}
}

// 200 tasks of the same second on two replicas, of which one stops in the middle.
func TestReplicasRunEachTimeOnce(t *testing.T) {
	const tasks, rounds = 200, 2
	dsn := testmysql.DSN(t)
	p := newPlatform()
	m := newMind()
	replica := func(name string) (*gateway.Gateway, store.Store, func()) {
		s, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.MySQL, DSN: dsn, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		g, err := gateway.New(gateway.Config{Owner: name, Lease: lease, Workers: 32}, gateway.Settings{
			Agents: map[string]gateway.Agent{"assistant": {ID: "assistant", Agent: m, Timeout: 30 * time.Second}},
			Chat: func(channel, account, _ string) (gateway.ChatSettings, bool) {
				return gateway.ChatSettings{Agent: "assistant"}, channel == "chat" && account == "main"
			},
			MaxMessages: 10, MaxTokens: 1000, Location: time.UTC,
		}, s, []adapters.Adapter{p}, clock.Real(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		return g, s, sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			_ = s.Close()
		})
	}
	for round := range rounds {
		g, s, stop := replica(fmt.Sprint("first", round))
		_, _, kill := replica(fmt.Sprint("second", round))
		at := time.Now().Add(8 * time.Second).Truncate(time.Second) // time to store them all
		for i := range tasks {
			task := g.NewTask("admin")
			task.ID, task.At, task.Timezone = fmt.Sprintf("t%d-%03d", round, i), &at, "Asia/Shanghai"
			task.Prompt, task.AgentID = task.ID, "assistant"
			task.Deliver = &models.TaskTarget{Channel: "chat", Account: "main", ChatID: task.ID}
			task.Grace = time.Minute
			if _, err := g.CreateTask(context.Background(), task); err != nil {
				t.Fatal(err)
			}
		}
		killed := false
		deadline := time.Now().Add(60 * time.Second)
		for left := tasks; left > 0; {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: %d runs are not over", round, left)
			}
			left = tasks
			for i := range tasks {
				runs, _, err := s.TaskRuns(context.Background(), store.TaskRunQuery{TaskID: fmt.Sprintf("t%d-%03d", round, i)})
				if err != nil {
					t.Fatal(err)
				}
				if len(runs) > 1 {
					t.Fatalf("%d runs of one time", len(runs))
				}
				if len(runs) == 1 && runs[0].State == models.RunDone && runs[0].DeliveryState == models.RunDeliveryDelivered {
					left--
				}
			}
			if !killed && left < tasks-20 {
				killed = true
				kill()
			}
		}
		kill()
		stop()
	}
	seen := map[string]int{}
	for _, line := range p.where() {
		seen[line]++
	}
	twice := 0
	for _, n := range seen {
		twice += n - 1
	}
	if len(seen) != tasks*rounds || twice != 0 {
		t.Errorf("%d answers were seen, %d more than once", len(seen), twice)
	}
}

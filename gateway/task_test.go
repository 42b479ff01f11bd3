package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
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
	t.Parallel()
	r := newRig(t).start()
	task := r.scheduled("standup", nil)
	run := r.ran("standup", 1)
	if run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered {
		t.Fatalf("run is %s, delivery %s: %s", run.State, run.DeliveryState, run.Error)
	}
	if late := run.StartedAt.Sub(*task.At); late < 0 || late > 20*time.Second {
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func TestTaskToTheAPIChannelIsReadThere(t *testing.T) {
	t.Parallel()
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

// How late runs start under light load: CHATKEEP_TEST_TASK_LATENCY is how many tasks,
// one every second.
func TestTaskLatency(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("CHATKEEP_TEST_TASK_LATENCY"))
	if n == 0 {
		n = 2
	}
	r := newRig(t).start()
	var late []time.Duration
	for i := range n {
		id := fmt.Sprint("t", i)
		task := r.scheduled(id, func(t *models.Task) {
			at := t.CreatedAt.Add(time.Second).Truncate(time.Second).Add(time.Duration(i%7) * 100 * time.Millisecond)
			t.At = &at
		})
		late = append(late, r.ran(id, 1).StartedAt.Sub(*task.At))
	}
	slices.Sort(late)
	t.Logf("%d runs start late by p50 %v, p90 %v, max %v", n, late[n/2], late[n*9/10], late[n-1])
	if late[n-1] > 20*time.Second {
		t.Errorf("a run started %v late", late[n-1])
	}
}

// A run has begun once a worker has it, not when it was put in line.
func TestTaskHasStartedOnceItRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Workers = 2 // tasks use one of them
	r.start()
	r.scheduled("first", func(t *models.Task) { t.Prompt = hold })
	r.running(hold)
	r.scheduled("second", nil)
	var waits *models.TaskRun
	r.until("the second is in line", func() bool {
		runs, _, err := r.store.TaskRuns(context.Background(), store.TaskRunQuery{TaskID: "second"})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) > 0 {
			waits = runs[0]
		}
		return waits != nil
	})
	if waits.State != models.RunScheduled || waits.StartedAt != nil {
		t.Errorf("it is %s since %v, though nobody has it", waits.State, waits.StartedAt)
	}
	r.say(said("m1", "lin", "are you there?")) // the other worker is for people
	r.ends("m1", models.InboundDone)
	r.mind.release()
	first, second := r.ran("first", 1), r.ran("second", 1)
	if second.StartedAt.Before(*first.FinishedAt) {
		t.Errorf("it started at %v, before %v", second.StartedAt, first.FinishedAt)
	}
}

// The time of a run goes on while no process works on it: one that comes back to it has
// what is left.
func TestTaskTimeoutSpansTheDeathOfAProcess(t *testing.T) {
	t.Parallel()
	for name, began := range map[string]struct {
		ago   time.Duration
		state models.RunState
	}{
		"over": {11 * time.Minute, models.RunTimeout},
		"left": {9 * time.Minute, models.RunDone},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.make()
			ctx := context.Background()
			r.scheduled("job", func(t *models.Task) { t.At, t.Schedule, t.Timeout = nil, "0 0 1 1 *", 10*time.Minute })
			run, err := r.gateway.RunTask(ctx, "job")
			if err != nil {
				t.Fatal(err)
			}
			// The process that had it dies: all that is left is when it began.
			if _, err := r.store.StartRun(ctx, run.ID, time.Now().Add(-began.ago)); err != nil {
				t.Fatal(err)
			}
			r.start()
			if got := r.ran("job", 1); got.State != began.state || got.State == models.RunTimeout && len(r.mind.asked()) > 0 {
				t.Errorf("run is %s: %s; asked %q", got.State, got.Error, r.mind.asked())
			}
		})
	}
}

// An agent without a timeout is not bounded.
func TestAgentWithoutTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent := r.settings.Agents["assistant"]
	agent.Timeout = 0
	r.settings.Agents["assistant"] = agent
	r.start()
	r.say(said("m1", "lin", "hello"))
	r.ends("m1", models.InboundDone)
	r.scheduled("standup", nil)
	if run := r.ran("standup", 1); run.State != models.RunDone {
		t.Errorf("run is %s: %s", run.State, run.Error)
	}
}

// Owners on the API channel find the notice in their own chat.
func TestTaskOwnerOnTheAPIChannelIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.known = func(channel string) bool { return channel == "api" }
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errors.New("secret detail of the provider")}
	})
	r.start()
	r.scheduled("report", func(t *models.Task) {
		t.Owner, t.Deliver, t.Retries = "api/main/lin", &models.TaskTarget{Channel: "api", Account: "main", ChatID: "team"}, 0
	})
	var messages []*models.SessionMessage
	r.until("lin was told", func() bool {
		var err error
		messages, err = r.store.Messages(context.Background(), "agent:assistant:channel:any:scope:per_peer:api/main/lin", models.DefaultSlot, 0, 10)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		return len(messages) > 0
	})
	if len(messages) != 1 || !strings.Contains(messages[0].Content, "report has failed. (E-") || strings.Contains(messages[0].Content, "secret") {
		t.Errorf("lin reads %q", messages[0].Content)
	}
	if _, err := r.store.Session(context.Background(), "agent:assistant:channel:any:scope:per_peer:api/main/group/team"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the chat was told: %v", err)
	}
}

// Tasks belong to people, not to a chat's memory: they outlive it. A run's own session
// goes with the run.
func TestTasksAndSessionsThatAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	ctx := context.Background()
	r.scheduled("job", func(t *models.Task) { t.At, t.Schedule, t.Session = nil, "0 0 1 1 *", models.TaskIsolated })
	r.say(said("m1", "lin", "hello"))
	chat := r.ends("m1", models.InboundDone).SessionKey
	if _, err := r.gateway.Delete(ctx, chat, false); err != nil {
		t.Fatal(err)
	}
	if _, err := r.gateway.RunTask(ctx, "job"); err != nil {
		t.Fatal(err)
	}
	run := r.ran("job", 1)
	if run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered {
		t.Fatalf("after its chat's memory was deleted the task's run is %s, %s", run.State, run.DeliveryState)
	}
	if messages, err := r.store.Messages(ctx, chat, models.DefaultSlot, 0, 10); err != nil || len(messages) != 1 {
		t.Errorf("the chat's new memory: %v, %v", messages, err)
	}
	if _, err := r.store.Session(ctx, run.SessionKey); err != nil {
		t.Errorf("the run's session: %v", err)
	}
	if err := r.gateway.DeleteTask(ctx, "job"); err != nil {
		t.Fatal(err)
	}
	r.until("the run's session is gone", func() bool {
		_, err := r.store.Session(ctx, run.SessionKey)
		return errors.Is(err, store.ErrNotFound)
	})
	r.until("nothing of the run is left to do", func() bool {
		left, err := r.store.ForgottenRuns(ctx, 10)
		return err == nil && len(left) == 0
	})
}

func TestTasksOfTheConfiguration(t *testing.T) {
	t.Parallel()
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
	if err := r.gateway.SyncTasks(ctx, []*models.Task{bad, build("d", "@every 10m")}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("bad target: %v", err)
	}
	if r.task("d").Owner != models.OwnerConfig { // one that is wrong does not keep the others back
		t.Error("d is not there")
	}
}

// What runs while its task is changed or taken out of the configuration goes on.
func TestTasksOfTheConfigurationChangeWhileTheyRun(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	ctx := context.Background()
	build := func(prompt string) *models.Task {
		task := r.gateway.NewTask(models.OwnerConfig)
		task.ID, task.Schedule, task.Timezone, task.Prompt, task.AgentID = "job", "0 0 1 1 *", "Asia/Shanghai", prompt, "assistant"
		task.Deliver = &models.TaskTarget{Channel: "chat", Account: "main", ChatID: "group"}
		return task
	}
	sync := func(tasks ...*models.Task) {
		t.Helper()
		if err := r.gateway.SyncTasks(ctx, tasks); err != nil {
			t.Fatal(err)
		}
	}
	sync(build(hold))
	if _, err := r.gateway.RunTask(ctx, "job"); err != nil {
		t.Fatal(err)
	}
	r.running(hold)
	sync(build("another prompt"))
	sync()
	r.mind.release()
	r.until("the run's answer is there", func() bool { return slices.Contains(r.platform.where(), "group/: re: "+hold) })
	if _, err := r.store.Task(ctx, "job"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the task is there: %v", err)
	}
}

// An account that is missing for a while, or on one replica, pauses nothing: the answer
// waits for it.
func TestTaskToAnAccountThatIsNotHere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := true
	r.known = func(string) bool { return known }
	r.make()
	r.scheduled("job", func(t *models.Task) {
		t.At, t.Schedule, t.Deliver = nil, "0 0 1 1 *", &models.TaskTarget{Channel: "mail", Account: "main", ChatID: "team"}
	})
	known = false
	r.start()
	if _, err := r.gateway.RunTask(context.Background(), "job"); err != nil {
		t.Fatal(err)
	}
	r.until("the answer waits", func() bool {
		d := r.deliveries()
		return len(d) == 1 && d[0].State == models.DeliveryPending && d[0].Error == "the account is not configured here"
	})
	if r.task("job").Paused {
		t.Error("it is paused")
	}
}

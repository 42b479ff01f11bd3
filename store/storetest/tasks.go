package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// NewTask makes a task of an owner that runs every hour.
func NewTask(id string, next, now time.Time) *models.Task {
	return &models.Task{
		ID: id, Schedule: "0 * * * *", Timezone: "Asia/Shanghai", Prompt: "总结 yesterday ☕", AgentID: "assistant",
		Session: models.TaskPersistent, Missed: models.MissedOnce, Grace: 15 * time.Second, Timeout: 10 * time.Minute,
		Deliver: &models.TaskTarget{Channel: "feishu", Account: "main", ChatID: "oc_1"},
		Retries: 2, NotifyAfter: 3, PauseAfter: 10, Owner: "feishu/main/ou_1", NextRunAt: &next, CreatedAt: now,
	}
}

// NewFiring makes the firing of what is due of a task.
func NewFiring(t *models.Task, next, now time.Time) *store.Firing {
	key := "agent:assistant:channel:feishu:scope:task:" + t.ID
	run := &models.TaskRun{ID: models.NewID("run"), TaskID: t.ID, ScheduledAt: *t.NextRunAt, SessionKey: key}
	message := NewMessage(key, now)
	message.DedupKeys = []string{"task\x00" + t.ID + "\x00" + t.NextRunAt.UTC().Format(time.RFC3339Nano)}
	message.Inbound.Awaited = true
	return &store.Firing{TaskID: t.ID, Due: *t.NextRunAt, Revision: t.Revision, Next: &next, Run: run, Message: message}
}

func taskTests() []test {
	return []test{
		{"AreStoredWhole", func(f *fixture) {
			until, at := f.at(48*time.Hour), f.at(time.Hour)
			task := NewTask(f.id("task"), f.at(time.Hour), f.now)
			task.Until, task.At, task.MaxRuns, task.Paused, task.Runs, task.Failures = &until, &at, 5, true, 2, 1
			task.Deliver = &models.TaskTarget{URL: "https://example.com/hook", Secret: "s3cret"}
			f.ok(f.CreateTask(f.ctx, task))
			got, err := f.Task(f.ctx, task.ID)
			f.ok(err)
			equal(f, "task", got, task)
			f.fails(f.CreateTask(f.ctx, task), store.ErrExists)
			_, err = f.Task(f.ctx, "nobody")
			f.fails(err, store.ErrNotFound)
			f.fails(f.CreateTask(f.ctx, NewTask("not a name", f.now, f.now)), store.ErrInvalid)
		}},
		{"AreChangedUnderTheirLock", func(f *fixture) {
			task := f.task(f.at(time.Hour))
			var group sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				group.Go(func() {
					_, errs[i] = f.ChangeTask(f.ctx, task.ID, func(t *models.Task) error {
						t.MaxRuns++
						return nil
					})
				})
			}
			group.Wait()
			f.ok(errors.Join(errs...))
			got, err := f.Task(f.ctx, task.ID)
			f.ok(err)
			equal(f, "maxRuns", got.MaxRuns, len(errs))
			equal(f, "revision", got.Revision, int64(len(errs)))
			refused := errors.New("refused")
			_, err = f.ChangeTask(f.ctx, task.ID, func(t *models.Task) error {
				t.Prompt = "gone"
				return refused
			})
			f.fails(err, refused)
			_, err = f.ChangeTask(f.ctx, "nobody", func(*models.Task) error { return nil })
			f.fails(err, store.ErrNotFound)
		}},
		{"ListByOwnerOrChat", func(f *fixture) {
			chats := []store.TaskChat{{Channel: "feishu", Account: "main", ChatID: "oc_a"}, {Channel: "feishu", Account: "main", UserID: "oc_a"}}
			var want []string
			for i := range 12 {
				task := NewTask(fmt.Sprintf("t%02d", i), f.at(time.Hour), f.at(time.Duration(i)*time.Second))
				task.Owner = []string{"feishu/main/ou_1", "feishu/main/ou_2", "config"}[i%3]
				chat := chats[i%2]
				task.Deliver = &models.TaskTarget{Channel: chat.Channel, Account: chat.Account, ChatID: chat.ChatID, UserID: chat.UserID}
				f.ok(f.CreateTask(f.ctx, task))
				if i%3 == 0 || i%2 == 0 {
					want = append([]string{task.ID}, want...)
				}
			}
			var got []string
			for cursor, more := "", true; more; more = cursor != "" {
				items, next, err := f.ListTasks(f.ctx, store.TaskQuery{Owner: "feishu/main/ou_1", Chat: &chats[0], Limit: 3, Cursor: cursor})
				f.ok(err)
				for _, t := range items {
					got = append(got, t.ID)
				}
				cursor = next
			}
			equal(f, "own tasks and those of the chat", got, want)
			all, _, err := f.ListTasks(f.ctx, store.TaskQuery{})
			f.ok(err)
			equal(f, "all", len(all), 12)
			_, _, err = f.ListTasks(f.ctx, store.TaskQuery{Cursor: "nonsense"})
			f.fails(err, store.ErrInvalid)
		}},
		{"AreDueInOrder", func(f *fixture) {
			late, now, later := f.task(f.at(-time.Hour)), f.task(f.now), f.task(f.at(time.Second))
			f.task(f.at(time.Hour))
			due, err := f.DueTasks(f.ctx, time.Time{}, f.at(time.Second), 10)
			f.ok(err)
			equal(f, "due", taskIDs(due), []string{late.ID, now.ID, later.ID})
			due, err = f.DueTasks(f.ctx, f.at(-time.Minute), f.now, 10)
			f.ok(err)
			equal(f, "due on time", taskIDs(due), []string{now.ID})
			_, err = f.ChangeTask(f.ctx, now.ID, func(t *models.Task) error {
				t.Paused, t.NextRunAt = true, nil
				return nil
			})
			f.ok(err)
			due, err = f.DueTasks(f.ctx, f.at(-time.Minute), f.now, 10)
			f.ok(err)
			equal(f, "due while paused", taskIDs(due), []string{})
		}},
		{"AreDeletedWithTheirRuns", func(f *fixture) {
			task := f.task(f.now)
			f.fire(NewFiring(task, f.at(time.Hour), f.now))
			f.ok(f.DeleteTask(f.ctx, task.ID))
			f.fails(f.DeleteTask(f.ctx, task.ID), store.ErrNotFound)
			_, _, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID})
			f.fails(err, store.ErrNotFound)
			f.ok(f.CreateTask(f.ctx, task))
			runs, _, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID})
			f.ok(err)
			equal(f, "runs of the new one", len(runs), 0)
			// The time was used under the same name: it is over, not repeated.
			fired := f.fire(NewFiring(task, f.at(time.Hour), f.now))
			equal(f, "fired", fired.Fired, true)
			equal(f, "run", fired.Run, nil)
		}},
		{"AreChangedByCommands", func(f *fixture) {
			task := NewTask(f.id("task"), f.at(time.Hour), f.now)
			f.ok(f.ChangeSession(f.ctx, "chat", func(tx store.SessionTx) error { return tx.CreateTask(task) }))
			rolledBack := errors.New("rolled back")
			f.fails(f.ChangeSession(f.ctx, "chat", func(tx store.SessionTx) error {
				if err := tx.DeleteTask(task.ID); err != nil {
					return err
				}
				return rolledBack
			}), rolledBack)
			f.ok(f.ChangeSession(f.ctx, "chat", func(tx store.SessionTx) error {
				mine, err := tx.Tasks(store.TaskQuery{Owner: task.Owner})
				if err != nil {
					return err
				}
				equal(f, "own tasks", taskIDs(mine), []string{task.ID})
				one, err := tx.Task(task.ID)
				if err != nil {
					return err
				}
				one.Prompt = "anew"
				return tx.UpdateTask(one)
			}))
			got, err := f.Task(f.ctx, task.ID)
			f.ok(err)
			equal(f, "prompt", got.Prompt, "anew")
			f.ok(f.ChangeSession(f.ctx, "chat", func(tx store.SessionTx) error { return tx.DeleteTask(task.ID) }))
			_, err = f.Task(f.ctx, task.ID)
			f.fails(err, store.ErrNotFound)
		}},
	}
}

func (f *fixture) task(next time.Time) *models.Task {
	f.Helper()
	task := NewTask(f.id("task"), next, f.now)
	f.ok(f.CreateTask(f.ctx, task))
	return task
}

func (f *fixture) reread(id string) *models.Task {
	f.Helper()
	task, err := f.Task(f.ctx, id)
	f.ok(err)
	return task
}

func (f *fixture) fire(x *store.Firing) *store.Fired {
	f.Helper()
	fired, err := f.Fire(f.ctx, x)
	f.ok(err)
	return fired
}

func (f *fixture) onlyRun(taskID string) *models.TaskRun {
	f.Helper()
	runs, _, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: taskID})
	f.ok(err)
	if len(runs) != 1 {
		f.Fatalf("task has %d runs, want 1", len(runs))
	}
	return runs[0]
}

func (f *fixture) ended() []*models.TaskRun {
	f.Helper()
	runs, err := f.EndedRuns(f.ctx, 100)
	f.ok(err)
	return runs
}

func (f *fixture) claimLanes(kind store.LaneKind) []store.Claim {
	f.Helper()
	c := claim()
	c.Lanes = kind
	claims, err := f.ClaimLanes(f.ctx, c, 10)
	f.ok(err)
	return claims
}

// failRun lets the turn of the one run that waits fail.
func (f *fixture) failRun(code models.ErrorCode, why string) {
	f.Helper()
	claims := f.claimLanes(store.TaskLanes)
	equal(f, "task lanes", len(claims), 1)
	turn, err := f.BeginTurn(f.ctx, claims[0], store.MergeRule{})
	f.ok(err)
	answer := NewAnswer(turn, "", f.now)
	answer.Messages, answer.Outcome = nil, store.Outcome{State: models.InboundFailed, Code: code, Error: why}
	_, err = f.CommitTurn(f.ctx, answer)
	f.ok(err)
}

// deliverAll sends everything that is due.
func (f *fixture) deliverAll() {
	f.Helper()
	claims, err := f.ClaimTargets(f.ctx, claim(), 10)
	f.ok(err)
	for _, c := range claims {
		next, err := f.NextDelivery(f.ctx, c, f.now)
		for err == nil && next != nil {
			next, err = f.FinishDelivery(f.ctx, c, store.DeliveryResult{
				ID: next.ID, State: models.DeliveryDelivered, PlatformMessageID: "pm-" + next.ID, CountAttempt: true, Now: f.now,
			})
		}
		f.ok(err)
	}
}

func taskIDs(tasks []*models.Task) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.ID
	}
	return out
}

func runStates(runs []*models.TaskRun) []models.RunState {
	out := make([]models.RunState, len(runs))
	for i, r := range runs {
		out[i] = r.State
	}
	return out
}

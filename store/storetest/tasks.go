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

func taskRunTests() []test {
	return []test{
		{"FireOnce", func(f *fixture) {
			task := f.task(f.now)
			const replicas = 8
			fired := make([]*store.Fired, replicas)
			errs := make([]error, replicas)
			var group sync.WaitGroup
			for i := range fired {
				group.Go(func() { fired[i], errs[i] = f.Fire(f.ctx, NewFiring(task, f.at(time.Hour), f.now)) })
			}
			group.Wait()
			f.ok(errors.Join(errs...))
			won := 0
			for _, x := range fired {
				if x.Fired {
					won++
				}
			}
			equal(f, "replicas that fired", won, 1)
			run := f.onlyRun(task.ID)
			equal(f, "state", run.State, models.RunScheduled)
			equal(f, "startedAt", run.StartedAt, nil)
			in, err := f.Inbound(f.ctx, run.InboundID)
			f.ok(err)
			equal(f, "message of the run", in.State, models.InboundReceived)
			got, err := f.Task(f.ctx, task.ID)
			f.ok(err)
			f.sameTime("next run", *got.NextRunAt, f.at(time.Hour))
			equal(f, "runs", got.Runs, 1)
		}},
		{"AnswerTheLane", func(f *fixture) {
			task := f.task(f.now)
			f.fire(NewFiring(task, f.at(time.Hour), f.now))
			people := f.claimLanes(store.PeopleLanes)
			equal(f, "people's lanes", len(people), 0)
			claims := f.claimLanes(store.TaskLanes)
			equal(f, "task lanes", len(claims), 1)
			turn, err := f.BeginTurn(f.ctx, claims[0], store.MergeRule{})
			f.ok(err)
			run := f.onlyRun(task.ID)
			equal(f, "state", run.State, models.RunRunning)
			began, err := f.StartRun(f.ctx, run.ID, f.at(time.Millisecond))
			f.ok(err)
			f.sameTime("began", began, f.at(time.Millisecond))
			again, err := f.StartRun(f.ctx, run.ID, f.at(time.Minute))
			f.ok(err)
			f.sameTime("began, asked again", again, began)
			_, err = f.StartRun(f.ctx, "nothing", f.now)
			f.fails(err, store.ErrNotFound)

			answer := NewAnswer(turn, "done", f.at(time.Second))
			answer.Outcome.Reply.Usage = models.Usage{PromptTokens: 30, CompletionTokens: 12}
			answer.Deliveries = NewParts(turn, "oc_1", 2, f.at(time.Second))
			answer.Remember = NewSession("agent:assistant:channel:any:scope:per_peer:feishu/main/group/oc_1", f.now)
			_, err = f.CommitTurn(f.ctx, answer)
			f.ok(err)
			run = f.onlyRun(task.ID)
			equal(f, "state", run.State, models.RunDone)
			equal(f, "tokens", run.Tokens, 42)
			equal(f, "delivery", run.DeliveryState, models.RunDeliveryPending)
			f.sameTime("finishedAt", *run.FinishedAt, f.at(time.Second))
			f.sameTime("startedAt", *run.StartedAt, began)
			equal(f, "ended while something is to be sent", len(f.ended()), 0)

			f.deliverAll()
			equal(f, "delivery", f.onlyRun(task.ID).DeliveryState, models.RunDeliveryDelivered)
			messages, err := f.Messages(f.ctx, answer.Remember.Key, models.DefaultSlot, 0, 10)
			f.ok(err)
			equal(f, "the chat's history", contents(messages), []string{"part 1", "part 2"})
			equal(f, "ended", len(f.ended()), 1)
		}},
		{"AreSkippedWhileOneIsUnderWay", func(f *fixture) {
			task := f.task(f.now)
			f.fire(NewFiring(task, f.at(time.Minute), f.now))
			task = f.reread(task.ID)
			fired := f.fire(NewFiring(task, f.at(2*time.Minute), f.at(time.Minute)))
			equal(f, "state", fired.Run.State, models.RunSkipped)
			manual := NewFiring(task, f.at(time.Hour), f.at(time.Minute))
			manual.Manual, manual.Run.ScheduledAt = true, f.at(90*time.Second)
			_, err := f.Fire(f.ctx, manual)
			f.fails(err, store.ErrConflict)
			runs, _, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID})
			f.ok(err)
			equal(f, "states", runStates(runs), []models.RunState{models.RunSkipped, models.RunScheduled})
		}},
		{"RecordWhatWasMissed", func(f *fixture) {
			task := f.task(f.at(-3 * time.Hour))
			firing := NewFiring(task, f.at(time.Hour), f.now)
			firing.Run.ScheduledAt = f.at(-time.Hour)
			firing.Missed = []time.Time{f.at(-3 * time.Hour), f.at(-2 * time.Hour)}
			f.fire(firing)
			runs, next, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID, Limit: 2})
			f.ok(err)
			equal(f, "states", runStates(runs), []models.RunState{models.RunScheduled, models.RunMissed})
			runs, _, err = f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID, Limit: 2, Cursor: next})
			f.ok(err)
			equal(f, "states", runStates(runs), []models.RunState{models.RunMissed})
			last, err := f.LastRuns(f.ctx, []string{task.ID, "nobody"})
			f.ok(err)
			equal(f, "last runs", len(last), 1)
			equal(f, "last run", last[task.ID].State, models.RunScheduled)
		}},
		{"DoNotStartIfTheTaskChanged", func(f *fixture) {
			task := f.task(f.now)
			_, err := f.ChangeTask(f.ctx, task.ID, func(t *models.Task) error {
				t.Prompt = "another"
				return nil
			})
			f.ok(err)
			equal(f, "fired", f.fire(NewFiring(task, f.at(time.Hour), f.now)).Fired, false)
			task = f.reread(task.ID)
			_, err = f.ChangeTask(f.ctx, task.ID, func(t *models.Task) error {
				t.Paused = true
				return nil
			})
			f.ok(err)
			equal(f, "fired while paused", f.fire(NewFiring(f.reread(task.ID), f.at(time.Hour), f.now)).Fired, false)
			manual := NewFiring(task, f.at(time.Hour), f.now)
			manual.Manual = true
			equal(f, "fired by hand", f.fire(manual).Fired, true)
		}},
		{"AreSettledOnce", func(f *fixture) {
			task := f.task(f.now)
			f.fire(NewFiring(task, f.at(time.Hour), f.now))
			f.failRun(models.CodeAgentTimeout, "too slow")
			ended := f.ended()
			equal(f, "ended", runStates(ended), []models.RunState{models.RunTimeout})
			remember := NewSession("agent:assistant:channel:any:scope:per_peer:feishu/main/ou_1", f.now)
			decide := func(t *models.Task) store.Verdict {
				t.Failures, t.Paused, t.NextRunAt = t.Failures+1, true, nil
				return store.Verdict{Deliveries: []*models.Delivery{NewDelivery("", "oc_owner", "it fails", f.now)}, Remember: remember}
			}
			settled, err := f.SettleRun(f.ctx, ended[0], decide)
			f.ok(err)
			equal(f, "settled", settled, true)
			settled, err = f.SettleRun(f.ctx, ended[0], decide)
			f.ok(err)
			equal(f, "settled again", settled, false)
			got := f.reread(task.ID)
			equal(f, "failures", got.Failures, 1)
			equal(f, "paused", got.Paused, true)
			equal(f, "next", got.NextRunAt, nil)
			pending, _, err := f.ListDeliveries(f.ctx, store.DeliveryQuery{State: models.DeliveryPending})
			f.ok(err)
			equal(f, "notices", len(pending), 1)
			equal(f, "ended", len(f.ended()), 0)
			f.deliverAll()
			messages, err := f.Messages(f.ctx, remember.Key, models.DefaultSlot, 0, 10)
			f.ok(err)
			equal(f, "the owner's history", contents(messages), []string{"it fails"})
			// What is left once the inbox was swept.
			_, err = f.Sweep(f.ctx, f.at(time.Hour), store.Retention{Inbound: time.Minute}, 100)
			f.ok(err)
			run := f.onlyRun(task.ID)
			equal(f, "state", run.State, models.RunTimeout)
			equal(f, "error", run.Error, "too slow")
		}},
		{"StartAnewWhenRetried", func(f *fixture) {
			task := f.task(f.now)
			f.fire(NewFiring(task, f.at(time.Hour), f.now))
			run := f.onlyRun(task.ID)
			_, err := f.StartRun(f.ctx, run.ID, f.now)
			f.ok(err)
			f.failRun(models.CodeAgentFailed, "no")
			settle := func() {
				f.Helper()
				_, err := f.SettleRun(f.ctx, f.ended()[0], func(*models.Task) store.Verdict { return store.Verdict{} })
				f.ok(err)
			}
			settle()
			f.ok(f.ChangeSession(f.ctx, run.SessionKey, func(tx store.SessionTx) error { return tx.Requeue(run.InboundID, f.at(time.Hour)) }))
			began, err := f.StartRun(f.ctx, run.ID, f.at(time.Hour))
			f.ok(err)
			f.sameTime("began", began, f.at(time.Hour))
			f.failRun(models.CodeAgentFailed, "again")
			settle()
			equal(f, "error", f.onlyRun(task.ID).Error, "again")
		}},
		{"ThatHadTheirOwnSessionAreForgottenLater", func(f *fixture) {
			task := f.task(f.now)
			firing := NewFiring(task, f.at(time.Hour), f.now)
			firing.Run.SessionKey += "/" + firing.Run.ID
			firing.Message.Inbound.SessionKey = firing.Run.SessionKey
			f.fire(firing)
			forgotten := func() []*models.TaskRun {
				f.Helper()
				runs, err := f.ForgottenRuns(f.ctx, 10)
				f.ok(err)
				return runs
			}
			f.ok(f.DeleteTask(f.ctx, task.ID))
			equal(f, "forgotten while it waits", len(forgotten()), 0)
			f.failRun(models.CodeAgentFailed, "no")
			equal(f, "to be settled", len(f.ended()), 0)
			runs := forgotten()
			if len(runs) != 1 || runs[0].SessionKey != firing.Run.SessionKey {
				f.Fatalf("forgotten runs are %+v", runs)
			}
			f.ok(f.CreateTask(f.ctx, task))
			all, _, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID})
			f.ok(err)
			equal(f, "runs of a new task of the name", len(all), 0)
			f.ok(f.ForgetRun(f.ctx, runs[0].ID))
			equal(f, "forgotten runs left", len(forgotten()), 0)
		}},
		{"HistoryIsBounded", func(f *fixture) {
			task := f.task(f.at(-time.Hour))
			firing := NewFiring(task, f.now, f.now)
			firing.Run, firing.Message = nil, nil
			for i := range store.RunsKept {
				firing.Missed = append(firing.Missed, f.at(-time.Hour-time.Duration(i)*time.Second))
			}
			f.fire(firing)
			f.fire(NewFiring(f.reread(task.ID), f.at(time.Hour), f.now))
			f.failRun(models.CodeAgentFailed, "no")
			_, err := f.SettleRun(f.ctx, f.ended()[0], func(*models.Task) store.Verdict { return store.Verdict{} })
			f.ok(err)
			runs, _, err := f.TaskRuns(f.ctx, store.TaskRunQuery{TaskID: task.ID, Limit: 1000})
			f.ok(err)
			equal(f, "runs", len(runs), store.RunsKept)
			equal(f, "newest", runs[0].State, models.RunFailed)
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

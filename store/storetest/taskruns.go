package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

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

package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// poll is how often what is due is looked for.
	poll = 250 * time.Millisecond
	// onTime is how late a task may be to go before those that catch up.
	onTime = 15 * time.Second
	// batch bounds the tasks that one look takes on time; more follow at once.
	batch = 500
	// catchUp bounds the late tasks that one look takes, and catchUpEvery spaces the
	// looks of the one replica that does so: after a long outage work comes back step by step.
	catchUp      = 10
	catchUpEvery = time.Second
	// firings is how many transactions run side by side.
	firings = 8
	// settleEvery is how often runs that ended are looked for, forgetEvery those that
	// left a session behind.
	settleEvery = 500 * time.Millisecond
	forgetEvery = 5 * time.Second
	// forgetBatch bounds the sessions that one look deletes.
	forgetBatch = 100
	// stepTimeout bounds one look and each firing.
	stepTimeout = 20 * time.Second
)

// Store is what a runner needs of the store.
type Store interface {
	DueTasks(ctx context.Context, after, until time.Time, limit int) ([]*models.Task, error)
	ListTasks(ctx context.Context, q store.TaskQuery) (items []*models.Task, nextCursor string, err error)
	ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*models.Task, error)
	Fire(ctx context.Context, f *store.Firing) (*store.Fired, error)
	EndedRuns(ctx context.Context, limit int) ([]*models.TaskRun, error)
	SettleRun(ctx context.Context, run *models.TaskRun, decide func(*models.Task) store.Verdict) (bool, error)
	ForgottenRuns(ctx context.Context, limit int) ([]*models.TaskRun, error)
}

// Work is what the owner of a runner knows of runs.
type Work interface {
	// Message makes the message of a run and names the run's session in it.
	Message(task *models.Task, run *models.TaskRun) (*store.AcceptRequest, error)
	// Started is told that runs wait for workers.
	Started()
	// Decide says what follows from a run that ended; see [store.Tasks].SettleRun.
	Decide(run *models.TaskRun) func(*models.Task) store.Verdict
	// Ran is told of a run that was started, or settled.
	Ran(run *models.TaskRun)
	// Settled is told that notices may wait to be sent.
	Settled()
	// Forget erases what a forgotten run left behind.
	Forget(ctx context.Context, run *models.TaskRun) error
}

// Runner fires tasks as they become due and settles runs that ended.
type Runner struct {
	store  Store
	work   Work
	clock  clock.Clock
	shared Now
	log    *slog.Logger
	wake   chan struct{}
}

// Now tells the time that all replicas share.
type Now func(ctx context.Context) (time.Time, error)

// NewRunner returns a runner that works during [Runner.Run] and [Runner.Lead]. Tasks come
// by the time that shared tells; if it is nil, by the clock's own.
func NewRunner(s Store, w Work, c clock.Clock, shared Now, log *slog.Logger) *Runner {
	return &Runner{store: s, work: w, clock: c, shared: shared, log: log, wake: make(chan struct{}, 1)}
}

// Nudge makes the runner look for what is due now.
func (r *Runner) Nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run starts what is due, on time, until ctx ends. Every replica may: the store lets one
// of them start each run, and none has to be waited for.
func (r *Runner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		now, ok := r.now(ctx)
		if ok && r.Fire(ctx, now, now.Add(-onTime), now, batch) == batch {
			continue
		}
		timer := r.clock.NewTimer(poll)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// now tells the time by which tasks come, without a monotonic reading: what the clocks
// on the wall show is what counts. ok is false if it is not known.
func (r *Runner) now(ctx context.Context) (now time.Time, ok bool) {
	if r.shared == nil {
		return r.clock.Now().Round(0), true
	}
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	now, err := r.shared(bounded)
	if err != nil && ctx.Err() == nil {
		r.log.Error("the time of tasks could not be read", "error", err)
	}
	return now.Round(0), err == nil
}

// Lead does what one replica has to do, until ctx ends: it catches up with what is late,
// settles runs that ended, and forgets those that are over.
func (r *Runner) Lead(ctx context.Context) {
	var before, caughtUp, forgot time.Time
	passed := func(since *time.Time, now time.Time, every time.Duration) bool {
		if now.Sub(*since) < every && !now.Before(*since) {
			return false
		}
		*since = now
		return true
	}
	for ; ctx.Err() == nil; _ = clock.Sleep(ctx, r.clock, settleEvery) {
		now, ok := r.now(ctx)
		if !ok {
			continue
		}
		if now.Before(before.Add(-setBack)) {
			r.log.Warn("the time was set back: next times are decided anew", "by", before.Sub(now))
			r.realign(ctx, now)
		}
		before = now
		if passed(&caughtUp, now, catchUpEvery) {
			r.Fire(ctx, now, time.Time{}, now.Add(-onTime), catchUp)
		}
		if passed(&forgot, now, forgetEvery) {
			r.forget(ctx)
		}
		for r.Settle(ctx) {
			continue
		}
	}
}

// Fire fires tasks that became due within (after, until], now being the time, and
// returns how many were due; zero if they could not be read.
func (r *Runner) Fire(ctx context.Context, now, after, until time.Time, limit int) int {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	due, err := r.store.DueTasks(bounded, after, until, limit)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Error("due tasks could not be read", "error", err)
		}
		return 0
	}
	slots := make(chan struct{}, firings)
	var group sync.WaitGroup
	failed := false
	var mu sync.Mutex
	for _, task := range due {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := r.fire(bounded, task, now); err != nil && ctx.Err() == nil {
				r.log.Error("task could not be started", "task", task.ID, "error", err)
				mu.Lock()
				failed = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(due) > 0 {
		r.work.Started()
	}
	if failed {
		return 0 // not at once again
	}
	return len(due)
}

func (r *Runner) fire(ctx context.Context, task *models.Task, now time.Time) error {
	plan, err := PlanOf(task, now)
	if err != nil {
		return r.setAside(ctx, task, err)
	}
	f := &store.Firing{TaskID: task.ID, Due: *task.NextRunAt, Revision: task.Revision, Next: plan.Next, Missed: plan.Missed}
	if !plan.Run.IsZero() {
		f.Run = &models.TaskRun{ID: models.NewID("run"), TaskID: task.ID, ScheduledAt: plan.Run.UTC()}
		if f.Message, err = r.work.Message(task, f.Run); err != nil {
			return r.setAside(ctx, task, err)
		}
	}
	fired, err := r.store.Fire(ctx, f)
	if err == nil && fired.Fired && fired.Run != nil {
		r.work.Ran(fired.Run)
	}
	return err
}

// setAside pauses a task that cannot run as it is: its zone or agent is gone, say.
func (r *Runner) setAside(ctx context.Context, task *models.Task, why error) error {
	_, err := r.store.ChangeTask(ctx, task.ID, func(t *models.Task) error {
		if t.Revision == task.Revision {
			t.Paused, t.NextRunAt = true, nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("paused: %w", why)
}

// Settle settles runs that ended and reports whether there may be more.
func (r *Runner) Settle(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	ended, err := r.store.EndedRuns(bounded, batch)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Error("ended runs could not be read", "error", err)
		}
		return false
	}
	for _, run := range ended {
		settled, err := r.store.SettleRun(bounded, run, r.work.Decide(run))
		if err != nil {
			if ctx.Err() == nil {
				r.log.Error("run could not be settled", "task", run.TaskID, "run", run.ID, "error", err)
			}
			return false
		}
		if settled {
			r.work.Ran(run)
		}
	}
	if len(ended) > 0 {
		r.work.Settled()
	}
	return len(ended) == batch
}

// forget erases what forgotten runs left behind.
func (r *Runner) forget(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	runs, err := r.store.ForgottenRuns(bounded, forgetBatch)
	for _, run := range runs {
		if err == nil {
			err = r.work.Forget(bounded, run)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.log.Error("sessions of forgotten runs could not be deleted", "error", err)
	}
}

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
	// looks: after a long outage work comes back step by step.
	catchUp      = 10
	catchUpEvery = time.Second
	// firings is how many transactions run side by side.
	firings = 8
	// settleEvery is how often runs that ended are looked for.
	settleEvery = 500 * time.Millisecond
	// stepTimeout bounds one look and each firing.
	stepTimeout = 20 * time.Second
)

// Store is what a runner needs of the store.
type Store interface {
	DueTasks(ctx context.Context, after, until time.Time, limit int) ([]*models.Task, error)
	ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*models.Task, error)
	Fire(ctx context.Context, f *store.Firing) (*store.Fired, error)
	EndedRuns(ctx context.Context, limit int) ([]*models.TaskRun, error)
	SettleRun(ctx context.Context, run *models.TaskRun, decide func(*models.Task) []*models.Delivery) (bool, error)
}

// Work is what the owner of a runner knows of runs.
type Work interface {
	// Message makes the message of a run and names the run's session in it.
	Message(task *models.Task, run *models.TaskRun) (*store.AcceptRequest, error)
	// Started is told that runs wait for workers.
	Started()
	// Decide says what follows from a run that ended; see [store.Tasks].SettleRun.
	Decide(run *models.TaskRun) func(*models.Task) []*models.Delivery
	// Settled is told that notices may wait to be sent.
	Settled()
}

// Runner fires tasks as they become due and settles runs that ended.
type Runner struct {
	store Store
	work  Work
	clock clock.Clock
	log   *slog.Logger
	wake  chan struct{}
}

// NewRunner returns a runner that works during [Runner.Run].
func NewRunner(s Store, w Work, c clock.Clock, log *slog.Logger) *Runner {
	return &Runner{store: s, work: w, clock: c, log: log, wake: make(chan struct{}, 1)}
}

// Nudge makes the runner look now.
func (r *Runner) Nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. Any number of replicas may run one each.
func (r *Runner) Run(ctx context.Context) {
	var settled, caughtUp time.Time
	for ctx.Err() == nil {
		now := r.clock.Now()
		more := r.Fire(ctx, now.Add(-onTime), now, batch) == batch
		if now.Sub(caughtUp) >= catchUpEvery || now.Before(caughtUp) {
			caughtUp = now
			r.Fire(ctx, time.Time{}, now.Add(-onTime), catchUp)
		}
		if now.Sub(settled) >= settleEvery || now.Before(settled) {
			settled = now
			more = r.Settle(ctx) || more
		}
		if more {
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

// Fire fires tasks that became due within (after, until] and returns how many were
// due; zero if they could not be read.
func (r *Runner) Fire(ctx context.Context, after, until time.Time, limit int) int {
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
			if err := r.fire(bounded, task); err != nil && ctx.Err() == nil {
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

func (r *Runner) fire(ctx context.Context, task *models.Task) error {
	now := r.clock.Now()
	plan, err := PlanOf(task, now)
	if err != nil {
		return r.setAside(ctx, task, err)
	}
	f := &store.Firing{TaskID: task.ID, Due: *task.NextRunAt, Revision: task.Revision, Next: plan.Next, Missed: plan.Missed}
	if !plan.Run.IsZero() {
		f.Run = &models.TaskRun{ID: models.NewID("run"), TaskID: task.ID, ScheduledAt: plan.Run.UTC(), StartedAt: &now}
		if f.Message, err = r.work.Message(task, f.Run); err != nil {
			return r.setAside(ctx, task, err)
		}
	}
	_, err = r.store.Fire(ctx, f)
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
		if _, err := r.store.SettleRun(bounded, run, r.work.Decide(run)); err != nil {
			if ctx.Err() == nil {
				r.log.Error("run could not be settled", "task", run.TaskID, "run", run.ID, "error", err)
			}
			return false
		}
	}
	if len(ended) > 0 {
		r.work.Settled()
	}
	return len(ended) == batch
}

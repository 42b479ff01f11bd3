package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// recordTimeout bounds reading and writing the records.
	recordTimeout = 10 * time.Second
	// retryAfter is the pause after the records could not be read.
	retryAfter = 2 * time.Second
)

// Store is what the jobs need of a store.
type Store interface {
	expiry
	store.Jobs
	store.Leases
}

// Config says who runs the jobs.
type Config struct {
	// Owner names the replica, unique per start; Lease is how long a dead one keeps a job.
	Owner string
	Lease time.Duration
	// Ran, if not nil, is told of each pass.
	Ran func(*store.JobRun)
}

// Runner runs the jobs: by their schedules during [Runner.Run], and when asked to.
type Runner struct {
	cfg      Config
	store    Store
	clock    clock.Clock
	log      *slog.Logger
	metrics  *telemetry.Metrics // nil: nothing is counted
	passTime time.Duration
	settings atomic.Pointer[Settings]
	jobs     []job
	reloaded map[string]chan struct{} // by job

	mu      sync.Mutex
	started map[string]time.Time // when each job last started, as far as known here
}

// New returns a runner of the jobs in their order: those that shorten slots, idle,
// archive, expire.
func New(cfg Config, s Settings, st Store, slots []SlotJob, c clock.Clock, m *telemetry.Metrics, log *slog.Logger) *Runner {
	r := &Runner{
		cfg: cfg, store: st, clock: c, log: log, metrics: m, passTime: passTime,
		reloaded: map[string]chan struct{}{}, started: map[string]time.Time{},
	}
	for _, slot := range slots {
		r.jobs = append(r.jobs, &slotJob{SlotJob: slot, log: log})
	}
	r.jobs = append(r.jobs, idleStep(st), archiveStep(st), newExpire(st))
	for _, j := range r.jobs {
		r.reloaded[j.name()] = make(chan struct{}, 1)
	}
	r.settings.Store(&s)
	return r
}

// Reload replaces the settings. A pass that runs ends with the old ones.
func (r *Runner) Reload(s Settings) {
	r.settings.Store(&s)
	for _, c := range r.reloaded {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Run runs the jobs by their schedules until ctx ends. One replica at a time may.
func (r *Runner) Run(ctx context.Context) {
	for {
		err := r.recall(ctx)
		if err == nil {
			break
		}
		if ctx.Err() == nil {
			r.log.Error("records of jobs could not be read", "error", err)
		}
		if clock.Sleep(ctx, r.clock, retryAfter) != nil {
			return
		}
	}
	var group sync.WaitGroup
	for _, j := range r.jobs {
		group.Go(func() { r.schedule(ctx, j) })
	}
	group.Wait()
}

// recall reads when each job last started, on whichever replica.
func (r *Runner) recall(ctx context.Context) error {
	runs, err := r.runs(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, run := range runs {
		r.started[name] = run.StartedAt
	}
	return nil
}

func (r *Runner) runs(ctx context.Context) (map[string]*store.JobRun, error) {
	bounded, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	runs, err := r.store.JobRuns(bounded)
	out := make(map[string]*store.JobRun, len(runs))
	for _, run := range runs {
		out[run.Job] = run
	}
	return out, err
}

// schedule runs one job whenever it is due.
func (r *Runner) schedule(ctx context.Context, j job) {
	for ctx.Err() == nil {
		r.mu.Lock()
		last := r.started[j.name()]
		r.mu.Unlock()
		if !r.wait(ctx, j, last) {
			continue
		}
		if _, err := r.run(ctx, j); err != nil && ctx.Err() == nil {
			r.log.Error("job could not be run", "job", j.name(), "error", err)
		}
	}
}

// wait returns true when a job that last started then is due, and false if that was
// changed, or ctx ended, before.
func (r *Runner) wait(ctx context.Context, j job, last time.Time) bool {
	var due <-chan time.Time // nil: never
	if at, ok := r.next(j, last); ok {
		timer := r.clock.NewTimer(at.Sub(r.clock.Now()))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		return true
	case <-r.reloaded[j.name()]:
	case <-ctx.Done():
	}
	return false
}

// next is when a job that last started then is due; false if it does not run by
// itself. One that never ran is due, and so is one whose time passed while nobody ran
// the jobs.
func (r *Runner) next(j job, last time.Time) (time.Time, bool) {
	s, now := r.settings.Load(), r.clock.Now()
	spec := s.Schedules[j.name()]
	if spec == "" || j.off(s) != "" {
		return time.Time{}, false
	}
	if last.IsZero() {
		return now, true
	}
	if last.After(now) { // the clock was set back
		last = now
	}
	at, err := nextTime(spec, last, s.Location)
	if err != nil || at.IsZero() {
		return time.Time{}, false
	}
	if at.Before(now) {
		at = now
	}
	return at, true
}

// Jobs returns all jobs with their last runs.
func (r *Runner) Jobs(ctx context.Context) ([]View, error) {
	runs, err := r.runs(ctx)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	s := r.settings.Load()
	out := make([]View, len(r.jobs))
	for i, j := range r.jobs {
		v := View{Name: j.name(), Schedule: s.Schedules[j.name()], Off: j.off(s)}
		var last time.Time
		if run := runs[j.name()]; run != nil {
			shown := runOf(run)
			v.LastRun, last = &shown, run.StartedAt
		}
		if at, ok := r.next(j, last); ok {
			at = at.UTC()
			v.NextRunAt = &at
		}
		out[i] = v
	}
	return out, nil
}

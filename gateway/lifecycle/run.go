package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/lease"
	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// passTime bounds a pass: what is left then is for the next one.
const passTime = 30 * time.Second

// errTimeUp is the cause of the end of a pass that took too long.
var errTimeUp = errors.New("lifecycle: time is up")

// RunNow runs a job at once, on this replica, and returns what it came to. A dry run
// changes nothing and leaves no record. [ErrUnknownJob], [ErrRunning].
func (r *Runner) RunNow(ctx context.Context, name string, dryRun bool) (*Report, error) {
	for _, j := range r.jobs {
		switch {
		case j.name() != name:
		case dryRun:
			return r.preview(ctx, j)
		default:
			return r.run(ctx, j)
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownJob, name)
}

func (r *Runner) preview(ctx context.Context, j job) (*Report, error) {
	s, began := r.settings.Load(), r.clock.Now()
	report := &Report{Name: j.name(), DryRun: true, Off: j.off(s)}
	t := &tally{}
	if report.Off == "" {
		bounded, cancel := context.WithTimeout(ctx, r.passTime)
		defer cancel()
		var err error
		if report.Sessions, report.More, err = j.preview(bounded, s, began, t); err != nil {
			return nil, fmt.Errorf("dry run of %s: %w", j.name(), err)
		}
	}
	run := &store.JobRun{StartedAt: began, FinishedAt: r.clock.Now()}
	t.record(run)
	report.Run = runOf(run)
	return report, nil
}

// run makes one pass of a job, unless another replica does just now.
func (r *Runner) run(ctx context.Context, j job) (*Report, error) {
	var report *Report
	held := lease.New(lease.Config{Name: "job." + j.name(), Owner: r.cfg.Owner + "." + models.NewID("run"), Time: r.cfg.Lease}, r.store, r.clock, r.log)
	r.mu.Lock()
	r.started[j.name()] = r.clock.Now() // whatever comes of it: not again at once
	r.mu.Unlock()
	done, err := held.Do(ctx, func(ctx context.Context) { report = r.pass(ctx, j) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", j.name(), err)
	case !done:
		return nil, fmt.Errorf("%w: %s", ErrRunning, j.name())
	}
	return report, nil
}

// pass makes one pass and its record.
func (r *Runner) pass(ctx context.Context, j job) *Report {
	s, now := r.settings.Load(), r.clock.Now()
	report := &Report{Name: j.name(), Off: j.off(s)}
	run := &store.JobRun{Job: j.name(), StartedAt: now}
	r.record(ctx, run)
	t := &tally{}
	if report.Off == "" {
		bounded, cancel := context.WithTimeoutCause(ctx, r.passTime, errTimeUp)
		err := r.safely(j, func() error { return j.pass(ctx, bounded, s, now, t) })
		switch {
		case ctx.Err() != nil:
			report.More, run.Error = true, "stopped before its end"
		case errors.Is(context.Cause(bounded), errTimeUp):
			report.More = true
		case err != nil:
			run.Error = oneLine(err.Error())
		}
		cancel()
	}
	t.record(run)
	run.FinishedAt = r.clock.Now()
	r.record(context.WithoutCancel(ctx), run)
	r.tell(report, run)
	report.Run = runOf(run)
	return report
}

func (r *Runner) record(ctx context.Context, run *store.JobRun) {
	bounded, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := r.store.SaveJobRun(bounded, run); err != nil {
		r.log.Warn("record of a job could not be written", "job", run.Job, "error", err)
	}
}

// tell counts a run and writes its line in the log.
func (r *Runner) tell(report *Report, run *store.JobRun) {
	took := run.FinishedAt.Sub(run.StartedAt)
	if r.cfg.Ran != nil {
		r.cfg.Ran(run)
	}
	r.metrics.JobRan(run.Job, took, run.Changed, run.Skipped, run.Error != "")
	level := slog.LevelDebug
	switch {
	case run.Error != "":
		level = slog.LevelError
	case run.Changed > 0 || report.More:
		level = slog.LevelInfo
	}
	r.log.Log(context.Background(), level, "job ran", "job", run.Job, "considered", run.Considered, "changed", run.Changed,
		"skipped", run.Skipped, "reasons", run.Reasons, "more", report.More, "took", took, "error", run.Error)
}

// safely contains a panic to the pass.
func (r *Runner) safely(j job, work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("job panicked", "job", j.name(), "panic", panics.Value(v))
			err = panics.Error(v)
		}
	}()
	return work()
}

func oneLine(s string) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
}

package schedule

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/internal/cronspec"
	"github.com/chatkeep/chatkeep/models"
)

// Times knows when a task runs.
type Times struct {
	task *models.Task
	loc  *time.Location
	spec *cronspec.Schedule // nil: once, at task.At
}

// NewTimes returns the times of a task; it fails if the task has none that can be
// understood. An empty zone is an error: every time has an explicit one.
func NewTimes(t *models.Task) (*Times, error) {
	if t.Timezone == "" {
		return nil, fmt.Errorf("timezone is empty")
	}
	loc, err := time.LoadLocation(t.Timezone)
	if err != nil {
		return nil, fmt.Errorf("timezone %q is not known: use an IANA name such as Asia/Shanghai", t.Timezone)
	}
	out := &Times{task: t, loc: loc}
	switch {
	case (t.Schedule == "") == (t.At == nil):
		return nil, fmt.Errorf("exactly one of schedule and at is needed")
	case t.At != nil:
		return out, nil
	}
	if out.spec, err = cronspec.Parse(t.Schedule, t.CreatedAt.Truncate(time.Second), loc); err != nil {
		return nil, fmt.Errorf("schedule %w", err)
	}
	return out, nil
}

// Next returns the first time after the given one, in the task's zone; zero if the
// task is over by then. It knows nothing of how many runs are left.
func (t *Times) Next(after time.Time) time.Time {
	var next time.Time
	switch {
	case t.spec != nil:
		next = t.spec.Next(after)
	case t.task.At.After(after):
		next = t.task.At.In(t.loc)
	}
	if next.IsZero() || t.task.Until != nil && next.After(*t.task.Until) {
		return time.Time{}
	}
	return next
}

// Upcoming returns the next n times, fewer if the task ends before.
func (t *Times) Upcoming(after time.Time, n int) []time.Time {
	if t.task.MaxRuns > 0 {
		n = min(n, t.task.MaxRuns-t.task.Runs)
	}
	var out []time.Time
	for at := t.Next(after); !at.IsZero() && len(out) < n; at = t.Next(at) {
		out = append(out, at)
	}
	return out
}

// First returns a task's next time from now on, as it is stored; nil if it is
// paused or over.
func First(task *models.Task, now time.Time) (*time.Time, error) {
	times, err := NewTimes(task)
	if err != nil || task.Paused {
		return nil, err
	}
	next := times.Upcoming(now, 1)
	if len(next) == 0 {
		return nil, nil
	}
	utc := next[0].UTC()
	return &utc, nil
}

// maxMissed bounds how many missed times one firing records.
const maxMissed = 100

// Plan is what is due of a task.
type Plan struct {
	// Run is the time that runs now; zero: none.
	Run time.Time
	// Missed passed unused, the earliest first; older ones than these are not recorded.
	Missed []time.Time
	// Next is the task's next time; nil: none.
	Next *time.Time
}

// PlanOf decides what becomes of the times of a task that have come by now. At most
// one runs: the newest, if it is not later than the grace or the task wants what it
// missed once.
func PlanOf(task *models.Task, now time.Time) (Plan, error) {
	times, err := NewTimes(task)
	if err != nil {
		return Plan{}, err
	}
	due := []time.Time{*task.NextRunAt}
	if t := times; t.spec != nil {
		until := now
		if task.Until != nil && task.Until.Before(now) {
			until = *task.Until
		}
		later := t.spec.Newest(*task.NextRunAt, until, maxMissed)
		if len(later) < maxMissed {
			later = append(due, later...)
		}
		due = later
	}
	var p Plan
	newest := due[len(due)-1]
	p.Missed = due[:len(due)-1]
	if now.Sub(newest) <= task.Grace || task.Missed == models.MissedOnce {
		p.Run = newest
	} else {
		p.Missed = due
	}
	left := 1
	if task.MaxRuns > 0 {
		left = task.MaxRuns - task.Runs
		if !p.Run.IsZero() {
			left--
		}
	}
	if next := times.Next(now); left > 0 && !next.IsZero() {
		utc := next.UTC()
		p.Next = &utc
	}
	return p, nil
}

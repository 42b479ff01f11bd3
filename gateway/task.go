package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// upcoming is how many next times of a task are shown.
const upcoming = 5

// TaskView is a task as it is shown: the JSON of the API.
type TaskView struct {
	*models.Task
	Grace   string `json:"grace"`
	Timeout string `json:"timeout"`
	// NextRuns are in the task's zone.
	NextRuns []time.Time     `json:"nextRuns"`
	LastRun  *models.TaskRun `json:"lastRun"`
}

// ViewTasks shows tasks with their next times and last runs.
func (g *Gateway) ViewTasks(ctx context.Context, tasks ...*models.Task) ([]TaskView, error) {
	out := make([]TaskView, len(tasks))
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	last, err := g.store.LastRuns(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, t := range tasks {
		out[i] = TaskView{Task: t, Grace: t.Grace.String(), Timeout: t.Timeout.String(), NextRuns: []time.Time{}, LastRun: last[t.ID]}
		if t.NextRunAt == nil {
			continue
		}
		if times, err := schedule.NewTimes(t); err == nil {
			out[i].NextRuns = append(out[i].NextRuns, times.Upcoming(t.NextRunAt.Add(-time.Nanosecond), upcoming)...)
		}
	}
	return out, nil
}

// Task returns a task as it is shown.
func (g *Gateway) Task(ctx context.Context, id string) (*TaskView, error) {
	t, err := g.store.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	views, err := g.ViewTasks(ctx, t)
	if err != nil {
		return nil, err
	}
	return &views[0], nil
}

// ListTasks returns a page of tasks as they are shown.
func (g *Gateway) ListTasks(ctx context.Context, q store.TaskQuery) ([]TaskView, string, error) {
	tasks, next, err := g.store.ListTasks(ctx, q)
	if err != nil {
		return nil, "", err
	}
	views, err := g.ViewTasks(ctx, tasks...)
	return views, next, err
}

// TaskRuns returns a page of a task's runs.
func (g *Gateway) TaskRuns(ctx context.Context, q store.TaskRunQuery) ([]*models.TaskRun, string, error) {
	return g.store.TaskRuns(ctx, q)
}

// NewTask returns a task with the defaults.
func (g *Gateway) NewTask(owner string) *models.Task {
	t := &models.Task{
		ID: models.NewID("task"), Session: models.TaskPersistent, Missed: models.MissedOnce,
		Grace: 15 * time.Second, Timeout: 10 * time.Minute, Retries: 2, NotifyAfter: 3, PauseAfter: 10,
		Owner: owner, CreatedAt: g.now().UTC().Truncate(time.Millisecond),
	}
	t.Timezone = schedule.ZoneName(g.settings.Load().Location)
	return t
}

// CreateTask checks a task and stores it. Its target is fixed from here on.
func (g *Gateway) CreateTask(ctx context.Context, t *models.Task) (*TaskView, error) {
	if err := g.PrepareTask(t); err != nil {
		return nil, err
	}
	if err := g.store.CreateTask(ctx, t); err != nil {
		return nil, err
	}
	g.tasks.Nudge()
	return g.Task(ctx, t.ID)
}

// ChangeTask changes a task that must be valid afterwards. Its next time is
// decided anew if what decides it changed.
func (g *Gateway) ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*TaskView, error) {
	_, err := g.store.ChangeTask(ctx, id, func(t *models.Task) error {
		before := t.Clone()
		if err := change(t); err != nil {
			return err
		}
		g.nameZone(t)
		err := g.checkTask(t)
		if err == nil && t.Owner != before.Owner {
			err = g.checkTaskOwner(t.Owner)
		}
		if err == nil && hookURL(t) != hookURL(before) {
			err = g.checkTaskURL(t)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		if sameTimes(before, t) {
			return nil
		}
		if t.At != nil && !t.At.After(g.now()) && !sameMoment(before.At, t.At) {
			return fmt.Errorf("%w: %w", store.ErrInvalid, schedule.ErrPast)
		}
		t.NextRunAt, err = schedule.First(t, g.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	g.tasks.Nudge()
	return g.Task(ctx, id)
}

func sameTimes(a, b *models.Task) bool {
	return a.Schedule == b.Schedule && a.Timezone == b.Timezone && a.Paused == b.Paused && a.MaxRuns == b.MaxRuns &&
		sameMoment(a.At, b.At) && sameMoment(a.Until, b.Until)
}

func sameMoment(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// PauseTask stops a task from starting runs; what runs goes on.
func (g *Gateway) PauseTask(ctx context.Context, id string) (*TaskView, error) {
	return g.ChangeTask(ctx, id, func(t *models.Task) error {
		t.Paused = true
		return nil
	})
}

// ResumeTask lets a paused task go on with its next time; earlier ones are over.
func (g *Gateway) ResumeTask(ctx context.Context, id string) (*TaskView, error) {
	return g.ChangeTask(ctx, id, func(t *models.Task) error {
		t.Paused, t.Failures = false, 0
		return nil
	})
}

// DeleteTask forgets a task and its runs. A run that has begun ends as it would have.
func (g *Gateway) DeleteTask(ctx context.Context, id string) error {
	return g.store.DeleteTask(ctx, id)
}

// RunTask starts a run now, besides the schedule; a paused task runs too. While a
// run is under way it is [store.ErrConflict].
func (g *Gateway) RunTask(ctx context.Context, id string) (*models.TaskRun, error) {
	t, err := g.store.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	now := g.now()
	run := &models.TaskRun{ID: models.NewID("run"), TaskID: id, ScheduledAt: now.UTC().Truncate(time.Microsecond)}
	message, err := taskWork{g}.message(t, run, tracing.Carried(ctx))
	if err != nil {
		return nil, fmt.Errorf("run task: %w", err)
	}
	fired, err := g.store.Fire(ctx, &store.Firing{TaskID: id, Manual: true, Run: run, Message: message})
	if err != nil {
		return nil, fmt.Errorf("run task: %w", err)
	}
	if fired.Run == nil {
		return nil, fmt.Errorf("run task: a run of this moment is there: %w", store.ErrConflict)
	}
	g.announceRun(fired.Run)
	g.pool.Nudge()
	return fired.Run, nil
}

package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
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

// PrepareTask checks a task and sets its next time. What can never run is [store.ErrInvalid].
func (g *Gateway) PrepareTask(t *models.Task) error {
	if err := cmp.Or(g.checkTask(t), g.checkTaskOwner(t.Owner)); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	next, err := schedule.First(t, g.now())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	case next == nil && !t.Paused && t.Owner != models.OwnerConfig:
		return fmt.Errorf("%w: %w", store.ErrInvalid, schedule.ErrPast)
	}
	t.NextRunAt = next
	return nil
}

func (g *Gateway) checkTask(t *models.Task) error {
	s := g.settings.Load()
	switch _, known := s.Agents[t.AgentID]; {
	case !models.ValidName(t.ID):
		return errors.New("id needs 1 to 64 letters, digits, dots, dashes or underscores")
	case strings.TrimSpace(t.Prompt) == "":
		return errors.New("prompt is needed")
	case len(t.Prompt) > models.MaxPrompt:
		return fmt.Errorf("prompt is longer than %d bytes", models.MaxPrompt)
	case !known && s.Agents != nil:
		return fmt.Errorf("agent %q is not configured", t.AgentID)
	case t.Session != models.TaskPersistent && t.Session != models.TaskIsolated:
		return errors.New("session must be persistent or isolated")
	case t.Missed != models.MissedOnce && t.Missed != models.MissedSkip:
		return errors.New("missed must be once or skip")
	case t.Grace < 0 || t.Grace > models.MaxTaskSpan:
		return errors.New("grace must be 0s to 24h")
	case t.Timeout < 0 || t.Timeout > models.MaxTaskSpan:
		return errors.New("timeout must be 0s to 24h")
	case t.Retries < 0 || t.Retries > models.MaxTaskRetries:
		return fmt.Errorf("retries must be 0 to %d", models.MaxTaskRetries)
	case t.NotifyAfter < 0 || t.PauseAfter < 0 || t.MaxRuns < 0:
		return errors.New("notifyAfter, pauseAfter and maxRuns must not be negative")
	}
	if err := g.checkTaskTarget(t.Deliver); err != nil {
		return err
	}
	_, err := schedule.NewTimes(t)
	return err
}

// checkTaskOwner checks who is told of failures: a person of a configured account, or
// none.
func (g *Gateway) checkTaskOwner(owner string) error {
	if owner == models.OwnerConfig || owner == models.OwnerAdmin {
		return nil
	}
	channel, account, userID, ok := splitOwner(owner)
	if ok && userID != "" && len(userID) <= models.MaxForeignID {
		_, ok = g.settings.Load().Chat(channel, account, "")
	}
	if !ok {
		return errors.New("owner must be admin, or a person as channel/account/userId")
	}
	return nil
}

func (g *Gateway) checkTaskTarget(d *models.TaskTarget) error {
	if d == nil {
		return nil
	}
	given := 0
	for _, v := range []string{d.ChatID, d.UserID, d.URL} {
		if v != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("deliver needs exactly one of chatId, userId and url")
	case d.ThreadID != "" && d.ChatID == "":
		return errors.New("deliver.threadId needs chatId")
	case d.URL == "" && d.Secret != "":
		return errors.New("deliver.secret needs url")
	case d.URL == "" && d.Channel == key.ChannelCLI:
		return errors.New("deliver: nothing can be sent to a terminal")
	case d.URL == "":
		_, err := g.chatSession(d.Channel, d.Account, (&runTarget{ChatID: d.ChatID, UserID: d.UserID, ThreadID: d.ThreadID, Direct: d.UserID != ""}).model())
		if err != nil {
			return fmt.Errorf("deliver: %w", err)
		}
		return nil
	case d.Channel != "" || d.Account != "":
		return errors.New("deliver.url stands alone")
	case len(d.Secret) > models.MaxSecret:
		return fmt.Errorf("deliver.secret is longer than %d bytes", models.MaxSecret)
	}
	u, err := url.Parse(d.URL)
	if err != nil || len(d.URL) > models.MaxURL || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.User != nil {
		return errors.New("deliver.url needs a URL that begins with https:// or http://, without a password")
	}
	return nil
}

// ChangeTask changes a task that must be valid afterwards. Its next time is
// decided anew if what decides it changed.
func (g *Gateway) ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*TaskView, error) {
	_, err := g.store.ChangeTask(ctx, id, func(t *models.Task) error {
		before := t.Clone()
		if err := change(t); err != nil {
			return err
		}
		err := g.checkTask(t)
		if err == nil && t.Owner != before.Owner {
			err = g.checkTaskOwner(t.Owner)
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
	run := &models.TaskRun{ID: models.NewID("run"), TaskID: id, ScheduledAt: now.UTC().Truncate(time.Microsecond), StartedAt: &now}
	message, err := taskWork{g}.Message(t, run)
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
	g.pool.Nudge()
	return fired.Run, nil
}

// SyncTasks makes the stored tasks of the configuration what the configuration says:
// it owns their ids. Those that it does not name any more are deleted. What people
// did to one (pause) and when it was first seen stay, and what runs goes on. One that
// cannot be does not keep the others from it.
func (g *Gateway) SyncTasks(ctx context.Context, tasks []*models.Task) error {
	defer g.tasks.Nudge()
	named := make(map[string]bool, len(tasks))
	var failed []error
	for _, t := range tasks {
		named[t.ID], t.Owner = true, models.OwnerConfig
		if err := g.syncTask(ctx, t); err != nil {
			failed = append(failed, fmt.Errorf("task %s: %w", t.ID, err))
		}
	}
	var gone []string
	for cursor, more := "", true; more; more = cursor != "" {
		stored, next, err := g.store.ListTasks(ctx, store.TaskQuery{Owner: models.OwnerConfig, Cursor: cursor})
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, t := range stored {
			if !named[t.ID] {
				gone = append(gone, t.ID)
			}
		}
		cursor = next
	}
	for _, id := range gone {
		if err := g.store.DeleteTask(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			failed = append(failed, fmt.Errorf("task %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

func (g *Gateway) syncTask(ctx context.Context, t *models.Task) error {
	if err := g.PrepareTask(t); err != nil {
		return err
	}
	err := g.store.CreateTask(ctx, t)
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	stored, err := g.store.Task(ctx, t.ID)
	if err != nil {
		return err
	}
	if sameTask(stored, t) {
		return nil
	}
	_, err = g.ChangeTask(ctx, t.ID, func(now *models.Task) error {
		keep := now.Clone()
		*now = *t.Clone()
		now.CreatedAt, now.Paused, now.Failures, now.Runs, now.Revision, now.NextRunAt =
			keep.CreatedAt, keep.Paused, keep.Failures, keep.Runs, keep.Revision, keep.NextRunAt
		return nil
	})
	return err
}

// sameTask reports whether two tasks are defined alike, whatever became of them since.
func sameTask(a, b *models.Task) bool {
	x, y := a.Clone(), b.Clone()
	x.Paused = y.Paused
	target := func(t *models.Task) models.TaskTarget {
		if t.Deliver == nil {
			return models.TaskTarget{}
		}
		return *t.Deliver
	}
	return sameTimes(x, y) && target(x) == target(y) && x.Prompt == y.Prompt && x.AgentID == y.AgentID && x.Session == y.Session &&
		x.Missed == y.Missed && x.Grace == y.Grace && x.Timeout == y.Timeout && x.Retries == y.Retries &&
		x.NotifyAfter == y.NotifyAfter && x.PauseAfter == y.PauseAfter && x.Owner == y.Owner
}

package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

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

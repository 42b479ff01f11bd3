package schedule

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// setBack is how far the time must go back for next times to be decided anew.
	setBack = time.Minute
	// realignPage bounds the tasks that are read at once for it.
	realignPage = 500
)

// realign decides next times anew that were decided while the time was ahead: they would
// not come for as long as it was. Times that ran then do not run again.
func (r *Runner) realign(ctx context.Context, now time.Time) {
	cursor := ""
	for {
		tasks, next, err := r.store.ListTasks(ctx, store.TaskQuery{Limit: realignPage, Cursor: cursor})
		if err != nil {
			r.log.Error("tasks could not be realigned", "error", err)
			return
		}
		for _, t := range tasks {
			if !early(t, now) {
				continue
			}
			_, err := r.store.ChangeTask(ctx, t.ID, func(t *models.Task) (err error) {
				if early(t, now) {
					t.NextRunAt, err = First(t, now)
				}
				return err
			})
			if err != nil && ctx.Err() == nil {
				r.log.Error("task could not be realigned", "task", t.ID, "error", err)
			}
		}
		if cursor = next; cursor == "" {
			return
		}
	}
}

// early reports whether a task has a time before its next one.
func early(t *models.Task, now time.Time) bool {
	first, err := First(t, now)
	return err == nil && first != nil && t.NextRunAt != nil && first.Before(*t.NextRunAt)
}

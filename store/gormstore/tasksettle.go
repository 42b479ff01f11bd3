package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// What is still to be done about a run, in the column unsettled.
const (
	settledRun = 0
	openRun    = 1 // it has not ended, or what became of it is not kept yet
	// forgottenRun has a session of its own that is to be deleted. It is no task's any
	// more: its own id stands in the place of the task's.
	forgottenRun = 2
)

// ownSession selects runs that had a session to themselves: its key names them.
const ownSession = "inbound_id <> '' AND INSTR(session_key, id) > 0"

// StartRun marks that a run has begun.
func (s *Store) StartRun(ctx context.Context, runID string, now time.Time) (time.Time, error) {
	started := now
	err := s.autocommit(ctx, "start run", func(t *tx) error {
		if _, err := t.exec("UPDATE task_runs SET started_at = ?, unsettled = ? WHERE id = ? AND (started_at IS NULL OR unsettled = ?)",
			micros(now), openRun, runID, settledRun); err != nil {
			return err
		}
		var at int64
		n, err := t.find(&at, "SELECT started_at FROM task_runs WHERE id = ?", runID)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		started = fromMicros(at)
		return err
	})
	return started, err
}

// EndedRuns returns runs that are to be settled. It looks at the runs under way and
// no others.
func (s *Store) EndedRuns(ctx context.Context, limit int) ([]*models.TaskRun, error) {
	return s.overRuns(ctx, "ended runs", openRun, limit)
}

// ForgottenRuns returns runs whose sessions are to be deleted.
func (s *Store) ForgottenRuns(ctx context.Context, limit int) ([]*models.TaskRun, error) {
	return s.overRuns(ctx, "forgotten runs", forgottenRun, limit)
}

// overRuns returns runs of a kind whose turn and deliveries have ended.
func (s *Store) overRuns(ctx context.Context, op string, unsettled, limit int) ([]*models.TaskRun, error) {
	var runs []*models.TaskRun
	err := s.read(ctx, op, func(t *tx) (err error) {
		runs, err = findRuns(t, `r.unsettled = ? AND (i.id IS NULL OR i.queued <> ?) AND NOT EXISTS
			(SELECT 1 FROM deliveries d WHERE d.inbound_id = r.inbound_id AND d.state IN ('pending', 'sending'))`, " LIMIT ?",
			unsettled, inLane, min(limit, maxPage))
		return err
	})
	return runs, err
}

// SettleRun keeps what became of a run and lets decide act on the task.
func (s *Store) SettleRun(ctx context.Context, run *models.TaskRun, decide func(*models.Task) store.Verdict) (bool, error) {
	var settled bool
	err := s.write(ctx, "settle run", func(t *tx) error {
		task, err := findTask(t, run.TaskID, "{lock}")
		if errors.Is(err, store.ErrNotFound) {
			settled = false
			return forgetRuns(t, "task_id = ?", run.TaskID)
		}
		if err != nil {
			return err
		}
		n, err := t.exec(`UPDATE task_runs SET unsettled = ?, state = ?, delivery_state = ?, finished_at = ?, error = ?, tokens = ? WHERE id = ? AND unsettled = ?`,
			settledRun, string(run.State), string(run.DeliveryState), nullTime(run.FinishedAt), clip(run.Error), run.Tokens, run.ID, openRun)
		if settled = n > 0; err != nil || !settled {
			settled = settled || t.again
			return err
		}
		if err := s.carryOut(t, task, decide(task)); err != nil {
			return err
		}
		return boundRuns(t, run.TaskID)
	})
	return settled, err
}

// carryOut stores what follows from the end of a run of the locked task.
func (s *Store) carryOut(t *tx, task *models.Task, v store.Verdict) error {
	var c checks
	if c.deliveries(v.Deliveries); v.Remember != nil {
		c.session(v.Remember)
	}
	if c.err != nil {
		return c.err
	}
	if _, err := t.exec("UPDATE tasks SET failures = ?, paused = ?, next_run_at = ? WHERE id = ?",
		task.Failures, bit(task.Paused), nullTime(task.NextRunAt), task.ID); err != nil {
		return err
	}
	if _, err := s.insertDeliveries(t, v.Deliveries, nil, nil); err != nil {
		return err
	}
	return rememberOnDelivery(t, v.Deliveries, v.Remember)
}

// boundRuns cuts a task's history.
func boundRuns(t *tx, taskID string) error {
	var oldest []int64
	n, err := t.find(&oldest, "SELECT scheduled_at FROM task_runs WHERE task_id = ? ORDER BY scheduled_at DESC LIMIT 1 OFFSET ?", taskID, store.RunsKept)
	if err != nil || n == 0 {
		return err
	}
	return forgetRuns(t, "task_id = ? AND scheduled_at <= ? AND unsettled = 0", taskID, oldest[0])
}

// forgetRuns takes runs from their task, for good but for those with a session of
// their own: that one is deleted first.
func forgetRuns(t *tx, where string, args ...any) error {
	if _, err := t.exec("UPDATE task_runs SET task_id = id, unsettled = ? WHERE "+ownSession+" AND "+where, append([]any{forgottenRun}, args...)...); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM task_runs WHERE "+where, args...)
	return err
}

// ForgetRun ends what is kept of a forgotten run.
func (s *Store) ForgetRun(ctx context.Context, runID string) error {
	return s.autocommit(ctx, "forget run", func(t *tx) error {
		_, err := t.exec("DELETE FROM task_runs WHERE id = ? AND unsettled = ?", runID, forgottenRun)
		return err
	})
}

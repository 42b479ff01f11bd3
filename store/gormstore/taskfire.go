package gormstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Fire starts what is due of a task. The task's row is the lock of everything about
// the task; the lane of the run comes after it, always.
func (s *Store) Fire(ctx context.Context, f *store.Firing) (*store.Fired, error) {
	if err := checkFiring(f); err != nil {
		return nil, fmt.Errorf("fire task: %w", err)
	}
	var out *store.Fired
	err := s.write(ctx, "fire task", func(t *tx) (err error) {
		if t.again && f.Run != nil { // the commit whose answer was lost may have taken place
			if out, err = s.firedBefore(t, f); err != nil || out != nil {
				return err
			}
		}
		out, err = s.fire(t, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func checkFiring(f *store.Firing) error {
	var c checks
	if f.Run == nil {
		return nil
	}
	c.id("run id", f.Run.ID, models.MaxName)
	c.key(f.Run.SessionKey)
	switch {
	case c.err != nil:
		return c.err
	case f.Message == nil || f.Message.Inbound.Kind != models.KindMessage || f.Message.Inbound.SessionKey != f.Run.SessionKey:
		return fmt.Errorf("the run has no message in its session: %w", store.ErrInvalid)
	}
	return checkAccept(f.Message)
}

func (s *Store) firedBefore(t *tx, f *store.Firing) (*store.Fired, error) {
	runs, err := findRuns(t, "r.id = ?", "", f.Run.ID)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &store.Fired{Fired: true, Run: runs[0]}, nil
}

func (s *Store) fire(t *tx, f *store.Firing) (*store.Fired, error) {
	started := 0
	if f.Run != nil {
		started = 1
	}
	if f.Manual {
		if _, err := findTask(t, f.TaskID, "{lock}"); err != nil {
			return nil, err
		}
	} else {
		n, err := t.exec("UPDATE tasks SET next_run_at = ?, runs = runs + ? WHERE id = ? AND next_run_at = ? AND revision = ? AND paused = 0",
			nullTime(f.Next), started, f.TaskID, micros(f.Due), f.Revision)
		if err != nil || n == 0 {
			return &store.Fired{}, err
		}
	}
	if err := insertMissed(t, f); err != nil {
		return nil, err
	}
	if f.Run == nil {
		return &store.Fired{Fired: true}, nil
	}
	run := *f.Run
	run.TaskID, run.State, run.DeliveryState, run.InboundID = f.TaskID, models.RunScheduled, models.RunDeliveryNone, f.Message.Inbound.ID
	var one int
	busy, err := t.find(&one, `SELECT 1 FROM task_runs r JOIN inbound i ON i.id = r.inbound_id
		WHERE r.unsettled = ? AND r.task_id = ? AND i.queued = ? LIMIT 1`, openRun, f.TaskID, inLane)
	if err != nil {
		return nil, err
	}
	if busy > 0 {
		if f.Manual {
			return nil, fmt.Errorf("the run before is still under way: %w", store.ErrConflict)
		}
		run.State, run.InboundID = models.RunSkipped, ""
	}
	err = insertRun(t, &run)
	if duplicate(err) { // a run of the same time is there: this one happened
		return &store.Fired{Fired: true}, nil
	}
	if err != nil || busy > 0 {
		return &store.Fired{Fired: true, Run: &run}, err
	}
	err = s.enqueueRun(t, f.Message)
	if errors.Is(err, errSeen) {
		_, err = t.exec("DELETE FROM task_runs WHERE id = ?", run.ID)
		return &store.Fired{Fired: true}, err
	}
	return &store.Fired{Fired: true, Run: &run}, err
}

// enqueueRun puts the run's message in line, as [Store.Accept] does.
func (s *Store) enqueueRun(t *tx, r *store.AcceptRequest) error {
	lane, _, err := nextPlace(t, r.Inbound.SessionKey, placing{wake: true})
	if err != nil {
		return err
	}
	a := acceptance{store: s, request: r}
	if err := a.insertKeys(t); err != nil {
		return err
	}
	in := r.Inbound
	in.Seq, in.Epoch, in.State, in.Attempts = lane.LastSeq, lane.Epoch, models.InboundReceived, 0
	if in.Slot == "" {
		in.Slot = lane.Slot
	}
	return insertInbound(t, lane.Sid, &in, inLane, 0, r.Fingerprint)
}

func insertMissed(t *tx, f *store.Firing) error {
	if len(f.Missed) == 0 {
		return nil
	}
	const width = 12
	args := make([]any, 0, width*len(f.Missed))
	for _, at := range f.Missed {
		args = append(args, models.NewID("run"), f.TaskID, micros(at), nil, settledRun, "", "",
			string(models.RunMissed), string(models.RunDeliveryNone), nil, "", 0)
	}
	_, err := t.exec("INSERT INTO task_runs ("+runInsert+") VALUES "+values(len(f.Missed), width)+
		" {upsert task_id, scheduled_at} tokens = task_runs.tokens", args...)
	return err
}

const runInsert = "id, task_id, scheduled_at, started_at, unsettled, inbound_id, session_key, state, delivery_state, finished_at, error, tokens"

// insertRun stores a run. One with a message keeps no state of its own until it is settled.
func insertRun(t *tx, r *models.TaskRun) error {
	state, unsettled := string(r.State), settledRun
	if r.InboundID != "" {
		state, unsettled = "", openRun
	}
	_, err := t.exec("INSERT INTO task_runs ("+runInsert+") VALUES "+values(1, 12),
		r.ID, r.TaskID, micros(r.ScheduledAt), nil, unsettled, r.InboundID, r.SessionKey, state, string(models.RunDeliveryNone), nil, "", 0)
	return err
}

package gormstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// MoveSession gives a session another key. Both lanes are locked, the smaller id
// first, as a job that locks many does.
func (s *Store) MoveSession(ctx context.Context, from string, to *models.Session, dryRun bool) error {
	var c checks
	c.key(from)
	c.session(to)
	if c.err == nil && from == to.Key {
		c.err = fmt.Errorf("a session is moved to its own key: %w", store.ErrInvalid)
	}
	if c.err != nil {
		return wrap("move session", c.err)
	}
	err := s.write(ctx, "move session", func(t *tx) error {
		keys := []string{from, to.Key}
		if bytes.Compare(sidOf(from), sidOf(to.Key)) > 0 {
			keys[0], keys[1] = keys[1], keys[0]
		}
		lanes, exists := map[string]laneRow{}, map[string]bool{}
		for _, key := range keys {
			var err error
			if lanes[key], exists[key], err = s.lockSession(t, key); err != nil {
				return err
			}
		}
		switch {
		case t.again && !exists[from] && exists[to.Key]:
			return nil // an earlier try was committed after all
		case !exists[from]:
			return store.ErrNotFound
		case exists[to.Key]:
			return store.ErrExists
		}
		for _, key := range keys {
			if err := atRest(t, lanes[key]); err != nil {
				return err
			}
		}
		if dryRun {
			return errRollBack
		}
		return s.moveLane(t, lanes[from], lanes[to.Key], to)
	})
	if dryRun && errors.Is(err, errRollBack) {
		return nil
	}
	return err
}

// errRollBack ends a transaction that was only to find out.
var errRollBack = errors.New("nothing was to be changed")

// atRest returns [store.ErrConflict] if something waits or runs in a lane, or waits
// to be sent.
func atRest(t *tx, lane laneRow) error {
	var found int
	_, err := t.find(&found, `SELECT COUNT(*) FROM (SELECT id FROM inbound {index inbound_lane} WHERE sid = ? AND queued IN (?, ?, ?)
		UNION ALL SELECT id FROM deliveries {index deliveries_session} WHERE sid = ? AND queued = 1) some`, lane.Sid, inLane, around, deferred, lane.Sid)
	if err == nil && found > 0 {
		err = fmt.Errorf("%s is in use: %w", lane.SessionKey, store.ErrConflict)
	}
	return err
}

// moveLane moves a session from a lane to another one. What was said there goes along,
// behind what the other lane knows already, so that deleting the session erases it.
func (s *Store) moveLane(t *tx, from, into laneRow, to *models.Session) error {
	shift, last := into.LastSeq, from.LastSeq
	first := from.DeletedSeq // of what is to be seen
	if first > 0 {
		first++
	}
	epoch := max(from.Epoch, into.Epoch) + 1 // resets are in the order of epochs
	from.DeletedSeq, from.LastSeq = from.LastSeq+1, from.LastSeq+2
	for _, step := range []struct {
		sql  string
		args []any
	}{
		// Talk that turns took in is not background any more; what was overheard in both
		// places since then is.
		{"UPDATE inbound SET queued = 0 WHERE sid = ? AND queued = ? AND seq <= (SELECT observed_seq FROM sessions WHERE sid = ?)",
			[]any{from.Sid, background, from.Sid}},
		{"UPDATE sessions SET sid = ?, session_key = ?, agent_id = ?, scope = ?, scope_id = ?, observed_seq = 0 WHERE sid = ?",
			[]any{into.Sid, to.Key, to.AgentID, string(to.Scope), to.ScopeID, from.Sid}},
		{"UPDATE inbound SET sid = ?, seq = seq + ? WHERE sid = ? AND seq >= ?", []any{into.Sid, shift, from.Sid, first}},
		{"UPDATE deliveries SET sid = ?, session_key = ?, lane_seq = lane_seq + ? WHERE sid = ? AND lane_seq >= ?",
			[]any{into.Sid, to.Key, shift, from.Sid, first}},
		{"UPDATE approvals SET session_key = ?, agent_id = ? WHERE sid = ?", []any{to.Key, to.AgentID, from.Sid}},
		{"UPDATE task_runs SET session_key = ? WHERE session_key = ?", []any{to.Key, from.SessionKey}},
		{"INSERT INTO usage_totals (" + totalColumns + ") SELECT kind, day, ?, model, ?, prompt_tokens, completion_tokens, turns, errors" +
			" FROM usage_totals u WHERE subject_hash = ? " + addToTotals, []any{into.Sid, to.Key, from.Sid}},
		{"DELETE FROM usage_totals WHERE subject_hash = ?", []any{from.Sid}},
		{"UPDATE previews SET sid = ?, session_key = ? WHERE sid = ?", []any{into.Sid, to.Key, from.Sid}},
		{"UPDATE lanes SET last_seq = ?, slot = ?, epoch = ? WHERE sid = ?", []any{last + shift, from.Slot, epoch, into.Sid}},
		{"UPDATE lanes SET last_seq = ?, deleted_seq = ?, slot = ?, epoch = ? WHERE sid = ?",
			[]any{from.LastSeq, from.DeletedSeq, models.DefaultSlot, epoch, from.Sid}},
	} {
		if _, err := t.exec(step.sql, step.args...); err != nil {
			return err
		}
	}
	for _, table := range ofSession {
		if table == "sessions" {
			continue
		}
		if _, err := t.exec("UPDATE "+table+" SET sid = ? WHERE sid = ?", into.Sid, from.Sid); err != nil {
			return err
		}
	}
	if err := moveBudgets(t, from.SessionKey, to.Key, s.now()); err != nil {
		return err
	}
	if err := moveMemories(t, from.SessionKey, to); err != nil {
		return err
	}
	return eraseLater(t, []laneRow{from})
}

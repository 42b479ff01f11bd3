package gormstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Sizes of what is locked together. Erasing a session takes a dozen statements.
const (
	stateChunk  = 200
	expireChunk = 20
)

// dueRange is one range of the index sessions_used.
type dueRange struct {
	state  models.SessionState
	pinned int
}

// dueRanges are those that a step looks at.
func dueRanges(step store.Step) []dueRange {
	switch step {
	case store.StepIdle:
		return []dueRange{{models.SessionActive, 0}, {models.SessionActive, 1}}
	case store.StepArchive:
		return []dueRange{{models.SessionIdle, 0}, {models.SessionCompacted, 0}}
	case store.StepExpire:
		return []dueRange{{models.SessionArchived, 0}, {models.SessionCompacted, 0}, {models.SessionIdle, 0}, {models.SessionActive, 0}}
	}
	return nil
}

// dueRow is a candidate.
type dueRow struct {
	Sid        []byte
	SessionKey string
}

// The index finds candidates: those that a person used, and those that nobody ever
// did, by their creation. Their slots know better when they were used.
const (
	dueUsed   = `SELECT sid, session_key FROM sessions {index sessions_used} WHERE state = ? AND pinned = ? AND last_user_at < ? ORDER BY last_user_at, created_at, sid LIMIT ? OFFSET ?`
	dueUnused = `SELECT sid, session_key FROM sessions {index sessions_used} WHERE state = ? AND pinned = ? AND last_user_at IS NULL AND created_at < ? ORDER BY created_at, sid LIMIT ? OFFSET ?`
)

// IdleSessions makes active sessions idle.
func (s *Store) IdleSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error) {
	return s.pass(ctx, store.StepIdle, before, batch, stateChunk, s.moveTo(models.SessionIdle))
}

// ArchiveSessions archives idle and compacted sessions.
func (s *Store) ArchiveSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error) {
	return s.pass(ctx, store.StepArchive, before, batch, stateChunk, s.moveTo(models.SessionArchived))
}

// ExpireSessions deletes sessions.
func (s *Store) ExpireSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error) {
	return s.pass(ctx, store.StepExpire, before, batch, expireChunk, s.expire)
}

// pass changes at most batch sessions, chunk by chunk. What was changed leaves the
// range; what was skipped stays at its head and is passed over.
func (s *Store) pass(ctx context.Context, step store.Step, before time.Time, batch, chunk int, apply func(*tx, []laneRow) error) (total store.Passed, err error) {
	for _, r := range dueRanges(step) {
		for _, find := range []string{dueUsed, dueUnused} {
			for skipped := 0; total.Changed < batch; {
				size := min(chunk, batch-total.Changed)
				due, err := s.due(ctx, find, r, before, size, skipped)
				if err != nil {
					return total, err
				}
				if len(due) == 0 {
					break
				}
				passed, moved, err := s.passChunk(ctx, step, r, before, due, apply)
				if err != nil {
					return total, err
				}
				total = total.Add(passed)
				skipped += passed.Skipped - moved
				if len(due) < size {
					break
				}
			}
		}
	}
	return total, nil
}

func (s *Store) due(ctx context.Context, find string, r dueRange, before time.Time, limit, offset int) (due []dueRow, err error) {
	err = s.read(ctx, "due sessions", func(t *tx) error {
		due = nil
		_, err := t.find(&due, find, string(r.state), r.pinned, micros(before), limit, offset)
		return err
	})
	return due, err
}

// passChunk locks the idle lanes of a chunk, looks again, and changes what is still
// due. moved counts those of the skipped that have left the range.
func (s *Store) passChunk(ctx context.Context, step store.Step, r dueRange, before time.Time, due []dueRow, apply func(*tx, []laneRow) error) (p store.Passed, moved int, err error) {
	slices.SortFunc(due, func(a, b dueRow) int { return bytes.Compare(a.Sid, b.Sid) })
	sids := make([]any, len(due))
	for i := range due {
		sids[i] = due[i].Sid
	}
	in := values(1, len(sids))
	err = s.write(ctx, "pass "+string(step), func(t *tx) error {
		var free []laneRow // "+ 0" keeps MySQL on the primary key
		if _, err := t.find(&free, "SELECT "+laneColumns+" FROM lanes l WHERE l.sid IN "+in+" AND l.due_at + 0 IS NULL ORDER BY l.sid {lock}", sids...); err != nil {
			return err
		}
		if len(free) == 0 {
			p = store.Passed{Considered: len(due), Skipped: len(due), InUse: len(due)}
			return nil
		}
		still, left, err := s.stillDue(t, r, before, free)
		if err != nil {
			return err
		}
		changed := len(still)
		if t.again { // what a first try changed is not due any more
			changed, left = max(changed, left), 0
		}
		p = store.Passed{Considered: len(due), Changed: changed, Skipped: len(due) - changed, InUse: len(due) - len(free)}
		moved = left
		if len(still) == 0 {
			return nil
		}
		return apply(t, still)
	})
	return p, moved, err
}

// stillDue returns those of the locked lanes whose sessions are still due, and how
// many are not in the range any more. Sessions whose slots know of a later use take
// it over, so that the index does not find them again.
func (s *Store) stillDue(t *tx, r dueRange, before time.Time, free []laneRow) (still []laneRow, moved int, err error) {
	sids := make([]any, len(free))
	for i := range free {
		sids[i] = free[i].Sid
	}
	var rows []struct {
		Sid    []byte
		UsedAt int64
		UserAt int64
	}
	if _, err := t.find(&rows, `SELECT e.sid, COALESCE(e.last_user_at, e.created_at) AS used_at,
			COALESCE((SELECT MAX(s.user_at) FROM slots s WHERE s.sid = e.sid), 0) AS user_at
		FROM sessions e WHERE e.state = ? AND e.pinned = ? AND e.sid IN `+values(1, len(sids)),
		append([]any{string(r.state), r.pinned}, sids...)...); err != nil {
		return nil, 0, err
	}
	due := make(map[string]bool, len(rows))
	for _, row := range rows {
		if row.UserAt >= micros(before) {
			if _, err := t.exec("UPDATE sessions SET last_user_at = ? WHERE sid = ?", row.UserAt, row.Sid); err != nil {
				return nil, 0, err
			}
			continue
		}
		due[string(row.Sid)] = row.UsedAt < micros(before)
	}
	for _, lane := range free {
		if due[string(lane.Sid)] {
			still = append(still, lane)
		}
	}
	return still, len(free) - len(still), nil
}

// moveTo changes the state of sessions whose lanes are locked.
func (s *Store) moveTo(state models.SessionState) func(*tx, []laneRow) error {
	return func(t *tx, lanes []laneRow) error {
		args := []any{string(state), micros(s.now())}
		for i := range lanes {
			args = append(args, lanes[i].Sid)
		}
		_, err := t.exec("UPDATE sessions SET state = ?, updated_at = ? WHERE sid IN "+values(1, len(lanes)), args...)
		return err
	}
}

func (s *Store) expire(t *tx, lanes []laneRow) error {
	for _, lane := range lanes {
		x := &sessionTx{store: s, tx: t, lane: lane}
		if err := x.Delete(s.now()); err != nil {
			return err
		}
	}
	return nil
}

// DueSessions returns the keys of sessions that a step would change now.
func (s *Store) DueSessions(ctx context.Context, step store.Step, before time.Time, limit int) ([]string, error) {
	ranges := dueRanges(step)
	if ranges == nil {
		return nil, fmt.Errorf("due sessions: step %q: %w", step, store.ErrInvalid)
	}
	limit = min(limit, maxIDs)
	var keys []string
	err := s.read(ctx, "due sessions", func(t *tx) error {
		keys = nil
		for _, r := range ranges {
			for _, find := range []string{dueUsed, dueUnused} {
				if len(keys) >= limit {
					return nil
				}
				var some []string
				if _, err := t.find(&some, `SELECT due.session_key FROM (`+find+`) due JOIN lanes l ON l.sid = due.sid
					WHERE l.due_at IS NULL AND COALESCE((SELECT MAX(s.user_at) FROM slots s WHERE s.sid = due.sid), 0) < ?`,
					string(r.state), r.pinned, micros(before), limit-len(keys), 0, micros(before)); err != nil {
					return err
				}
				keys = append(keys, some...)
			}
		}
		return nil
	})
	return keys, err
}

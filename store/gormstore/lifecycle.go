package gormstore

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// How many sessions are locked together.
const (
	stateChunk  = 200
	expireChunk = 100
)

// IdleSessions makes active sessions idle.
func (s *Store) IdleSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error) {
	return s.passing(store.StepIdle, before, s.moveTo(models.SessionIdle)).all(ctx, batch, stateChunk)
}

// ArchiveSessions archives idle and compacted sessions.
func (s *Store) ArchiveSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error) {
	return s.passing(store.StepArchive, before, s.moveTo(models.SessionArchived)).all(ctx, batch, stateChunk)
}

// ExpireSessions deletes sessions.
func (s *Store) ExpireSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error) {
	return s.passing(store.StepExpire, before, s.expire).all(ctx, batch, expireChunk)
}

// ExpireSession deletes one session that is still what it was.
func (s *Store) ExpireSession(ctx context.Context, key string, before time.Time, mark string) (bool, error) {
	session, err := s.Session(ctx, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && session.Pinned {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p := s.passing(store.StepExpire, before, s.expire)
	p.keep = func(t *tx, lane laneRow) (bool, error) {
		now, err := markOf(t, lane.Sid)
		return now != mark, err
	}
	passed, _, err := p.chunk(ctx, dueRange{session.State, 0}, []dueRow{{Sid: sidOf(key), SessionKey: key}})
	return passed.Changed == 1, err
}

// passing is one step of sessions that were last used before a time.
type passing struct {
	store  *Store
	step   store.Step
	before int64
	// keep, if set, reports sessions that are due and yet left as they are.
	keep  func(*tx, laneRow) (bool, error)
	apply func(*tx, []laneRow) error
}

func (s *Store) passing(step store.Step, before time.Time, apply func(*tx, []laneRow) error) *passing {
	return &passing{store: s, step: step, before: micros(before), apply: apply}
}

// all changes at most batch sessions, chunk by chunk. What was changed leaves the
// range; what was skipped stays at its head and is passed over.
func (p *passing) all(ctx context.Context, batch, chunk int) (total store.Passed, err error) {
	for _, r := range dueRanges(p.step) {
		for _, find := range []string{dueUsed, dueUnused} {
			for skipped := 0; total.Changed < batch; {
				size := min(chunk, batch-total.Changed)
				due, err := p.due(ctx, find, r, size, skipped)
				if err != nil {
					return total, err
				}
				if len(due) == 0 {
					break
				}
				passed, moved, err := p.chunk(ctx, r, due)
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

func (p *passing) due(ctx context.Context, find string, r dueRange, limit, offset int) (due []dueRow, err error) {
	err = p.store.read(ctx, "due sessions", func(t *tx) error {
		due = nil
		_, err := t.find(&due, find, string(r.state), r.pinned, p.before, limit, offset)
		return err
	})
	return due, err
}

// chunk locks the idle lanes of some sessions, looks again, and changes what is still
// due. moved counts those of the skipped that have left the range.
func (p *passing) chunk(ctx context.Context, r dueRange, due []dueRow) (passed store.Passed, moved int, err error) {
	slices.SortFunc(due, func(a, b dueRow) int { return bytes.Compare(a.Sid, b.Sid) })
	sids := make([]any, len(due))
	for i := range due {
		sids[i] = due[i].Sid
	}
	in := values(1, len(sids))
	err = p.store.write(ctx, "pass "+string(p.step), func(t *tx) error {
		var free []laneRow // "+ 0" keeps MySQL on the primary key
		if _, err := t.find(&free, "SELECT "+laneColumns+" FROM lanes l WHERE l.sid IN "+in+" AND l.due_at + 0 IS NULL ORDER BY l.sid {lock}", sids...); err != nil {
			return err
		}
		free, err := p.unused(t, free)
		if err != nil {
			return err
		}
		still, left, err := p.stillDue(t, r, free)
		if err != nil {
			return err
		}
		changed := len(still)
		if t.again { // what a first try changed is not due any more
			changed, left = max(changed, left), 0
		}
		passed = store.Passed{Considered: len(due), Changed: changed, Skipped: len(due) - changed, InUse: len(due) - len(free)}
		moved = left
		if len(still) == 0 {
			return nil
		}
		return p.apply(t, still)
	})
	return passed, moved, err
}

// unused leaves out sessions that are in use although their lanes are idle: deletion
// would take an answer that is not sent, or a command that is not carried out.
func (p *passing) unused(t *tx, free []laneRow) ([]laneRow, error) {
	if p.step != store.StepExpire || len(free) == 0 {
		return free, nil
	}
	sids := sidsOf(free)
	in := values(1, len(sids))
	var busy [][]byte
	if _, err := t.find(&busy, `SELECT sid FROM deliveries {index deliveries_session} WHERE sid IN `+in+` AND queued = 1
		UNION SELECT sid FROM inbound {index inbound_lane} WHERE sid IN `+in+` AND queued IN (?, ?)`, slices.Concat(sids, sids, []any{around, deferred})...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(free, func(lane laneRow) bool {
		return slices.ContainsFunc(busy, func(sid []byte) bool { return bytes.Equal(sid, lane.Sid) })
	}), nil
}

// stillDue returns those of the locked lanes whose sessions are still due, and how
// many are not in the range any more. Sessions whose slots know of a later use take
// it over, so that the index does not find them again. Slots are ahead by [userLag] at
// most: for what was not used for longer they are not looked at.
func (p *passing) stillDue(t *tx, r dueRange, free []laneRow) (still []laneRow, moved int, err error) {
	if len(free) == 0 {
		return nil, 0, nil
	}
	var rows []struct {
		Sid        []byte
		UsedAt     int64
		UserAt     int64
		RestoredAt int64
	}
	if _, err := t.find(&rows, `SELECT e.sid, COALESCE(e.last_user_at, e.created_at) AS used_at, COALESCE(e.restored_at, 0) AS restored_at,
			CASE WHEN COALESCE(e.last_user_at, e.created_at) < ? THEN 0
				ELSE COALESCE((SELECT MAX(s.user_at) FROM slots s WHERE s.sid = e.sid), 0) END AS user_at
		FROM sessions e WHERE e.state = ? AND e.pinned = ? AND e.sid IN `+values(1, len(free)),
		append([]any{p.before - userLag.Microseconds(), string(r.state), r.pinned}, sidsOf(free)...)...); err != nil {
		return nil, 0, err
	}
	const left, stays, due = 0, 1, 2
	found := make(map[string]int, len(rows))
	for _, row := range rows {
		switch {
		case row.UserAt >= p.before:
			if _, err := t.exec("UPDATE sessions SET last_user_at = ? WHERE sid = ?", row.UserAt, row.Sid); err != nil {
				return nil, 0, err
			}
		case row.UsedAt >= p.before:
		case p.step == store.StepArchive && row.RestoredAt >= p.before:
			found[string(row.Sid)] = stays
		default:
			found[string(row.Sid)] = due
		}
	}
	for _, lane := range free {
		what := found[string(lane.Sid)]
		if what == due && p.keep != nil {
			keep, err := p.keep(t, lane)
			if err != nil {
				return nil, 0, err
			}
			if keep {
				what = stays
			}
		}
		switch what {
		case due:
			still = append(still, lane)
		case left:
			moved++
		}
	}
	return still, moved, nil
}

// moveTo changes the state of sessions whose lanes are locked.
func (s *Store) moveTo(state models.SessionState) func(*tx, []laneRow) error {
	return func(t *tx, lanes []laneRow) error {
		_, err := t.exec("UPDATE sessions SET state = ?, updated_at = ? WHERE sid IN "+values(1, len(lanes)),
			append([]any{string(state), micros(s.now())}, sidsOf(lanes)...)...)
		return err
	}
}

func (s *Store) expire(t *tx, lanes []laneRow) error { return s.unlink(t, lanes, s.now()) }

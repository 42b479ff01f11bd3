package gormstore

import (
	"context"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
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

// What a step asks of a candidate besides.
var dueBesides = map[store.Step]string{
	store.StepArchive: " AND COALESCE((SELECT e.restored_at FROM sessions e WHERE e.sid = due.sid), 0) < ?",
	store.StepExpire: " AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.sid = due.sid AND d.queued = 1)" +
		" AND NOT EXISTS (SELECT 1 FROM inbound i WHERE i.sid = due.sid AND i.queued IN (?, ?))",
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
				args := []any{string(r.state), r.pinned, micros(before), limit - len(keys), 0, micros(before)}
				switch step {
				case store.StepArchive:
					args = append(args, micros(before))
				case store.StepExpire:
					args = append(args, around, deferred)
				}
				if _, err := t.find(&some, `SELECT due.session_key FROM (`+find+`) due JOIN lanes l ON l.sid = due.sid
					WHERE l.due_at IS NULL AND COALESCE((SELECT MAX(s.user_at) FROM slots s WHERE s.sid = due.sid), 0) < ?`+dueBesides[step], args...); err != nil {
					return err
				}
				keys = append(keys, some...)
			}
		}
		return nil
	})
	return keys, err
}

package gormstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Session returns a session without its messages.
func (s *Store) Session(ctx context.Context, key string) (*models.Session, error) {
	var out *models.Session
	err := s.read(ctx, "session", func(t *tx) error {
		row, err := findSession(t, sidOf(key))
		if err == nil {
			out = row.model()
		}
		return err
	})
	return out, err
}

func findSession(t *tx, sid []byte) (row sessionRow, err error) {
	n, err := t.find(&row, "SELECT "+sessionColumns+fromSessions+" WHERE e.sid = ?", sid)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return row, err
}

// CreateSession stores a new session with its default slot.
func (s *Store) CreateSession(ctx context.Context, session *models.Session) error {
	var c checks
	c.session(session)
	if c.err != nil {
		return fmt.Errorf("create session: %w", c.err)
	}
	return s.write(ctx, "create session", func(t *tx) error {
		lane, exists, err := s.lockSession(t, session.Key)
		if err != nil {
			return err
		}
		if exists {
			if t.again {
				return nil
			}
			return store.ErrExists
		}
		_, err = insertSession(t, lane.Sid, session, growth{activeAt: s.now(), now: s.now()})
		return err
	})
}

// lockSession locks the lane of a session, making it if there is none.
func (s *Store) lockSession(t *tx, key string) (lane laneRow, exists bool, err error) {
	if _, err := t.exec(ensureLane, sidOf(key), key, kindOf(key)); err != nil {
		return lane, false, err
	}
	if lane, _, err = lockLane(t, key); err != nil {
		return lane, false, err
	}
	var one int
	n, err := t.find(&one, "SELECT 1 FROM sessions WHERE sid = ?", lane.Sid)
	return lane, n > 0, err
}

// Bounds of one page of sessions: rows of the index that are looked at, and how
// many at a time.
const (
	maxExamined = 2000
	scanChunk   = 500
)

// scanRow is what a filter looks at.
type scanRow struct {
	Sid        []byte
	SessionKey string
	AgentID    string
	Channel    string
	Scope      string
	State      string
	Title      string
	CreatedAt  int64
}

// ListSessions returns a page, newest first. One filter chooses the index whose
// range is read; the others are looked at row by row, up to a bound.
func (s *Store) ListSessions(ctx context.Context, q store.SessionQuery) ([]*models.Session, string, error) {
	at, err := parseCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	if !at.set {
		at.skip = max(q.Offset, 0)
	}
	limit := pageSize(q.Limit)
	var picked []scanRow
	var next string
	var out []*models.Session
	err = s.read(ctx, "list sessions", func(t *tx) error {
		picked, next, err = scanSessions(t, q, at, limit)
		if err != nil || len(picked) == 0 {
			return err
		}
		out, err = fetchSessions(t, picked)
		return err
	})
	return out, next, err
}

// scanQuery is the statement that reads one chunk of the index of a query, with
// its arguments but the limit.
func scanQuery(q store.SessionQuery, at cursor) (sql string, args []any) {
	index, where := "sessions_created", "1 = 1"
	switch {
	case q.Scope != "" && q.Scope != models.ScopePerPeer: // rarer than the rest, where it is not the default
		index, where, args = "sessions_scope", "scope = ?", []any{string(q.Scope)}
	case q.AgentID != "":
		index, where, args = "sessions_agent", "agent_id = ?", []any{q.AgentID}
	case q.Channel != "":
		index, where, args = "sessions_channel", "channel = ?", []any{q.Channel}
	case q.State != "":
		index, where, args = "sessions_state", "state = ?", []any{string(q.State)}
	case q.Scope != "":
		index, where, args = "sessions_scope", "scope = ?", []any{string(q.Scope)}
	}
	if at.set {
		where += " AND created_at <= ? AND (created_at < ? OR sid < ?)"
		args = append(args, at.at, at.at, []byte(at.id))
	}
	return "SELECT sid, session_key, agent_id, channel, scope, state, title, created_at FROM sessions {index " + index + "}" +
		" WHERE " + where + " ORDER BY created_at DESC, sid DESC LIMIT ?", args
}

func scanSessions(t *tx, q store.SessionQuery, at cursor, limit int) (picked []scanRow, next string, err error) {
	skip := at.skip
	for examined := 0; examined < maxExamined; {
		chunk := min(scanChunk, maxExamined-examined)
		if exact(q) {
			chunk = min(limit+1+skip, maxExamined)
		}
		sql, args := scanQuery(q, at)
		var rows []scanRow
		if _, err := t.find(&rows, sql, append(args, chunk)...); err != nil {
			return nil, "", err
		}
		examined += len(rows)
		for _, row := range rows {
			if !matches(q, &row) {
				at = cursor{set: true, at: row.CreatedAt, id: string(row.Sid)}
				continue
			}
			if skip == 0 && len(picked) == limit {
				at.skip = 0
				return picked, at.String(), nil
			}
			at = cursor{set: true, at: row.CreatedAt, id: string(row.Sid)}
			if skip > 0 {
				skip--
				continue
			}
			picked = append(picked, row)
		}
		if len(rows) < chunk {
			return picked, "", nil
		}
	}
	at.skip = skip
	return picked, at.String(), nil
}

// exact reports whether the index range of a query holds nothing but its rows.
func exact(q store.SessionQuery) bool {
	n := 0
	for _, set := range []bool{q.AgentID != "", q.Channel != "", q.Scope != "", q.State != ""} {
		n += bit(set)
	}
	return n <= 1 && q.Text == ""
}

func matches(q store.SessionQuery, r *scanRow) bool {
	return (q.AgentID == "" || q.AgentID == r.AgentID) && (q.Channel == "" || q.Channel == r.Channel) &&
		(q.Scope == "" || string(q.Scope) == r.Scope) && (q.State == "" || string(q.State) == r.State) &&
		(q.Text == "" || containsFold(r.SessionKey, q.Text) || containsFold(r.Title, q.Text))
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// fetchSessions reads the rows that a scan picked, in its order.
func fetchSessions(t *tx, picked []scanRow) ([]*models.Session, error) {
	sids := make([]any, len(picked))
	for i := range picked {
		sids[i] = picked[i].Sid
	}
	var rows []sessionRow
	if _, err := t.find(&rows, "SELECT "+sessionColumns+fromSessions+" WHERE e.sid IN "+values(1, len(sids)), sids...); err != nil {
		return nil, err
	}
	found := make(map[string]*models.Session, len(rows))
	for i := range rows {
		found[string(rows[i].Sid)] = rows[i].model()
	}
	out := make([]*models.Session, 0, len(picked))
	for i := range picked {
		if session := found[string(picked[i].Sid)]; session != nil { // else deleted in between
			out = append(out, session)
		}
	}
	return out, nil
}

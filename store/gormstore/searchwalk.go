package gormstore

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chatkeep/chatkeep/store"
)

// stretch is a part of a slot's messages that is to be searched, or all of them.
type stretch struct {
	Sid        []byte
	SessionKey string
	CreatedAt  int64
	Name       string
	ContextID  []byte
	Place      int64
	NextSeq    int64
	// part is set if only messages from one seq to before another are meant.
	part         bool
	from, before int64
}

func (s *stretch) count() int { return int(s.before - s.from) }

// cursor is the place before a message of the stretch.
func (s *stretch) cursor(seq int64) searchCursor {
	return searchCursor{created: s.CreatedAt, sid: s.Sid, place: s.Place, before: seq}
}

func (s *stretch) end() searchCursor { return s.cursor(s.before) }

// searchCursor is a place in the order of a search: all messages behind it are to come.
type searchCursor struct {
	// created and sid name the session; nil: the search begins.
	created int64
	sid     []byte
	// place names its slot, and before the message; zero: behind the session.
	place, before int64
}

func (c searchCursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d,%x,%d,%d", c.created, c.sid, c.place, c.before))
}

func parseSearchCursor(text string) (c searchCursor, err error) {
	if text == "" {
		return c, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), ",")
	if err != nil || len(parts) != 4 {
		return c, fmt.Errorf("cursor: %w", store.ErrInvalid)
	}
	number := func(s string) (n int64) {
		if n, e := strconv.ParseInt(s, 10, 64); e == nil && n >= 0 {
			return n
		}
		err = fmt.Errorf("cursor: %w", store.ErrInvalid)
		return 0
	}
	c = searchCursor{created: number(parts[0]), place: number(parts[2]), before: number(parts[3])}
	if c.sid, _ = hex.DecodeString(parts[1]); len(c.sid) == 0 {
		number("")
	}
	return c, err
}

// stretches reads which slots come next and moves the cursor behind their sessions;
// more is set if there may be others.
func (x *search) stretches() (out []stretch, more bool, err error) {
	rest := x.at
	switch {
	case x.query.SessionKey != "":
		out, err = x.slots(scanRow{Sid: sidOf(x.query.SessionKey)})
		if err == nil && out == nil {
			err = store.ErrNotFound
		}
		return unsearched(out, rest), false, err
	case rest.place > 0: // a session that was left in the middle
		x.at.place, x.at.before = 0, 0
		x.sessions--
		out, err = x.slots(scanRow{Sid: rest.sid})
		return unsearched(out, rest), true, err
	}
	chunk := min(scanChunk, x.sessions)
	sql, args := scanQuery(store.SessionQuery{AgentID: x.query.AgentID}, cursor{set: rest.sid != nil, at: rest.created, id: string(rest.sid)})
	var rows []scanRow
	if _, err := x.tx.find(&rows, sql, append(args, chunk)...); err != nil || len(rows) == 0 {
		return nil, false, err
	}
	x.sessions -= len(rows)
	last := rows[len(rows)-1]
	x.at = searchCursor{created: last.CreatedAt, sid: last.Sid}
	out, err = x.slots(rows...)
	return unsearched(out, searchCursor{}), len(rows) == chunk, err
}

// slots returns the slots of sessions in the order of a search; nil if none is there.
func (x *search) slots(sessions ...scanRow) (out []stretch, err error) {
	where, args := "s.sid IN "+values(1, len(sessions)), make([]any, 0, len(sessions)+1)
	for _, s := range sessions {
		args = append(args, s.Sid)
	}
	if x.query.Slot != "" {
		where, args = where+" AND s.name = ?", append(args, x.query.Slot)
	}
	if x.query.AgentID != "" {
		where, args = where+" AND e.agent_id = ?", append(args, x.query.AgentID)
	}
	if _, err = x.tx.find(&out, `SELECT s.sid, e.session_key, e.created_at, s.name, s.context_id, s.place, s.next_seq
		FROM slots s JOIN sessions e ON e.sid = s.sid WHERE `+where, args...); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), slices.Compare(b.Sid, a.Sid), cmp.Compare(b.Place, a.Place))
	})
	return out, nil
}

// unsearched leaves out what is before the cursor, and slots without messages.
func unsearched(slots []stretch, at searchCursor) []stretch {
	out := slots[:0]
	for _, s := range slots {
		s.from, s.before = 1, s.NextSeq
		if at.place > 0 {
			if s.Place > at.place {
				continue
			}
			if s.Place == at.place && at.before < s.before {
				s.part, s.before = true, at.before
			}
		}
		if s.count() > 0 {
			out = append(out, s)
		}
	}
	return out
}

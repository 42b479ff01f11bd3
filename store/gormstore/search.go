package gormstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// firstSearched is how many messages the first statement of a search reads, and
	// mostSearched what a later one reads at most: each twice as many as the one before,
	// for what is looked for is mostly new.
	firstSearched = 2_000
	mostSearched  = 20_000
	// searchedSessions bounds the sessions that one search looks into.
	searchedSessions = 10_000
	// fetchedAtOnce bounds the messages that one statement fetches whole.
	fetchedAtOnce = 50
)

// SearchMessages reads the messages of one slot after the other, newest first, and
// has the database compare them.
func (s *Store) SearchMessages(ctx context.Context, q store.MessageQuery) ([]store.FoundMessage, string, error) {
	at, err := parseSearchCursor(q.Cursor)
	if err == nil {
		err = checkSearch(&q)
	}
	if err != nil {
		return nil, "", fmt.Errorf("search: %w", err)
	}
	var x *search
	err = s.read(ctx, "search", func(t *tx) error {
		x = &search{
			tx: t, query: q, at: at, limit: pageSize(q.Limit),
			left: store.MaxSearched, sessions: searchedSessions, size: firstSearched,
		}
		x.compare()
		return x.run()
	})
	if err != nil {
		return nil, "", err
	}
	return x.found, x.next, nil
}

func checkSearch(q *store.MessageQuery) error {
	var c checks
	if len(q.Words) == 0 || len(q.Words) > words.MaxWords {
		c.err = fmt.Errorf("%d words: %w", len(q.Words), store.ErrInvalid)
	}
	for _, w := range q.Words {
		c.id("word", w, 4*words.MaxQuery)
	}
	c.text("session key", q.SessionKey, models.MaxKey)
	return c.err
}

// search is one call of SearchMessages.
type search struct {
	tx    *tx
	query store.MessageQuery
	// where and args compare a message with the query.
	where string
	args  []any
	limit int

	at searchCursor // what comes next
	// left and sessions are what may still be looked at; size is what the next
	// statement looks at.
	left, sessions, size int

	found []store.FoundMessage
	next  string
}

// compare makes the condition for messages. It lets through what differs in the case
// of letters beyond ASCII, which databases see differently; words.Match decides.
func (x *search) compare() {
	x.where = "undone = 0"
	if len(x.query.Roles) > 0 {
		x.where += " AND role IN " + values(1, len(x.query.Roles))
		for _, r := range x.query.Roles {
			x.args = append(x.args, string(r))
		}
	}
	for _, w := range x.query.Words {
		x.where += " AND content {nocase} LIKE ? ESCAPE '!'"
		x.args = append(x.args, "%"+like(w)+"%")
	}
}

// like writes a word as a pattern that it alone fits, whatever the case of its letters.
func like(word string) string {
	var b strings.Builder
	for _, r := range word {
		switch {
		case r == '%' || r == '_' || r == '!':
			b.WriteRune('!')
			b.WriteRune(r)
		case r >= utf8.RuneSelf && (unicode.SimpleFold(r) != r || unicode.ToUpper(r) != r):
			b.WriteRune('_') // SQLite knows the cases of ASCII letters only
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// run searches until the page is full, all is searched, or enough was looked at.
func (x *search) run() error {
	for {
		stretches, more, err := x.stretches()
		if err != nil {
			return err
		}
		for len(stretches) > 0 {
			if x.left <= 0 {
				x.next = stretches[0].end().String()
				return nil
			}
			var some []stretch
			some, stretches = x.take(stretches)
			last := len(stretches) == 0 && !more
			if full, err := x.look(some, last); full || err != nil {
				return err
			}
		}
		switch {
		case !more:
			return nil
		case x.left <= 0 || x.sessions <= 0:
			x.next = x.at.String()
			return nil
		}
	}
}

// take splits off what the next statement looks at: some whole slots, or a part of one.
func (x *search) take(from []stretch) (some, rest []stretch) {
	size := min(x.size, x.left)
	x.size = min(2*x.size, mostSearched)
	if first := from[0]; first.count() > size || first.part {
		newest := first
		newest.part, newest.from = true, max(first.from, first.before-int64(size))
		x.left -= newest.count()
		if newest.from == first.from {
			return []stretch{newest}, from[1:]
		}
		from[0].part, from[0].before = true, newest.from
		return []stretch{newest}, from
	}
	n := 0
	for n < len(from) && !from[n].part && from[n].count() <= size {
		size -= from[n].count()
		x.left -= from[n].count()
		n++
	}
	return from[:n], from[n:]
}

// inContexts is the condition for the messages of some slots. The last is named
// again until their number is a power of two: statements are few, then, and are kept.
func inContexts(some []stretch) (where string, args []any) {
	for i := 0; i < len(some) || i&(i-1) != 0; i++ {
		args = append(args, some[min(i, len(some)-1)].ContextID)
	}
	return "context_id IN " + values(1, len(args)), args
}

// hit is where a message is that may match.
type hit struct {
	ContextID []byte
	Seq       int64
	stretch   int
}

// look finds messages in stretches and adds them to the page; full is set once that
// has all it may have. last is set if nothing comes after these stretches.
func (x *search) look(some []stretch, last bool) (full bool, err error) {
	where, args := "context_id = ? AND seq >= ? AND seq < ?", []any{some[0].ContextID, some[0].from, some[0].before}
	if !some[0].part {
		where, args = inContexts(some)
	}
	var hits []hit
	if _, err := x.tx.find(&hits, "SELECT context_id, seq FROM messages WHERE "+where+" AND "+x.where, append(args, x.args...)...); err != nil {
		return false, err
	}
	for i := range hits {
		hits[i].stretch = slices.IndexFunc(some, func(s stretch) bool { return bytes.Equal(s.ContextID, hits[i].ContextID) })
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.stretch, b.stretch), cmp.Compare(b.Seq, a.Seq)) })
	for len(hits) > 0 {
		n := min(len(hits), x.limit-len(x.found), fetchedAtOnce)
		if err := x.fetch(some, hits[:n]); err != nil {
			return false, err
		}
		if len(x.found) == x.limit {
			if newest := hits[n-1]; n < len(hits) || !last {
				x.next = some[newest.stretch].cursor(newest.Seq).String()
			}
			return true, nil
		}
		hits = hits[n:]
	}
	return false, nil
}

// foundRow is a message with the context it is in.
type foundRow struct {
	ContextID []byte
	Light     lightRow `gorm:"embedded"`
}

// fetch reads messages, those of slots that are still there, and adds the ones that match.
func (x *search) fetch(some []stretch, hits []hit) error {
	parts, args := make([]string, len(hits)), make([]any, 0, 5*len(hits))
	for i, h := range hits {
		s := some[h.stretch]
		parts[i] = "SELECT context_id, " + plainColumns + " FROM messages WHERE context_id = ? AND seq = ?" +
			" AND EXISTS (SELECT 1 FROM slots WHERE sid = ? AND name = ? AND context_id = ?)"
		args = append(args, s.ContextID, h.Seq, s.Sid, s.Name, s.ContextID)
	}
	var rows []foundRow
	if _, err := x.tx.find(&rows, strings.Join(parts, " UNION ALL "), args...); err != nil {
		return err
	}
	shown := len(x.found)
	var answers []foundRow // of those that are found
	for _, h := range hits {
		i := slices.IndexFunc(rows, func(r foundRow) bool {
			return r.Light.Message.Seq == h.Seq && bytes.Equal(r.ContextID, h.ContextID)
		})
		if i < 0 || !words.Match(rows[i].Light.Message.Content, x.query.Words) {
			continue
		}
		m, err := rows[i].Light.Message.model(some[h.stretch].Name)
		if err != nil {
			return err
		}
		m.ImagesOmitted = rows[i].Light.MetaSize > heavyMeta
		x.found = append(x.found, store.FoundMessage{SessionKey: some[h.stretch].SessionKey, Message: m})
		answers = append(answers, rows[i])
	}
	if x.query.WithAsked {
		return x.fetchAsked(answers, x.found[shown:])
	}
	return nil
}

// fetchAsked adds to what is found what it answers.
func (x *search) fetchAsked(rows []foundRow, found []store.FoundMessage) error {
	var parts []string
	var args []any
	for _, r := range rows {
		if r.answers() {
			seq := r.Light.Message.Seq
			parts = append(parts, "{part}SELECT context_id, "+plainColumns+" FROM messages"+
				" WHERE context_id = ? AND seq < ? AND seq >= ? AND undone = 0 AND role = ? ORDER BY seq DESC LIMIT 1{/part}")
			args = append(args, r.ContextID, seq, seq-store.AskedWithin, string(models.RoleUser))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	var asked []foundRow
	if _, err := x.tx.find(&asked, strings.Join(parts, " UNION ALL "), args...); err != nil {
		return err
	}
	slices.SortFunc(asked, func(a, b foundRow) int { return cmp.Compare(b.Light.Message.Seq, a.Light.Message.Seq) })
	for i, r := range rows {
		newest := slices.IndexFunc(asked, func(a foundRow) bool {
			before := r.Light.Message.Seq - a.Light.Message.Seq
			return bytes.Equal(a.ContextID, r.ContextID) && before > 0 && before <= store.AskedWithin
		})
		if newest < 0 || !r.answers() {
			continue
		}
		m, err := asked[newest].Light.Message.model(found[i].Message.Slot)
		if err != nil {
			return err
		}
		found[i].Asked = m
	}
	return nil
}

func (r *foundRow) answers() bool {
	role := models.Role(r.Light.Message.Role)
	return role == models.RoleAssistant || role == models.RoleTool
}

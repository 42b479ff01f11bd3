package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func listTests() []test {
	return []test{
		{"NewestFirst", listNewest},
		{"FiltersAndPages", listFilters},
		{"EverySessionOnce", listOnce},
		{"TextIsLiteral", listText},
		{"Offset", listOffset},
		{"BadCursor", listCursor},
	}
}

// population is sessions of every agent, channel, scope and state, newest last.
func (f *fixture) population() []*models.Session {
	f.Helper()
	var all []*models.Session
	states := []models.SessionState{models.SessionActive, models.SessionIdle, models.SessionCompacted, models.SessionArchived}
	for i := range 48 {
		s := f.newSession(f.key())
		s.AgentID = []string{"assistant", "Assistant", "other"}[i%3]
		s.Channel = []string{"feishu", "dingtalk"}[i%2]
		s.Scope = models.Scopes()[i%6]
		s.State = states[i%4]
		s.Title = fmt.Sprintf("Title %d 计划", i)
		s.CreatedAt = f.at(time.Duration(i) * time.Millisecond)
		f.ok(f.CreateSession(f.ctx, s))
		all = append(all, s)
	}
	return all
}

// list walks all pages.
func (f *fixture) list(q store.SessionQuery) []string {
	f.Helper()
	var all []string
	for range 1000 {
		items, next, err := f.ListSessions(f.ctx, q)
		f.ok(err)
		if len(items) > q.Limit {
			f.Fatalf("a page of %d items, want at most %d", len(items), q.Limit)
		}
		for _, s := range items {
			equal(f, "messages in a list", len(s.Messages), 0)
			all = append(all, s.Key)
		}
		if next == "" {
			return all
		}
		q.Cursor, q.Offset = next, 0
	}
	f.Fatalf("the list does not end")
	return nil
}

func keysOf(sessions []*models.Session, match func(*models.Session) bool) []string {
	var out []string
	for _, s := range slices.Backward(sessions) {
		if match(s) {
			out = append(out, s.Key)
		}
	}
	return out
}

func listNewest(f *fixture) {
	equal(f, "sessions", len(f.list(store.SessionQuery{Limit: 5})), 0)
	all := f.population()
	want := keysOf(all, func(*models.Session) bool { return true })
	for _, limit := range []int{1, 7, 48, 100} {
		equal(f, "sessions", f.list(store.SessionQuery{Limit: limit}), want)
	}
	f.add(all[3].Key, "use does not move it")
	equal(f, "sessions", f.list(store.SessionQuery{Limit: 7}), want)
}

func listFilters(f *fixture) {
	all := f.population()
	for _, q := range []store.SessionQuery{
		{AgentID: "assistant"}, {AgentID: "ASSISTANT"}, {Channel: "feishu"}, {Scope: models.ScopeThread}, {State: models.SessionIdle},
		{AgentID: "assistant", Channel: "dingtalk"}, {AgentID: "other", State: models.SessionArchived},
		{Channel: "feishu", Scope: models.ScopeMain}, {Scope: models.ScopeTask, State: models.SessionCompacted},
		{AgentID: "other", Channel: "feishu", Scope: models.ScopePerChannelPeer, State: models.SessionCompacted},
		{Text: "Title 4"}, {Text: "计划"}, {Text: "peer-11"}, {Text: "nowhere"},
		{Text: "Title 1", AgentID: "assistant"}, {Text: "Title", State: models.SessionActive, Channel: "feishu"},
	} {
		want := keysOf(all, func(s *models.Session) bool {
			return (q.AgentID == "" || s.AgentID == q.AgentID) && (q.Channel == "" || s.Channel == q.Channel) &&
				(q.Scope == "" || s.Scope == q.Scope) && (q.State == "" || s.State == q.State) &&
				(strings.Contains(s.Title, q.Text) || strings.Contains(s.Key, q.Text))
		})
		for _, limit := range []int{2, 5, 100} {
			q.Limit = limit
			equal(f, fmt.Sprintf("sessions of %+v", q), f.list(q), want)
		}
	}
}

// While sessions are used and added anywhere, each that was there all the time is listed exactly once.
func listOnce(f *fixture) {
	all := f.population()
	q := store.SessionQuery{Limit: 5, Channel: "feishu"}
	seen := map[string]int{}
	for page := range 100 {
		items, next, err := f.ListSessions(f.ctx, q)
		f.ok(err)
		for _, s := range items {
			seen[s.Key]++
		}
		if next == "" {
			break
		}
		if q.Cursor = next; page > 4 {
			continue
		}
		for i, at := range []time.Duration{time.Hour, 20 * time.Millisecond, -time.Hour} {
			s := f.newSession(fmt.Sprintf("%s-%d", f.key(), i))
			s.Channel, s.CreatedAt = "feishu", f.at(at)
			f.ok(f.CreateSession(f.ctx, s))
		}
		f.add(all[page*2].Key, "use")
	}
	for _, s := range all {
		if s.Channel == "feishu" {
			equal(f, "times that "+s.Key+" was listed", seen[s.Key], 1)
		}
	}
	for key, n := range seen {
		equal(f, "times that "+key+" was listed", n, 1)
	}
}

func listText(f *fixture) {
	for _, title := range []string{"100% done", "100 done", "a_b", "axb", `back\slash`, "it's", "Ünïcode", "UPPER"} {
		s := f.newSession(f.key())
		s.Title = title
		f.ok(f.CreateSession(f.ctx, s))
	}
	for text, want := range map[string]int{"100%": 1, "a_b": 1, `k\s`: 1, "it's": 1, "ïcode": 1, "UPP": 1, "%": 1} {
		got := f.list(store.SessionQuery{Text: text, Limit: 100})
		equal(f, fmt.Sprintf("sessions with %q", text), len(got), want)
	}
}

func listOffset(f *fixture) {
	all := f.population()
	want := keysOf(all, func(*models.Session) bool { return true })
	items, _, err := f.ListSessions(f.ctx, store.SessionQuery{Limit: 5, Offset: 10})
	f.ok(err)
	var got []string
	for _, s := range items {
		got = append(got, s.Key)
	}
	equal(f, "sessions", got, want[10:15])
	items, next, err := f.ListSessions(f.ctx, store.SessionQuery{Limit: 5, Offset: 1000})
	f.ok(err)
	equal(f, "sessions past the end", len(items), 0)
	equal(f, "cursor past the end", next, "")
}

func listCursor(f *fixture) {
	f.population()
	for _, cursor := range []string{"nonsense", "%%%", "\x00", strings.Repeat("A", 5000)} {
		_, _, err := f.ListSessions(f.ctx, store.SessionQuery{Limit: 5, Cursor: cursor})
		f.fails(err, store.ErrInvalid)
		_, _, err = f.ListInbound(f.ctx, store.InboundQuery{Limit: 5, Cursor: cursor})
		f.fails(err, store.ErrInvalid)
		_, _, err = f.ListDeliveries(f.ctx, store.DeliveryQuery{Limit: 5, Cursor: cursor})
		f.fails(err, store.ErrInvalid)
	}
}

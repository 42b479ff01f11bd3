package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func searchTests() []test {
	return []test{
		{"Words", searchWords},
		{"OrderAndPages", searchPages},
		{"Filters", searchFilters},
		{"WholeMessage", searchMessage},
		{"Asked", searchAsked},
		{"ForgetsWhatIsGone", searchGone},
		{"Unknown", searchUnknown},
		{"LooksAtSoMany", searchBound},
		{"Random", searchRandom},
	}
}

// search returns all that a query finds in a session (empty: anywhere), page by page,
// as "session slot content".
func (f *fixture) search(q store.MessageQuery, text string) (found []string) {
	f.Helper()
	parsed, err := words.Parse(text)
	f.ok(err)
	q.Words = parsed
	for range 1000 {
		items, next, err := f.SearchMessages(f.ctx, q)
		f.ok(err)
		if q.Limit > 0 && len(items) > q.Limit {
			f.Fatalf("a page of %d items, want at most %d", len(items), q.Limit)
		}
		for _, item := range items {
			found = append(found, item.SessionKey+" "+item.Message.Slot+" "+item.Message.Content)
		}
		if next == "" {
			return found
		}
		q.Cursor = next
	}
	f.Fatalf("the search for %q does not end", text)
	return nil
}

// found is search in one session, as contents.
func (f *fixture) found(key, text string) []string {
	f.Helper()
	out := []string{}
	for _, line := range f.search(store.MessageQuery{SessionKey: key}, text) {
		out = append(out, strings.SplitN(line, " ", 3)[2])
	}
	return out
}

func searchWords(f *fixture) {
	key, other := f.key(), f.key()
	texts := []string{
		"明天部署到生产环境", "The ZEBRA deploys tomorrow", "100% done_now! path\\to 'it' \"so\"", "ÉCOLE Привет Ärger straße", "😀 party",
		strings.Repeat("长", 5000) + "末", "100 percent, donexnow", "e\u0301cole", "\u212a",
	}
	f.create(key, texts...)
	f.create(other, texts...)
	for query, want := range map[string][]int{
		"部署": {0}, "署": {0}, "生产 部署": {0}, "部产": nil, "环境　明天": {0},
		"zebra": {1}, "DEPLOY morrow": {1}, "zebra 部署": nil, "the": {1},
		"100%": {2}, "%": {2}, "_": {2}, "done_now": {2}, "done": {6, 2}, "!": {2}, "\\to": {2}, "'it'": {2}, "\"": {2}, "10_": nil,
		"école": {3}, "ÉcOlE": {3}, "привет ärger": {3}, "ecole": nil, "STRASSE": nil, "straße": {3},
		"😀": {4}, "🚗": nil, "😀 PARTY": {4},
		"末": {5}, strings.Repeat("长", words.MaxQuery): {5}, "cole": {7, 3}, "k": nil, "\u212a": {8},
		"o": {7, 6, 3, 2, 1},
	} {
		wanted := make([]string, 0, len(want))
		for _, i := range want {
			wanted = append(wanted, texts[i])
		}
		if got := f.found(key, query); !slices.Equal(got, wanted) {
			f.Fatalf("%.40q finds %.200q, want %.200q", query, got, wanted)
		}
	}
}

func searchPages(f *fixture) {
	var want []string
	for i := range 5 { // the newest session first
		s := f.newSession(f.key())
		s.CreatedAt = f.at(time.Duration(i) * time.Second)
		f.ok(f.CreateSession(f.ctx, s))
		f.add(s.Key, "word one", "none", "word two")
		f.slot(s.Key, "work", "word three")
		f.add(s.Key, "word four")
		want = append([]string{
			s.Key + " work word three", s.Key + " default word four", s.Key + " default word two", s.Key + " default word one",
		}, want...)
	}
	for _, limit := range []int{0, 1, 2, 3, 4, 20} {
		equal(f, fmt.Sprintf("pages of %d", limit), f.search(store.MessageQuery{Limit: limit}, "WORD"), want)
	}
	key, _, _ := strings.Cut(want[4], " ")
	for _, limit := range []int{0, 1, 2, 3, 4, 20} {
		equal(f, fmt.Sprintf("pages of %d", limit), f.search(store.MessageQuery{SessionKey: key, Limit: limit}, "WORD"), want[4:8])
	}
	items, next, err := f.SearchMessages(f.ctx, store.MessageQuery{Words: []string{"word"}, Limit: len(want)})
	f.ok(err)
	equal(f, "whole page", len(items), len(want))
	equal(f, "its cursor", next, "")
}

func searchFilters(f *fixture) {
	key, other := f.key(), f.key()
	f.create(key, "word by a user")
	s := f.newSession(other)
	s.AgentID = "second"
	f.ok(f.CreateSession(f.ctx, s))
	f.add(other, "word of another")
	f.slot(key, "work", "word at work")
	for _, m := range []*models.SessionMessage{
		f.said(models.RoleAssistant, "word by the assistant"), f.said(models.RoleTool, "word by a tool"),
	} {
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	}
	for _, c := range []struct {
		what string
		q    store.MessageQuery
		want int
	}{
		{"anywhere", store.MessageQuery{}, 5},
		{"session", store.MessageQuery{SessionKey: key}, 4},
		{"agent", store.MessageQuery{AgentID: "second"}, 1},
		{"agent of another session", store.MessageQuery{AgentID: "assistant"}, 4},
		{"slot", store.MessageQuery{SessionKey: key, Slot: "work"}, 1},
		{"default slot", store.MessageQuery{SessionKey: key, Slot: models.DefaultSlot}, 3},
		{"roles", store.MessageQuery{SessionKey: key, Roles: []models.Role{models.RoleUser, models.RoleAssistant}}, 3},
		{"role", store.MessageQuery{Roles: []models.Role{models.RoleTool}}, 1},
	} {
		equal(f, c.what, len(f.search(c.q, "word")), c.want)
	}
}

func searchMessage(f *fixture) {
	key := f.key()
	f.create(key)
	m := f.said(models.RoleUser, "word")
	m.SenderID, m.SenderName, m.PlatformMessageID = "ou_1", "Lin", "om_1"
	m.Images = []string{"data:image/png;base64," + strings.Repeat("x", 100_000)}
	f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	items, _, err := f.SearchMessages(f.ctx, store.MessageQuery{SessionKey: key, Words: []string{"word"}})
	f.ok(err)
	equal(f, "found", len(items), 1)
	got := items[0].Message
	equal(f, "message", [...]any{got.ID, got.Seq, got.Slot, got.Role, got.TokenCount}, [...]any{m.ID, m.Seq, models.DefaultSlot, m.Role, m.TokenCount})
	f.sameTime("createdAt", got.CreatedAt, m.CreatedAt)
	equal(f, "large picture", [...]any{len(got.Images), got.ImagesOmitted}, [...]any{0, true})
}

// An answer is found with what it answers, however much lies between them up to a bound.
func searchAsked(f *fixture) {
	key := f.key()
	f.create(key)
	say := func(role models.Role, text string, change ...func(m *models.SessionMessage)) {
		m := f.said(role, text)
		for _, c := range change {
			c(m)
		}
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	}
	by := func(id string) func(m *models.SessionMessage) {
		return func(m *models.SessionMessage) {
			m.SenderID, m.Images = id, []string{"data:image/png;base64," + strings.Repeat("x", 100_000)}
		}
	}
	say(models.RoleAssistant, "welcome word")
	say(models.RoleUser, "word of Lin", by("lin"))
	say(models.RoleTool, "a word by a tool")
	say(models.RoleAssistant, "first word for Lin")
	say(models.RoleAssistant, "second word for Lin")
	say(models.RoleUser, "asks", by("bob"))
	say(models.RoleSystem, "the word of a rule")
	say(models.RoleAssistant, "word for Bob")
	f.turn(key, "undone")
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	say(models.RoleAssistant, "one more word for Bob")
	f.slot(key, "work", "asks elsewhere", "word elsewhere")
	between := make([]*models.SessionMessage, store.AskedWithin)
	for i := range between {
		between[i] = f.said(models.RoleTool, "result")
	}
	f.ok(f.AppendMessages(f.ctx, key, between))
	say(models.RoleAssistant, "late word")
	want := []string{
		"late word: ", "one more word for Bob: bob asks", "word for Bob: bob asks", "the word of a rule: ", "second word for Lin: lin word of Lin",
		"first word for Lin: lin word of Lin", "a word by a tool: lin word of Lin", "word of Lin: ", "welcome word: ",
	}
	for _, limit := range []int{20, 4} {
		var got []string
		for cursor := ""; ; {
			found, next, err := f.SearchMessages(f.ctx, store.MessageQuery{
				SessionKey: key, Slot: models.DefaultSlot, Words: []string{"word"}, WithAsked: true, Limit: limit, Cursor: cursor,
			})
			f.ok(err)
			for _, m := range found {
				line := m.Message.Content + ": "
				if m.Asked != nil {
					line += m.Asked.SenderID + " " + m.Asked.Content
				}
				got = append(got, line)
			}
			if cursor = next; next == "" {
				break
			}
		}
		equal(f, "answers", got, want)
	}
	found, _, err := f.SearchMessages(f.ctx, store.MessageQuery{SessionKey: key, Words: []string{"word of lin"}})
	f.ok(err)
	equal(f, "sender beside a large picture", found[0].Message.SenderID, "lin")
	found, _, err = f.SearchMessages(f.ctx, store.MessageQuery{SessionKey: key, Words: []string{"word for bob"}})
	f.ok(err)
	if found[0].Asked != nil {
		f.Fatalf("nobody wanted to know what was asked")
	}
}

func searchGone(f *fixture) {
	key := f.key()
	f.turn(key, "word in the first turn")
	f.turn(key, "word in the second turn")
	finds := func(what string, want int) {
		f.Helper()
		equal(f, what, len(f.search(store.MessageQuery{}, "word")), want)
		equal(f, what+", in the session", len(f.found(key, "word")), want)
	}
	finds("both turns", 4)
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	finds("undone", 2)
	f.derive(key, models.DefaultSlot, "branch", models.DeriveFull, nil)
	finds("copied", 4)
	f.reset(key, models.DefaultSlot)
	finds("reset", 2)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	finds("restored", 4)
	f.change(key, func(tx store.SessionTx) error { return tx.DeleteSlot("branch", f.now) })
	finds("slot deleted", 2)
	f.compact(key, models.DefaultSlot, 2, "summary with the word")
	finds("compacted", 3)
	f.dropped(key, models.DefaultSlot, 1)
	finds("dropped", 2)
	f.delete(key)
	equal(f, "deleted", len(f.search(store.MessageQuery{}, "word")), 0)
	f.eraseAll()
	equal(f, "erased", len(f.search(store.MessageQuery{}, "word")), 0)
}

func searchUnknown(f *fixture) {
	key := f.key()
	search := func(q store.MessageQuery) error {
		_, _, err := f.SearchMessages(f.ctx, q)
		return err
	}
	f.ok(search(store.MessageQuery{Words: []string{"x"}}))
	f.fails(search(store.MessageQuery{Words: []string{"x"}, SessionKey: key}), store.ErrNotFound)
	f.create(key)
	f.ok(search(store.MessageQuery{Words: []string{"x"}, SessionKey: key}))
	f.fails(search(store.MessageQuery{Words: []string{"x"}, SessionKey: key, Slot: "gone"}), store.ErrNotFound)
	f.fails(search(store.MessageQuery{SessionKey: key}), store.ErrInvalid)
	for _, word := range []string{"", "a\x00b", "\xff"} {
		f.fails(search(store.MessageQuery{Words: []string{word}}), store.ErrInvalid)
	}
	for _, cursor := range []string{"x", "MSwyLDM", "LTEsYWIsMSwx", "MSxhYiwx", "MSxnZywxLDE"} {
		f.fails(search(store.MessageQuery{Words: []string{"x"}, Cursor: cursor}), store.ErrInvalid)
	}
}

// One call looks at a bounded number of messages; the cursor leads on to the rest.
func searchBound(f *fixture) {
	key := f.key()
	f.create(key)
	all := make([]*models.SessionMessage, 3000)
	for i := range all {
		all[i] = f.said(models.RoleUser, "filler")
	}
	all[0].Content = "the oldest word"
	for sent := all; len(sent) > 0; sent = sent[min(500, len(sent)):] {
		f.ok(f.AppendMessages(f.ctx, key, sent[:min(500, len(sent))]))
	}
	for i := range 33 { // copies are quick to make
		f.derive(key, models.DefaultSlot, fmt.Sprintf("copy-%d", i), models.DeriveFull, nil)
	}
	equal(f, "found", len(f.found(key, "word")), 34)
	items, next, err := f.SearchMessages(f.ctx, store.MessageQuery{Words: []string{"word"}, Limit: 100})
	f.ok(err)
	if len(items) != store.MaxSearched/3000 || next == "" {
		f.Fatalf("%d of 34 found, cursor %q", len(items), next)
	}
	equal(f, "found in two calls", len(f.search(store.MessageQuery{Limit: 100}, "word")), 34)
}

// What a search finds is what a reader of all messages would find.
func searchRandom(f *fixture) {
	chance := rand.New(rand.NewPCG(5, 8))
	pieces := []string{"部署", "生产", "a", "B", "%", "_", "é", "É", "😀", "!", " ", "\n"}
	text := func(most int) string {
		var b strings.Builder
		for range 1 + chance.IntN(most) {
			b.WriteString(pieces[chance.IntN(len(pieces))])
		}
		return b.String()
	}
	var keys []string
	for i := range 6 {
		key := f.key()
		s := f.newSession(key)
		s.CreatedAt = f.at(time.Duration(i) * time.Second)
		f.ok(f.CreateSession(f.ctx, s))
		keys = append([]string{key}, keys...)
		for range chance.IntN(25) {
			f.turn(key, text(8))
			switch chance.IntN(6) {
			case 0:
				f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(tx.CurrentSlot(), f.now) })
			case 1:
				name := fmt.Sprintf("slot-%d", chance.IntN(1000))
				f.slot(key, name, text(5), text(5))
				f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot(name) })
			}
		}
	}
	for range 60 {
		query := text(3)
		looked, err := words.Parse(query)
		if err != nil {
			continue
		}
		var want []string
		for _, key := range keys {
			slots := f.slots(key)
			slices.Reverse(slots)
			for _, slot := range slots {
				messages, err := f.Messages(f.ctx, key, slot.ID, 0, 1000)
				f.ok(err)
				slices.Reverse(messages)
				for _, m := range messages {
					if words.Match(m.Content, looked) {
						want = append(want, key+" "+slot.ID+" "+m.Content)
					}
				}
			}
		}
		for _, limit := range []int{0, 1 + chance.IntN(7)} {
			if got := f.search(store.MessageQuery{Limit: limit}, query); !slices.Equal(got, want) {
				f.Fatalf("%q in pages of %d finds\n%q, want\n%q", query, limit, got, want)
			}
		}
	}
}

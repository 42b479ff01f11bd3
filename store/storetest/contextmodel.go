package storetest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func contextModelTests() []test {
	return []test{{"RandomOperations", func(f *fixture) {
		t, ok := f.reporter.(*testing.T)
		if !ok {
			f.Fatalf("a property test within a property test")
		}
		defer few(f)()
		rapid.Check(t, func(rt *rapid.T) {
			g := *f
			g.reporter = rt
			m := &contextModel{f: &g, key: g.key(), slots: map[string]*shownSlot{models.DefaultSlot: {next: 1}}}
			g.create(m.key)
			rt.Repeat(rapid.StateMachineActions(m))
			g.delete(m.key) // nothing of it is in the way of the next one
		})
	}}}
}

// contextModel is what the contexts of one session should show. Its exported
// methods are the operations; each does to the store what it does to the model.
type contextModel struct {
	f     *fixture
	key   string
	slots map[string]*shownSlot
	said  int
}

type shownSlot struct {
	next, through, summary, merged int64
	messages                       []shownMessage
	aside                          []shownSlot
}

type shownMessage struct {
	seq, turn       int64
	text            string
	summary, undone bool
}

// shows reports whether a context has the message besides its summary.
func (s *shownSlot) shows(m shownMessage) bool { return m.seq > s.through && !m.undone && !m.summary }

func (m *contextModel) pick(t *rapid.T, label string) (string, *shownSlot) {
	var names []string
	for name := range m.slots {
		names = append(names, name)
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(t, label)
	return name, m.slots[name]
}

// Check compares the store with the model.
func (m *contextModel) Check(*rapid.T) {
	f := m.f
	for name, s := range m.slots {
		all, shown, size, tokens := []string{}, []string{}, 0, 0
		for _, msg := range s.messages {
			if !msg.undone {
				all = append(all, msg.text)
			}
			switch {
			case msg.seq == s.summary:
				shown = append([]string{msg.text}, shown...)
			case s.shows(msg):
				shown = append(shown, msg.text)
			default:
				continue
			}
			size, tokens = size+1, tokens+len(msg.text)
		}
		equal(f, "history of "+name, f.history(m.key, name), all)
		equal(f, "context of "+name, f.context(m.key, name), shown)
		live, liveTokens := f.live(m.key, name)
		equal(f, "size of "+name, [...]int{live, liveTokens}, [...]int{size, tokens})
	}
	f.counted(m.key)
}

// Append says something.
func (m *contextModel) Append(t *rapid.T) {
	name, s := m.pick(t, "slot")
	turn := s.next
	var messages []*models.SessionMessage
	for range rapid.IntRange(1, 3).Draw(t, "messages") {
		m.said++
		msg := m.f.said(models.RoleUser, fmt.Sprint("m", m.said))
		messages = append(messages, msg)
		s.messages = append(s.messages, shownMessage{seq: s.next, turn: turn, text: msg.Content})
		s.next++
	}
	m.f.change(m.key, func(tx store.SessionTx) error { return tx.Append(name, messages, m.f.now) })
}

// Compact replaces a beginning of what is shown.
func (m *contextModel) Compact(t *rapid.T) {
	name, s := m.pick(t, "slot")
	if s.through+1 >= s.next {
		t.Skip("nothing to compact")
	}
	through := rapid.Int64Range(s.through+1, s.next-1).Draw(t, "through")
	m.said++
	text := fmt.Sprint("summary ", m.said)
	m.f.compact(m.key, name, through, text)
	s.through, s.summary = through, s.next
	s.messages = append(s.messages, shownMessage{seq: s.next, turn: s.next, text: text, summary: true})
	s.next++
}

// Undo sets the last turn aside.
func (m *contextModel) Undo(t *rapid.T) {
	name, s := m.pick(t, "slot")
	undo := func(tx store.SessionTx) error { return tx.UndoTurn(name, m.f.now) }
	turn := int64(0)
	for _, msg := range s.messages {
		if s.shows(msg) {
			turn = msg.turn
		}
	}
	if turn == 0 {
		m.f.refuses(m.key, store.ErrNotFound, undo)
		return
	}
	for i, msg := range s.messages {
		if s.shows(msg) && msg.turn == turn {
			s.messages[i].undone = true
		}
	}
	m.f.change(m.key, undo)
}

// Drop removes the oldest messages.
func (m *contextModel) Drop(t *rapid.T) {
	name, s := m.pick(t, "slot")
	through := rapid.Int64Range(0, s.next).Draw(t, "through")
	before := len(s.messages)
	s.messages = slices.DeleteFunc(s.messages, func(msg shownMessage) bool { return msg.seq <= through && msg.seq != s.summary })
	equal(m.f, "dropped", m.f.dropped(m.key, name, through), before-len(s.messages))
}

// Derive makes a copy of a slot.
func (m *contextModel) Derive(t *rapid.T) {
	name, s := m.pick(t, "slot")
	if len(m.slots) == 4 {
		t.Skip("enough slots")
	}
	id := fmt.Sprint("s", len(m.slots))
	m.f.derive(m.key, name, id, models.DeriveFull, nil)
	d := &shownSlot{next: 1, through: s.through, summary: s.summary}
	for _, msg := range s.messages {
		if !msg.undone {
			d.messages = append(d.messages, msg)
			d.next = msg.seq + 1
		}
	}
	d.merged = d.next - 1
	m.slots[id] = d
}

// Merge appends what is new in one slot to another.
func (m *contextModel) Merge(t *rapid.T) {
	from, source := m.pick(t, "from")
	into, target := m.pick(t, "into")
	if from == into {
		t.Skip("one slot")
	}
	shift, n := target.next-source.merged-1, 0
	for _, msg := range source.messages {
		if msg.seq > source.merged && !msg.undone && !msg.summary {
			msg.seq, msg.turn = msg.seq+shift, msg.turn+shift
			target.messages = append(target.messages, msg)
			n++
		}
	}
	if n > 0 {
		target.next, source.merged = source.next+shift, source.next-1
	}
	equal(m.f, "merged", m.f.merge(m.key, from, into), n)
}

// Reset empties a slot.
func (m *contextModel) Reset(t *rapid.T) {
	name, s := m.pick(t, "slot")
	m.f.reset(m.key, name)
	m.slots[name] = s.exchange(shownSlot{next: 1}, s.aside)
}

// Restore brings back what was set aside last.
func (m *contextModel) Restore(t *rapid.T) {
	name, s := m.pick(t, "slot")
	if len(s.aside) == 0 {
		t.Skip("nothing was set aside")
	}
	m.f.change(m.key, func(tx store.SessionTx) error { return tx.Restore(name, 0, m.f.now) })
	last := len(s.aside) - 1
	m.slots[name] = s.exchange(s.aside[last], s.aside[:last:last])
}

// exchange sets the slot aside and returns what takes its place.
func (s *shownSlot) exchange(to shownSlot, aside []shownSlot) *shownSlot {
	if s.next > 1 {
		old := *s
		old.aside = nil
		aside = append(aside, old)
	}
	to.aside = aside
	return &to
}

package storetest

import (
	"errors"
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func modelTests() []test {
	return []test{{"RandomOperations", func(f *fixture) {
		t, ok := f.reporter.(*testing.T)
		if !ok {
			f.Fatalf("a property test within a property test")
		}
		defer few(f)()
		rapid.Check(t, func(rt *rapid.T) {
			g := *f
			g.reporter = rt
			m := &model{f: &g, key: g.key()}
			m.clear()
			rt.Repeat(rapid.StateMachineActions(m))
			m.Delete(rt) // nothing of it is in the way of the next one
		})
	}}}
}

// few keeps the number of random sequences low where the command line does not
// ask for one: each step of each costs a round of statements. It returns what
// sets the flag back.
func few(f *fixture) func() {
	const name, ordinary = "rapid.checks", "15"
	checks := flag.Lookup(name)
	before := checks.Value.String()
	if before != checks.DefValue {
		return func() {}
	}
	f.ok(flag.Set(name, ordinary))
	return func() { f.ok(flag.Set(name, before)) }
}

// model is what one session should look like. Its exported methods are the
// operations; each does to the store what it does to the model.
type model struct {
	f       *fixture
	key     string
	exists  bool
	current string
	slots   map[string]*modelSlot
	waiting []*modelMessage
	running *modelMessage
	claim   *store.Claim // of the running message
	stopped bool         // the running message has its outcome
	undone  bool         // whether the counters count what was undone is left open
}

type modelSlot struct {
	messages []string
	turns    []int // lengths of the history before each turn at its end
	aside    [][]string
}

type modelMessage struct {
	in   *models.Inbound
	slot string
}

func (m *model) clear() {
	m.exists, m.current, m.undone = false, models.DefaultSlot, false
	m.slots = map[string]*modelSlot{models.DefaultSlot: {}}
}

func (m *model) skipUnless(t *rapid.T, ok bool) {
	if !ok {
		t.Skip("not now")
	}
}

func (m *model) slotName(t *rapid.T) string {
	return rapid.SampledFrom([]string{models.DefaultSlot, "a", "b", "A"}).Draw(t, "slot")
}

// Check compares the store with the model.
func (m *model) Check(t *rapid.T) {
	f := m.f
	s, err := f.Session(f.ctx, m.key)
	if !m.exists {
		f.fails(err, store.ErrNotFound)
	} else {
		f.ok(err)
		equal(f, "current slot", s.CurrentSlot, m.current)
		total := 0
		for name, slot := range m.slots {
			equal(f, "history of "+name, f.history(m.key, name), append([]string{}, slot.messages...))
			total += len(slot.messages)
		}
		if !m.undone {
			equal(f, "message count", s.MessageCount, total)
		}
	}
	var pending []string
	if m.running != nil && !m.stopped {
		pending = append(pending, m.running.in.ID)
	}
	for _, w := range m.waiting {
		pending = append(pending, w.in.ID)
	}
	f.change(m.key, func(tx store.SessionTx) error {
		got, err := tx.Pending()
		f.ok(err)
		equal(f, "pending", ids(got), append([]string{}, pending...))
		return nil
	})
}

// Accept lets a message come.
func (m *model) Accept(t *rapid.T) {
	r := m.f.message(m.key)
	idle := m.claim == nil && len(m.waiting) == 0
	if rapid.Bool().Draw(t, "claim") {
		c := claim()
		r.Claim = &c
	}
	a := m.f.accept(r)
	equal(m.f, "slot", a.Inbound.Slot, m.current)
	msg := &modelMessage{in: a.Inbound, slot: m.current}
	if (a.Claim != nil) != (idle && r.Claim != nil) {
		m.f.Fatalf("claim is %v", a.Claim)
	}
	if a.Claim != nil {
		m.running, m.claim, m.stopped = msg, a.Claim, false
		return
	}
	m.waiting = append(m.waiting, msg)
}

// Begin takes the lane's next message.
func (m *model) Begin(t *rapid.T) {
	m.skipUnless(t, m.claim == nil && len(m.waiting) > 0 || m.claim != nil && m.stopped)
	c := m.claim
	if c == nil {
		var err error
		c, err = m.f.ClaimLane(m.f.ctx, claim(), m.key)
		m.f.ok(err)
		if c == nil {
			m.f.Fatalf("the lane is not due")
		}
	}
	turn, err := m.f.BeginTurn(m.f.ctx, *c, store.MergeRule{})
	m.f.ok(err)
	m.took(turn, c)
}

func (m *model) took(turn *store.Turn, c *store.Claim) {
	if len(m.waiting) == 0 {
		if turn != nil {
			m.f.Fatalf("a turn of an empty lane: %v", ids(turn.Inbounds))
		}
		m.running, m.claim, m.stopped = nil, nil, false
		return
	}
	if turn == nil {
		m.f.Fatalf("no turn, but %d messages wait", len(m.waiting))
	}
	equal(m.f, "turn", ids(turn.Inbounds), []string{m.waiting[0].in.ID})
	m.running, m.claim, m.stopped = m.waiting[0], c, false
	m.running.in = turn.Inbounds[0]
	m.waiting = m.waiting[1:]
}

// Commit ends the running turn.
func (m *model) Commit(t *rapid.T) {
	m.skipUnless(t, m.claim != nil)
	turn := &store.Turn{Claim: *m.claim, Inbounds: []*models.Inbound{m.running.in}}
	c := m.f.answer(turn, "answer to "+m.running.in.ID)
	if rapid.Bool().Draw(t, "keep") {
		c.Keep = longLease
	}
	done, err := m.f.CommitTurn(m.f.ctx, c)
	if m.stopped {
		m.f.fails(err, store.ErrStopped)
		return
	}
	m.f.ok(err)
	m.exists = true
	slot := m.slots[m.running.slot]
	slot.turns = append(slot.turns, len(slot.messages))
	slot.messages = append(slot.messages, contents(c.Messages)...)
	if rapid.Bool().Draw(t, "repeat") {
		done, err = m.f.CommitTurn(m.f.ctx, c)
		m.f.ok(err)
	}
	equal(m.f, "waiting", done.Waiting, len(m.waiting) > 0)
	m.running, m.claim = nil, nil
	if done.Kept == nil {
		return
	}
	next, err := m.f.BeginTurn(m.f.ctx, *done.Kept, store.MergeRule{})
	m.f.ok(err)
	m.took(next, done.Kept)
}

// Release hands the lane back.
func (m *model) Release(t *rapid.T) {
	m.skipUnless(t, m.claim != nil)
	m.f.ok(m.f.ReleaseLane(m.f.ctx, *m.claim, 0))
	if !m.stopped {
		m.waiting = append([]*modelMessage{m.running}, m.waiting...)
	}
	m.running, m.claim, m.stopped = nil, nil, false
}

// Stop cancels all that is pending.
func (m *model) Stop(*rapid.T) {
	m.f.change(m.key, func(tx store.SessionTx) error { return m.finishAll(tx) })
	m.stop()
}

func (m *model) finishAll(tx store.SessionTx) error {
	pending, err := tx.Pending()
	if err != nil || len(pending) == 0 {
		return err
	}
	return tx.Finish(ids(pending), store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled}, m.f.now)
}

func (m *model) stop() {
	m.waiting = nil
	m.stopped = m.running != nil
}

// Append writes past the queue.
func (m *model) Append(t *rapid.T) {
	msg := m.f.said(models.RoleUser, m.f.id("text"))
	err := m.f.AppendMessages(m.f.ctx, m.key, []*models.SessionMessage{msg})
	if !m.exists {
		m.f.fails(err, store.ErrNotFound)
		return
	}
	m.f.ok(err)
	slot := m.slots[m.current]
	slot.messages, slot.turns = append(slot.messages, msg.Content), nil
}

// change runs a change that fails if the session or slot is not as it should be.
func (m *model) change(want error, change func(tx store.SessionTx) error) bool {
	err := m.f.ChangeSession(m.f.ctx, m.key, change)
	if want == nil {
		m.f.ok(err)
	} else {
		m.f.fails(err, want)
	}
	return want == nil
}

// CreateSlot adds a slot.
func (m *model) CreateSlot(t *rapid.T) {
	m.skipUnless(t, m.exists)
	name := m.slotName(t)
	var want error
	if m.slots[name] != nil {
		want = store.ErrExists
	}
	if m.change(want, func(tx store.SessionTx) error { return tx.CreateSlot(m.f.newSlot(name)) }) {
		m.slots[name] = &modelSlot{}
	}
}

// DeriveSlot copies the current slot.
func (m *model) DeriveSlot(t *rapid.T) {
	m.skipUnless(t, m.exists)
	name, s := m.slotName(t), m.slots[m.current]
	m.skipUnless(t, m.slots[name] == nil && !m.undone)
	slot := m.f.newSlot(name)
	slot.Source = models.SlotSource{Kind: models.SlotDerived, ParentID: m.current, Strategy: models.DeriveFull}
	m.change(nil, func(tx store.SessionTx) error { return tx.DeriveSlot(slot, m.current) })
	m.slots[name] = &modelSlot{messages: slices.Clone(s.messages)}
}

// SwitchSlot makes another slot current.
func (m *model) SwitchSlot(t *rapid.T) {
	m.skipUnless(t, m.exists)
	name := m.slotName(t)
	var want error
	if m.slots[name] == nil {
		want = store.ErrNotFound
	}
	if m.change(want, func(tx store.SessionTx) error { return tx.SwitchSlot(name) }) {
		m.current = name
	}
}

// DeleteSlot removes a slot that nothing is bound to.
func (m *model) DeleteSlot(t *rapid.T) {
	m.skipUnless(t, m.exists && m.claim == nil && len(m.waiting) == 0)
	name := m.slotName(t)
	var want error
	switch {
	case name == models.DefaultSlot:
		want = store.ErrConflict
	case m.slots[name] == nil:
		want = store.ErrNotFound
	}
	if m.change(want, func(tx store.SessionTx) error { return tx.DeleteSlot(name, m.f.now) }) {
		delete(m.slots, name)
		if m.current == name {
			m.current = models.DefaultSlot
		}
	}
}

// Reset empties the current slot and stops all that is pending.
func (m *model) Reset(t *rapid.T) {
	m.skipUnless(t, m.exists)
	m.change(nil, func(tx store.SessionTx) error {
		return errors.Join(m.finishAll(tx), tx.Reset(m.current, 0, m.f.now))
	})
	s := m.slots[m.current]
	s.aside, s.messages, s.turns = append(s.aside, s.messages), nil, nil
	m.stop()
}

// Restore undoes the latest reset of a slot that is still empty, and stops all that is
// pending: it was to be answered from the other context.
func (m *model) Restore(t *rapid.T) {
	m.skipUnless(t, m.exists && len(m.slots[m.current].messages) == 0)
	s := m.slots[m.current]
	m.skipUnless(t, len(s.aside) == 0 || len(s.aside[len(s.aside)-1]) > 0)
	var want error
	if len(s.aside) == 0 {
		want = store.ErrNotFound
	}
	if m.change(want, func(tx store.SessionTx) error {
		return errors.Join(m.finishAll(tx), tx.Restore(m.current, 0, m.f.now))
	}) {
		s.messages, s.turns, s.aside = s.aside[len(s.aside)-1], nil, nil
		m.stop()
	}
}

// Undo sets the last turn of the current slot aside.
func (m *model) Undo(t *rapid.T) {
	s := m.slots[m.current]
	m.skipUnless(t, m.exists && len(s.turns) > 0 && m.claim == nil)
	m.change(nil, func(tx store.SessionTx) error { return tx.UndoTurn(m.current, m.f.now) })
	last := s.turns[len(s.turns)-1]
	s.messages, s.turns, m.undone = s.messages[:last], s.turns[:len(s.turns)-1], true
}

// Delete removes the session.
func (m *model) Delete(*rapid.T) {
	m.change(nil, func(tx store.SessionTx) error { return tx.Delete(m.f.now) })
	m.clear()
	m.stop()
}

// Erase runs the job that removes what deleted sessions left.
func (m *model) Erase(*rapid.T) {
	_, err := m.f.EraseDeleted(m.f.ctx, 3)
	m.f.ok(err)
}

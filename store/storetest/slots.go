package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func (f *fixture) newSlot(id string) *models.ContextSlot {
	return &models.ContextSlot{
		ID: id, Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: true, CreatedAt: f.now,
	}
}

// slot adds a slot with messages to a session.
func (f *fixture) slot(key, id string, texts ...string) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error {
		if err := tx.CreateSlot(f.newSlot(id)); err != nil {
			return err
		}
		for _, text := range texts {
			if err := tx.Append(id, []*models.SessionMessage{f.said(models.RoleUser, text)}, f.now); err != nil {
				return err
			}
		}
		return nil
	})
}

// slots reads the slots of a session.
func (f *fixture) slots(key string) []*models.ContextSlot {
	f.Helper()
	var all []*models.ContextSlot
	f.change(key, func(tx store.SessionTx) error {
		var err error
		all, err = tx.Slots()
		return err
	})
	return all
}

// slotOf reads one slot of a session.
func (f *fixture) slotOf(key, id string) *models.ContextSlot {
	f.Helper()
	for _, s := range f.slots(key) {
		if s.ID == id {
			return s
		}
	}
	f.Fatalf("no slot %q", id)
	return nil
}

func slotIDs(slots []*models.ContextSlot) []string {
	var out []string
	for _, s := range slots {
		out = append(out, s.ID)
	}
	return out
}

func slotTests() []test {
	return []test{
		{"Create", slotCreate},
		{"NewMessagesGoToTheCurrent", slotBinds},
		{"TurnStaysInItsSlot", slotTurnStays},
		{"Update", slotUpdate},
		{"DeriveFull", slotDeriveFull},
		{"DeriveFocused", slotDeriveFocused},
		{"DeriveFullOfAFocusedParent", slotDeriveFromFocused},
		{"Delete", slotDelete},
		{"DeleteTheCurrent", slotDeleteCurrent},
		{"RecreatedIsEmpty", slotRecreate},
		{"ResetOfAnotherSlot", slotReset},
	}
}

func slotCreate(f *fixture) {
	key := f.key()
	f.create(key)
	s := f.newSlot("Work.1")
	s.Mode, s.Compact = models.SlotFocused, false
	s.Focused = &models.Focus{KeepSystem: true, RecentMessages: 3, SummaryOverride: "摘要 😀"}
	s.Budget = &models.Budget{System: 1, History: 2, Tools: 3, ToolResults: 4, Reserve: 5}
	s.CreatedAt = f.at(time.Second)
	create := func(tx store.SessionTx) error { return tx.CreateSlot(s) }
	f.change(key, create)
	f.fails(f.ChangeSession(f.ctx, key, create), store.ErrExists)
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.CreateSlot(f.newSlot(models.DefaultSlot)) }), store.ErrExists)
	another := f.newSlot("work.1")
	another.CreatedAt = f.at(2 * time.Second)
	f.change(key, func(tx store.SessionTx) error { return tx.CreateSlot(another) })
	all := f.slots(key)
	equal(f, "slots", slotIDs(all), []string{models.DefaultSlot, "Work.1", "work.1"})
	got := all[1]
	f.sameTime("createdAt", got.CreatedAt, s.CreatedAt)
	want := *s
	want.SessionKey, want.CreatedAt = key, got.CreatedAt
	equal(f, "slot", *got, want)
	equal(f, "current", all[0].Current, true)
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.SwitchSlot("WORK.1") }), store.ErrNotFound)
}

func slotBinds(f *fixture) {
	key := f.key()
	f.create(key)
	f.slot(key, "work")
	before := f.waiting(key)
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	after := f.waiting(key)
	chosen := f.waiting(key, toSlot(models.DefaultSlot))
	equal(f, "slot", before.Slot, models.DefaultSlot)
	equal(f, "slot", after.Slot, "work")
	equal(f, "slot", chosen.Slot, models.DefaultSlot)
	equal(f, "current", f.session(key).CurrentSlot, "work")
}

// A switch between accept and commit does not move the answer.
func slotTurnStays(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	turn := f.start(key)
	f.slot(key, "work")
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	f.commit(f.answer(turn, "two"))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "to two", "two"})
	equal(f, "history", len(f.history(key, "work")), 0)
	f.turn(key, "three")
	equal(f, "history", f.history(key, "work"), []string{"to three", "three"})
}

func slotUpdate(f *fixture) {
	key := f.key()
	f.create(key, "one")
	s := f.slots(key)[0]
	s.Mode, s.Compact, s.Budget = models.SlotReadonly, false, &models.Budget{Auto: true}
	s.Focused = &models.Focus{RecentMessages: 0}
	s.MessageCount = 99
	f.change(key, func(tx store.SessionTx) error { return tx.UpdateSlot(s) })
	got := f.slots(key)[0]
	equal(f, "slot", [...]any{got.Mode, got.Compact, *got.Budget, *got.Focused, got.MessageCount},
		[...]any{models.SlotReadonly, false, *s.Budget, *s.Focused, 1})
	s.Focused, s.Budget = nil, nil
	f.change(key, func(tx store.SessionTx) error { return tx.UpdateSlot(s) })
	got = f.slots(key)[0]
	if got.Focused != nil || got.Budget != nil {
		f.Fatalf("focus %+v and budget %+v were not taken away", got.Focused, got.Budget)
	}
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.UpdateSlot(f.newSlot("gone")) }), store.ErrNotFound)
}

// parent makes a session whose default slot has a system message and five others.
func parent(f *fixture) string {
	key := f.key()
	f.create(key)
	f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{
		f.said(models.RoleSystem, "rules"), f.said(models.RoleUser, "1"), f.said(models.RoleAssistant, "2"),
		f.said(models.RoleSystem, "more rules"), f.said(models.RoleUser, "3"), f.said(models.RoleAssistant, "4"),
	}))
	return key
}

// derive adds a slot derived from the default one.
func (f *fixture) derive(key, from, id string, strategy models.DeriveStrategy, focus *models.Focus) {
	f.Helper()
	s := f.newSlot(id)
	s.Source = models.SlotSource{Kind: models.SlotDerived, ParentID: from, Strategy: strategy}
	if strategy == models.DeriveFocused {
		s.Mode, s.Focused = models.SlotFocused, focus
	}
	f.change(key, func(tx store.SessionTx) error { return tx.DeriveSlot(s, from) })
}

func slotDeriveFull(f *fixture) {
	key := parent(f)
	f.derive(key, models.DefaultSlot, "copy", models.DeriveFull, nil)
	want := []string{"rules", "1", "2", "more rules", "3", "4"}
	equal(f, "copy", f.history(key, "copy"), want)
	s := f.session(key)
	equal(f, "messages", s.MessageCount, 12)
	derived := f.slotOf(key, "copy")
	equal(f, "slot", [...]any{derived.MessageCount, derived.TotalTokens, derived.Source},
		[...]any{6, f.slotOf(key, models.DefaultSlot).TotalTokens, models.SlotSource{Kind: models.SlotDerived, ParentID: models.DefaultSlot, Strategy: models.DeriveFull}})

	// Both are independent afterwards.
	f.add(key, "5")
	equal(f, "copy", f.history(key, "copy"), want)
	f.reset(key, models.DefaultSlot)
	equal(f, "copy", f.history(key, "copy"), want)
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("copy") })
	f.add(key, "6")
	equal(f, "copy", f.history(key, "copy"), append(want, "6"))
	equal(f, "parent", len(f.history(key, models.DefaultSlot)), 0)

	duplicate := func(tx store.SessionTx) error { return tx.DeriveSlot(f.newSlot("copy"), models.DefaultSlot) }
	f.fails(f.ChangeSession(f.ctx, key, duplicate), store.ErrExists)
	orphan := func(tx store.SessionTx) error { return tx.DeriveSlot(f.newSlot("orphan"), "gone") }
	f.fails(f.ChangeSession(f.ctx, key, orphan), store.ErrNotFound)
}

func slotDeriveFocused(f *fixture) {
	key := parent(f)
	f.derive(key, models.DefaultSlot, "both", models.DeriveFocused, &models.Focus{KeepSystem: true, RecentMessages: 2, SummaryOverride: "summary"})
	equal(f, "system and newest", f.history(key, "both"), []string{"rules", "3", "4"})
	f.derive(key, models.DefaultSlot, "recent", models.DeriveFocused, &models.Focus{RecentMessages: 1})
	equal(f, "newest", f.history(key, "recent"), []string{"4"})
	f.derive(key, models.DefaultSlot, "system", models.DeriveFocused, &models.Focus{KeepSystem: true})
	equal(f, "system", f.history(key, "system"), []string{"rules"})
	equal(f, "mode", f.slotOf(key, "both").Mode, models.SlotFocused)
	for id, want := range map[string]int{"both": 3, "recent": 1, "system": 1, models.DefaultSlot: 6} {
		equal(f, "messages of "+id, f.slotOf(key, id).MessageCount, want)
	}
}

func slotDeriveFromFocused(f *fixture) {
	key := parent(f)
	s := f.slots(key)[0]
	s.Mode, s.Focused = models.SlotFocused, &models.Focus{RecentMessages: 1}
	f.change(key, func(tx store.SessionTx) error { return tx.UpdateSlot(s) })
	f.derive(key, models.DefaultSlot, "copy", models.DeriveFull, nil)
	equal(f, "copy", f.history(key, "copy"), []string{"rules", "1", "2", "more rules", "3", "4"})
}

func (f *fixture) deleteSlot(key, id string) error {
	return f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.DeleteSlot(id, f.now) })
}

func slotDelete(f *fixture) {
	key := f.key()
	f.create(key, "one")
	f.slot(key, "work", "two", "three")
	equal(f, "messages", f.session(key).MessageCount, 3)
	f.ok(f.deleteSlot(key, "work"))
	equal(f, "slots", slotIDs(f.slots(key)), []string{models.DefaultSlot})
	equal(f, "messages", f.session(key).MessageCount, 1)
	_, err := f.Messages(f.ctx, key, "work", 0, 10)
	f.fails(err, store.ErrNotFound)
	f.fails(f.deleteSlot(key, "work"), store.ErrNotFound)
	f.fails(f.deleteSlot(key, models.DefaultSlot), store.ErrConflict)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"one"})
}

func slotDeleteCurrent(f *fixture) {
	key := f.key()
	f.create(key, "one")
	f.slot(key, "work")
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	turn := f.start(key)
	equal(f, "slot", turn.Inbounds[0].Slot, "work")
	f.ok(f.deleteSlot(key, "work"))
	equal(f, "current", f.session(key).CurrentSlot, models.DefaultSlot)
	equal(f, "slot", f.waiting(key).Slot, models.DefaultSlot)
	if _, err := f.CommitTurn(f.ctx, f.answer(turn, "into the void")); err == nil {
		f.Fatalf("a turn was committed into a slot that is gone")
	}
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"one"})
}

func slotRecreate(f *fixture) {
	key := f.key()
	f.create(key)
	f.slot(key, "work", "old")
	f.ok(f.deleteSlot(key, "work"))
	f.slot(key, "work")
	equal(f, "history", len(f.history(key, "work")), 0)
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	f.add(key, "new")
	equal(f, "history", f.history(key, "work"), []string{"new"})
	equal(f, "messages", f.session(key).MessageCount, 1)
}

func slotReset(f *fixture) {
	key := f.key()
	f.create(key, "one")
	f.slot(key, "work", "two")
	f.reset(key, "work")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"one"})
	equal(f, "history", len(f.history(key, "work")), 0)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore("work", 0, f.now) })
	equal(f, "history", f.history(key, "work"), []string{"two"})
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) }), store.ErrNotFound)
}

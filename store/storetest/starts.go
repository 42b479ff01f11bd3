package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// startTests are about where contexts start that a model was shown.
func startTests() []test {
	return []test{
		{"StartOfAContext", contextStart},
		{"StartIsForgotten", startForgotten},
		{"StartStays", startStays},
		{"StartIsCarried", startCarried},
	}
}

// shows notes in a commit what the model was shown.
func shows(first *models.SessionMessage, results int64) func(*store.TurnCommit) {
	return func(c *store.TurnCommit) { c.ShownFrom, c.ResultsFrom = first, results }
}

// showsOwn is shows for one of the messages that the turn adds.
func showsOwn(i int) func(*store.TurnCommit) {
	return func(c *store.TurnCommit) { c.ShownFrom = c.Messages[i] }
}

func seq(n int64) *models.SessionMessage { return &models.SessionMessage{Seq: n} }

// startsAt checks where the context of a slot is known to start.
func (f *fixture) startsAt(what, key, slot string, from, results int64) {
	f.Helper()
	c := f.load(key, slot)
	equal(f, what, [...]int64{c.ShownFrom, c.ResultsFrom}, [...]int64{from, results})
}

func contextStart(f *fixture) {
	key := f.key()
	f.startsAt("of no session", key, models.DefaultSlot, 0, 0)
	f.commit(f.answer(f.start(key), "one", showsOwn(0)))
	f.startsAt("with the session", key, models.DefaultSlot, 1, 0)
	f.commit(f.answer(f.start(key), "two", showsOwn(1)))
	f.startsAt("with what the turn adds", key, models.DefaultSlot, 4, 0)
	f.commit(f.answer(f.start(key), "three", shows(seq(2), 3)))
	f.startsAt("with an earlier message", key, models.DefaultSlot, 2, 3)

	// A turn without a model leaves it; a model that was shown something else does not.
	f.commit(f.answer(f.start(key), "four", func(c *store.TurnCommit) { c.ModelAt = time.Time{} }))
	f.startsAt("no model was called", key, models.DefaultSlot, 2, 3)
	f.commit(f.answer(f.start(key), "five"))
	f.startsAt("nothing is noted", key, models.DefaultSlot, 0, 0)

	lost := f.answer(f.start(key), "lost", shows(seq(1), 0))
	f.reset(key, models.DefaultSlot)
	if _, err := f.CommitTurn(f.ctx, lost); err == nil {
		f.Fatalf("a turn was committed into a context that was reset")
	}
	f.startsAt("a turn that was reset away", key, models.DefaultSlot, 0, 0)
}

// started is a session of three turns, whose context starts with the second.
func (f *fixture) started() string {
	f.Helper()
	key := f.key()
	f.turn(key, "one")
	f.turn(key, "two")
	f.commit(f.answer(f.start(key), "three", shows(seq(3), 4)))
	f.startsAt("before", key, models.DefaultSlot, 3, 4)
	return key
}

func startForgotten(f *fixture) {
	update := func(change func(*models.Session)) func(tx store.SessionTx) error {
		return func(tx store.SessionTx) error {
			s, err := tx.Session()
			if err != nil {
				return err
			}
			change(s)
			return tx.Update(s, f.now)
		}
	}
	for _, c := range []struct {
		what   string
		change func(tx store.SessionTx) error
	}{
		{"reset", func(tx store.SessionTx) error { return tx.Reset(models.DefaultSlot, 0, f.now) }},
		{"restored", func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) }},
		{"settings", func(tx store.SessionTx) error {
			return tx.UpdateSlot(&models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotFull, Compact: true, Budget: &models.Budget{History: 9}})
		}},
		{"model", update(func(s *models.Session) { s.Model = "other" })},
		{"prompt", update(func(s *models.Session) { s.SystemPrompt = "other" })},
		{"summary", func(tx store.SessionTx) error {
			generation, err := tx.Generation(models.DefaultSlot)
			if err != nil {
				return err
			}
			return tx.Compact(models.DefaultSlot, generation, 4, f.said(models.RoleSystem, "summary"), f.now)
		}},
	} {
		key := f.started()
		if c.what == "restored" {
			f.reset(key, models.DefaultSlot)
		}
		f.change(key, c.change)
		equal(f, c.what, f.load(key, models.DefaultSlot).ShownFrom, 0)
	}

	key := f.started()
	late := f.answer(f.start(key), "four", shows(seq(3), 4)) // made of what was before the summary
	f.compact(key, models.DefaultSlot, 4, "summary")
	f.commit(late)
	equal(f, "summary during a turn", f.load(key, models.DefaultSlot).ShownFrom, 0)

	key = f.started()
	undo := func() {
		f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	}
	undo()
	f.startsAt("undone behind it", key, models.DefaultSlot, 3, 4)
	undo()
	equal(f, "undone", f.load(key, models.DefaultSlot).ShownFrom, 0)
}

func startStays(f *fixture) {
	key := f.started()
	f.add(key, "more")
	f.change(key, func(tx store.SessionTx) error {
		s, err := tx.Session()
		if err != nil {
			return err
		}
		s.Title, s.Pinned = "title", true
		return tx.Update(s, f.now)
	})
	f.freeze(key, models.DefaultSlot, store.PrunedForm{Seq: 4, Pruned: "soft", Content: "short"})
	f.slot(key, "work", "in the slot")
	f.derive(key, models.DefaultSlot, "copy", models.DeriveFull, nil)
	f.merge(key, "work", models.DefaultSlot)
	f.dropped(key, models.DefaultSlot, 2)
	f.startsAt("of the slot", key, models.DefaultSlot, 3, 4)
	f.startsAt("of another one", key, "work", 0, 0)
	f.startsAt("of a copy", key, "copy", 0, 0)
}

func startCarried(f *fixture) {
	key, to := f.started(), f.key()
	c := f.carry(key)
	equal(f, "record", [...]int64{c.record.Contexts[0].ShownFrom, c.record.Contexts[0].ResultsFrom}, [...]int64{3, 4})
	f.ok(f.MoveSession(f.ctx, key, f.to(to), false))
	f.startsAt("moved", to, models.DefaultSlot, 3, 4)
	f.ok(f.imports(c))
	f.startsAt("imported", key, models.DefaultSlot, 3, 4)

	c.record.Session.Key = f.key()
	c.record.Contexts[0].ShownFrom = c.record.Contexts[0].NextSeq
	f.fails(f.imports(c), store.ErrInvalid)
}

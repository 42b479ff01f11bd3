package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Deletion would take what was not sent, or not carried out yet.
func lifecycleUnsent(f *fixture) {
	unsent, commanded, free := f.used(3*time.Hour), f.used(3*time.Hour), f.used(3*time.Hour)
	f.change(unsent, func(tx store.SessionTx) error {
		d := f.delivery("oc_1", "pushed")
		d.SessionKey = unsent
		return tx.Deliver([]*models.Delivery{d})
	})
	f.accept(f.message(commanded, kind(models.KindCommand)))
	due, err := f.DueSessions(f.ctx, store.StepExpire, f.at(-2*time.Hour), 10)
	f.ok(err)
	equal(f, "due", due, []string{free})
	equal(f, "passed", f.passes(store.StepExpire, f.at(-2*time.Hour)), store.Passed{Considered: 3, Changed: 1, Skipped: 2, InUse: 2})
	f.inStates(models.SessionActive, unsent, commanded)
	equal(f, "idle", f.passes(store.StepIdle, f.at(-2*time.Hour)).Changed, 2)
	f.sendAll()
	equal(f, "sent", f.passes(store.StepExpire, f.at(-2*time.Hour)).Changed, 1)
}

// Sessions that expire together go as each by itself would: cards that are open are
// closed, and nothing is left of any.
func lifecycleMany(f *fixture) {
	const many = 230
	now := f.now
	f.now = f.at(-3 * time.Hour)
	turn := f.start(f.key())
	f.ok(f.SavePreview(f.ctx, turn.Claim, f.preview(turn)))
	f.commit(f.answer(turn, "answer")) // its card stays open
	card := turn.Claim.SessionKey
	f.turn(f.key(), "text")
	f.now = now
	for range many {
		key := f.used(3 * time.Hour)
		f.notebook(key, "secret")
	}
	equal(f, "passed", f.passes(store.StepExpire, f.at(-2*time.Hour)), store.Passed{Considered: many + 2, Changed: many + 2})
	left, _, err := f.ListSessions(f.ctx, store.SessionQuery{Limit: 10})
	f.ok(err)
	equal(f, "left", len(left), 0)
	closing := f.sendAll()
	equal(f, "what closes the card", len(closing), 1)
	equal(f, "kind", closing[0].Kind, models.DeliveryPreview)
	f.eraseAll()
	f.turn(card, "again")
	equal(f, "history", f.history(card, models.DefaultSlot), []string{"to again", "again"})
}

// What an administrator restored is not archived again before its time, and idle as
// ever.
func lifecycleRestored(f *fixture) {
	key := f.used(3*time.Hour, inState(models.SessionArchived))
	f.change(key, func(tx store.SessionTx) error {
		s, err := tx.Session()
		if err != nil {
			return err
		}
		s.State = models.SessionActive
		return tx.Update(s, f.now)
	})
	equal(f, "idle", f.passes(store.StepIdle, f.at(-2*time.Hour)).Changed, 1)
	due, err := f.DueSessions(f.ctx, store.StepArchive, f.at(-2*time.Hour), 10)
	f.ok(err)
	equal(f, "due", len(due), 0)
	equal(f, "archived", f.passes(store.StepArchive, f.at(-2*time.Hour)), store.Passed{Considered: 1, Skipped: 1})
	equal(f, "archived later", f.passes(store.StepArchive, f.at(time.Minute)), store.Passed{Considered: 1, Changed: 1})
	f.change(key, func(tx store.SessionTx) error {
		s, err := tx.Session()
		if err != nil {
			return err
		}
		s.Title = "edited" // is no restoring
		return tx.Update(s, f.at(time.Hour))
	})
	f.inStates(models.SessionArchived, key)
}

func lifecycleCommand(f *fixture) {
	for state, key := range map[models.SessionState]string{
		models.SessionArchived: f.used(3*time.Hour, inState(models.SessionArchived)), models.SessionActive: f.used(3 * time.Hour),
	} {
		var was models.SessionState
		f.change(key, func(tx store.SessionTx) (err error) {
			was, err = tx.Use(f.at(-time.Minute))
			return err
		})
		equal(f, "state before", was, state)
		f.inStates(models.SessionActive, key)
		f.sameTime("lastUserAt", f.session(key).LastUserAt, f.at(-time.Minute))
	}
	equal(f, "idle", f.passes(store.StepIdle, f.at(-2*time.Minute)).Changed, 0)
	equal(f, "idle", f.passes(store.StepIdle, f.now).Changed, 2)
	f.refuses(f.key(), store.ErrNotFound, func(tx store.SessionTx) error {
		_, err := tx.Use(f.now)
		return err
	})
}

// A session that is looked at before it expires goes only if it stayed as it was.
func lifecycleMark(f *fixture) {
	before := f.at(-2 * time.Hour)
	mark := func(key string) string {
		m, err := f.SessionMark(f.ctx, key)
		f.ok(err)
		return m
	}
	gone := func(key, mark string) bool {
		done, err := f.ExpireSession(f.ctx, key, before, mark)
		f.ok(err)
		return done
	}
	for what, change := range map[string]func(tx store.SessionTx, key string) error{
		"message": func(tx store.SessionTx, _ string) error {
			return tx.Append(models.DefaultSlot, []*models.SessionMessage{f.said(models.RoleAssistant, "pushed")}, f.now)
		},
		"note": func(tx store.SessionTx, _ string) error {
			return tx.PutNote(&models.Note{Value: "new", CreatedAt: f.now})
		},
		"variable": func(tx store.SessionTx, _ string) error { return tx.SetVariable("name", []byte(`"new"`)) },
		"file":     func(tx store.SessionTx, _ string) error { return tx.PutFile(models.PlanFiles()[0], "new") },
		"slot":     func(tx store.SessionTx, _ string) error { return tx.CreateSlot(f.newSlot("more")) },
		"title": func(tx store.SessionTx, _ string) error {
			s, err := tx.Session()
			if err == nil {
				s.Title = "new"
				err = tx.Update(s, f.now)
			}
			return err
		},
	} {
		key := f.used(3 * time.Hour)
		f.notebook(key, "old")
		was := mark(key)
		equal(f, "mark as it was", mark(key), was)
		f.change(key, func(tx store.SessionTx) error { return change(tx, key) })
		if mark(key) == was {
			f.Fatalf("a new %s does not change the mark", what)
		}
		equal(f, "gone after a new "+what, gone(key, was), false)
		f.inStates(models.SessionActive, key)
		equal(f, "gone", gone(key, mark(key)), true)
		equal(f, "gone twice", gone(key, was), false)
	}
	busy, kept, young := f.used(3*time.Hour), f.used(3*time.Hour, pinned), f.used(time.Hour)
	f.start(busy)
	for _, key := range []string{busy, kept, young} {
		equal(f, "gone", gone(key, mark(key)), false)
		f.inStates(models.SessionActive, key)
	}
	_, err := f.SessionMark(f.ctx, f.key())
	f.fails(err, store.ErrNotFound)
}

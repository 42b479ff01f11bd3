package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// to names where a session is moved to.
func (f *fixture) to(key string) *models.Session {
	s := f.newSession(key)
	s.AgentID, s.ScopeID = "other", "other/id"
	return s
}

func moveSession(f *fixture) {
	from, to := f.key(), f.key()
	f.turn(from, "one")
	f.slot(from, "work", "in the slot")
	f.change(from, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	f.notebook(from, "mine")
	f.reset(from, models.DefaultSlot)
	f.reset(from, models.DefaultSlot)
	talk := f.waiting(from, kind(models.KindObserved))
	before, book := f.session(from), f.kept(from)

	f.ok(f.MoveSession(f.ctx, from, f.to(to), true))
	f.session(from)
	_, err := f.Session(f.ctx, to)
	f.fails(err, store.ErrNotFound)

	f.ok(f.MoveSession(f.ctx, from, f.to(to), false))
	_, err = f.Session(f.ctx, from)
	f.fails(err, store.ErrNotFound)
	equal(f, "notebook left behind", f.kept(from), f.kept(f.key()))
	after := f.session(to)
	equal(f, "agent, scope id", [...]string{after.AgentID, after.ScopeID}, [...]string{"other", "other/id"})
	equal(f, "slot, messages", [...]any{after.CurrentSlot, after.MessageCount}, [...]any{"work", before.MessageCount})
	equal(f, "history", f.history(to, "work"), []string{"in the slot"})
	equal(f, "notebook", f.kept(to), book)
	equal(f, "the message's session", f.inbound(talk.ID).SessionKey, to)
	observed, err := f.Observed(f.ctx, to, f.load(to, "work").ObservedSeq, f.at(-time.Hour), 10)
	f.ok(err)
	equal(f, "overheard", ids(observed), []string{talk.ID})

	f.change(to, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	equal(f, "restored", f.history(to, models.DefaultSlot), []string{"to one", "one"})
	f.eraseAll()
	equal(f, "after the job", f.history(to, "work"), []string{"in the slot"})
	f.inbound(talk.ID)

	f.turn(to, "two")
	equal(f, "goes on", f.history(to, "work"), []string{"in the slot", "to two", "two"})
	f.turn(from, "new") // the old key is free again
	equal(f, "begins anew", f.history(from, models.DefaultSlot), []string{"to new", "new"})
	f.delete(to)
	f.eraseAll()
	_, err = f.Inbound(f.ctx, talk.ID)
	f.fails(err, store.ErrNotFound)
}

// The other key may have heard something already; what was used up stays so.
func moveBehind(f *fixture) {
	from, to := f.key(), f.key()
	heard := f.waiting(from, kind(models.KindObserved))
	turn := f.start(from)
	f.commit(f.answer(turn, "one", func(c *store.TurnCommit) { c.ObservedThrough = heard.Seq }))
	waits := f.waiting(from, kind(models.KindObserved))
	there := f.waiting(to, kind(models.KindObserved))
	f.ok(f.MoveSession(f.ctx, from, f.to(to), false))
	observed, err := f.Observed(f.ctx, to, f.load(to, "").ObservedSeq, f.at(-time.Hour), 10)
	f.ok(err)
	equal(f, "overheard", ids(observed), []string{there.ID, waits.ID})
	f.turn(to, "two")
	f.change(to, func(tx store.SessionTx) error {
		last, err := tx.LastTurn(models.DefaultSlot)
		if err != nil || len(last) != 1 {
			return fmt.Errorf("last turn: %d, %w", len(last), err)
		}
		return nil
	})
}

func moveRefused(f *fixture) {
	from, to := f.key(), f.key()
	f.fails(f.MoveSession(f.ctx, from, f.to(to), false), store.ErrNotFound)
	f.create(from, "one")
	f.fails(f.MoveSession(f.ctx, from, f.to(from), false), store.ErrInvalid)
	f.create(to, "other")
	for _, dry := range []bool{true, false} {
		f.fails(f.MoveSession(f.ctx, from, f.to(to), dry), store.ErrExists)
	}
	equal(f, "history", f.history(to, models.DefaultSlot), []string{"other"})

	third := f.key()
	f.waiting(third)
	f.fails(f.MoveSession(f.ctx, from, f.to(third), false), store.ErrConflict)
	turn := f.start(from)
	f.fails(f.MoveSession(f.ctx, from, f.to(f.key()), true), store.ErrConflict)
	d := f.parts(turn, "oc_1", 1)
	f.commit(f.answer(turn, "one", deliver(d...)))
	f.fails(f.MoveSession(f.ctx, from, f.to(f.key()), false), store.ErrConflict)
	f.sendAll()
	f.ok(f.MoveSession(f.ctx, from, f.to(f.key()), false))
}

// Two sessions are moved to and fro while both keys are talked to: nothing of a turn is
// lost, whichever key it went to.
func moveRace(f *fixture) {
	keys := []string{f.key(), f.key()}
	const turns = 30
	errs := make([]error, 3)
	done := make([]int, 2)
	race(3, func(i int) {
		if i == 2 {
			for n := range 2 * turns {
				err := f.MoveSession(f.ctx, keys[n%2], f.to(keys[1-n%2]), false)
				if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrConflict) {
					errs[i] = err
				}
			}
			return
		}
		for range turns {
			a, err := f.Accept(f.ctx, f.message(keys[i], claimed(claim())))
			if err == nil {
				_, err = f.CommitTurn(f.ctx, f.answer(&store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, "one"))
			}
			if err != nil {
				errs[i] = err
				return
			}
			done[i]++
		}
	})
	for _, err := range errs {
		f.ok(err)
	}
	messages := 0
	for _, key := range keys {
		if s, err := f.Session(f.ctx, key); err == nil {
			messages += s.MessageCount
		}
	}
	equal(f, "messages", messages, 2*(done[0]+done[1]))
}

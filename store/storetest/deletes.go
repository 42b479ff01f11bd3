package storetest

import (
	"errors"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func deleteTests() []test {
	return []test{
		{"UnreadableAtOnce", deleteUnreadable},
		{"RecreatedStartsClean", deleteRecreate},
		{"DuplicateOfADeletedSession", deleteDuplicate},
		{"WhileItsTextIsSent", deleteSending},
		{"EraseRemovesTheBytes", deleteErase},
		{"EraseLeavesTheLiving", deleteEraseLiving},
	}
}

func (f *fixture) delete(key string) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error { return tx.Delete(f.now) })
}

func deleteUnreadable(f *fixture) {
	key, other := f.key(), f.key()
	f.turn(other, "untouched")
	turn := f.start(key)
	p := f.preview(turn)
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	d := f.parts(turn, "oc_1", 1)
	d[0].Text = "secret"
	f.commit(f.answer(turn, "secret", deliver(d...)))
	f.slot(key, "work", "secret")
	talk := f.waiting(key, kind(models.KindObserved))
	waits := f.waiting(key)
	f.delete(key)

	_, err := f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
	for _, slot := range []string{models.DefaultSlot, "work"} {
		_, err = f.Messages(f.ctx, key, slot, 0, 10)
		f.fails(err, store.ErrNotFound)
	}
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 10)
	f.ok(err)
	if c.Session != nil || c.Slot != nil || len(c.Messages) != 0 || c.ObservedSeq != 0 {
		f.Fatalf("context of a deleted session: %+v", c)
	}
	for _, id := range []string{turn.Inbounds[0].ID, talk.ID, waits.ID} {
		_, err = f.Inbound(f.ctx, id)
		f.fails(err, store.ErrNotFound)
	}
	_, err = f.TurnMessages(f.ctx, turn.Inbounds[0].ID)
	f.fails(err, store.ErrNotFound)
	observed, err := f.Observed(f.ctx, key, 0, f.at(-time.Hour), 10)
	f.ok(err)
	equal(f, "observed", len(observed), 0)
	for _, in := range f.inboundPages(store.InboundQuery{Limit: 10}) {
		if in == turn.Inbounds[0].ID || in == talk.ID {
			f.Fatalf("a message of a deleted session is listed")
		}
	}
	got, err := f.Delivery(f.ctx, d[0].ID)
	if err == nil {
		equal(f, "unsent delivery", got.State, models.DeliveryFailed)
		equal(f, "text", got.Text, "")
	} else {
		f.fails(err, store.ErrNotFound)
	}
	for _, d := range f.deliveries("") {
		equal(f, "text of a listed delivery", d.Text, "")
	}
	for _, d := range f.sendAll() {
		equal(f, "text that is sent", d.Text, "")
	}
	sessions, _, err := f.ListSessions(f.ctx, store.SessionQuery{Limit: 10})
	f.ok(err)
	equal(f, "sessions", len(sessions), 1)
	equal(f, "other history", f.history(other, models.DefaultSlot), []string{"to untouched", "untouched"})
	f.noTurn()
	f.delete(key) // it may be deleted again
}

// sendAll sends everything that waits anywhere.
func (f *fixture) sendAll() []*models.Delivery {
	f.Helper()
	claims, err := f.ClaimTargets(f.ctx, claim(), 100)
	f.ok(err)
	var all []*models.Delivery
	for _, c := range claims {
		all = append(all, f.drain(c)...)
	}
	return all
}

func deleteRecreate(f *fixture) {
	key := f.key()
	f.turn(key, "old")
	f.slot(key, "work", "old")
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	talk := f.waiting(key, kind(models.KindObserved))
	f.reset(key, models.DefaultSlot)
	f.delete(key)

	in := f.turn(key, "new")
	equal(f, "slot", in.Slot, models.DefaultSlot)
	if in.Seq <= talk.Seq {
		f.Fatalf("place %d came after %d", in.Seq, talk.Seq)
	}
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to new", "new"})
	equal(f, "slots", slotIDs(f.slots(key)), []string{models.DefaultSlot})
	equal(f, "messages", f.session(key).MessageCount, 2)
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) }), store.ErrNotFound)
	observed, err := f.Observed(f.ctx, key, 0, f.at(-time.Hour), 10)
	f.ok(err)
	equal(f, "observed", len(observed), 0)
	f.eraseAll()
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to new", "new"})
	f.state(models.InboundDone, in.ID)

	again := f.key()
	f.create(again, "old")
	f.delete(again)
	f.create(again, "new")
	equal(f, "history", f.history(again, models.DefaultSlot), []string{"new"})
}

func deleteDuplicate(f *fixture) {
	key := f.key()
	r := f.message(key, claimed(claim()))
	a := f.accept(r)
	f.commit(f.answer(&store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, "answer"))
	f.delete(key)
	for range 2 {
		b, err := f.Accept(f.ctx, r)
		f.ok(err)
		if !b.Duplicate || b.Inbound != nil || b.Claim != nil {
			f.Fatalf("accepted %+v, want a duplicate without its message", b)
		}
		_, err = f.FindInbound(f.ctx, r.DedupKeys[0])
		f.fails(err, store.ErrNotFound)
		f.eraseAll()
	}
}

// A target goes on when the session of the delivery in hand is deleted.
func deleteSending(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	one, two := NewDelivery(key, "oc_1", "one", f.now), f.delivery("oc_1", "two")
	f.enqueue(one)
	c := f.claimTarget(claim())
	f.next(c)
	f.enqueue(two)
	f.delete(key)
	f.eraseAll()
	next, err := f.FinishDelivery(f.ctx, c, f.sent(one))
	if err != nil {
		f.fails(err, store.ErrNotFound)
		next = f.next(c)
	}
	if next == nil || next.ID != two.ID {
		f.Fatalf("next is %+v, want %s", next, two.ID)
	}
}

// eraseAll runs the job that removes what deleted sessions left.
func (f *fixture) eraseAll() {
	f.Helper()
	for range 1000 {
		done, err := f.EraseDeleted(f.ctx, 3)
		f.ok(err)
		if done {
			return
		}
	}
	f.Fatalf("erasing does not end")
}

func deleteErase(f *fixture) {
	key := f.key()
	f.create(key, numbered("old", 10)...)
	for range 3 {
		f.waiting(key, kind(models.KindObserved))
	}
	f.delete(key)
	done, err := f.EraseDeleted(f.ctx, 3)
	f.ok(err)
	equal(f, "done with ten messages after a batch of three", done, false)
	f.eraseAll()
	done, err = f.EraseDeleted(f.ctx, 3)
	f.ok(err)
	equal(f, "done", done, true)
}

// A session that is used again while its past is erased loses nothing of the present.
func deleteEraseLiving(f *fixture) {
	key := f.key()
	f.create(key, numbered("old", 20)...)
	f.delete(key)
	var appendErr, eraseErr error
	race(2, func(i int) {
		if i == 0 {
			for j := 0; j < 20 && eraseErr == nil; j++ {
				_, eraseErr = f.EraseDeleted(f.ctx, 2)
			}
			return
		}
		appendErr = f.CreateSession(f.ctx, f.newSession(key))
		for range 10 {
			appendErr = errors.Join(appendErr, f.AppendMessages(f.ctx, key, []*models.SessionMessage{f.said(models.RoleUser, "new")}))
		}
	})
	f.ok(errors.Join(appendErr, eraseErr))
	f.eraseAll()
	equal(f, "messages", len(f.history(key, models.DefaultSlot)), 10)
	equal(f, "message count", f.session(key).MessageCount, 10)
}

package storetest

import (
	"errors"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func changeTests() []test {
	return []test{
		{"AllOfIt", changeAll},
		{"NothingAfterAnError", changeNothing},
		{"SessionNeedNotExist", changeUnknown},
		{"Several", changeSeveral},
		{"Update", changeUpdate},
		{"ResetAndRestore", changeReset},
		{"RestoreOfTheLatest", changeRestoreLatest},
		{"Undo", changeUndo},
		{"Requeue", changeRequeue},
		{"LastRetryable", changeLastRetryable},
		{"Pending", changePending},
		{"Rebind", changeRebind},
		{"LastTurn", changeLastTurn},
	}
}

func changeAll(f *fixture) {
	key := f.key()
	d := NewDelivery(key, "oc_1", "slot made", f.now)
	f.change(key, func(tx store.SessionTx) error {
		_, err := tx.Session()
		f.fails(err, store.ErrNotFound)
		f.ok(tx.Create(f.newSession(key)))
		f.ok(tx.Create(f.newSession(key))) // it is there
		f.ok(tx.CreateSlot(f.newSlot("work")))
		f.ok(tx.SwitchSlot("work"))
		equal(f, "current slot", tx.CurrentSlot(), "work")
		f.ok(tx.Append("work", []*models.SessionMessage{f.said(models.RoleSystem, "hello")}, f.now))
		f.ok(tx.Deliver([]*models.Delivery{d}))
		s, err := tx.Session()
		f.ok(err)
		equal(f, "current slot", s.CurrentSlot, "work")
		return nil
	})
	equal(f, "current slot", f.session(key).CurrentSlot, "work")
	equal(f, "history", f.history(key, "work"), []string{"hello"})
	equal(f, "messages", f.session(key).MessageCount, 1)
	equal(f, "sent", texts(f.drain(f.claimTarget(claim()))), []string{"slot made"})
}

func changeNothing(f *fixture) {
	key, fresh := f.key(), f.key()
	f.turn(key, "one")
	waits := f.waiting(key)
	boom := errors.New("boom")
	err := f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error {
		s, err := tx.Session()
		f.ok(err)
		s.Title = "changed"
		f.ok(tx.Update(s, f.now))
		f.ok(tx.CreateSlot(f.newSlot("work")))
		f.ok(tx.SwitchSlot("work"))
		f.ok(tx.Append(models.DefaultSlot, []*models.SessionMessage{f.said(models.RoleUser, "more")}, f.now))
		f.ok(tx.Finish([]string{waits.ID}, store.Outcome{State: models.InboundCancelled}, f.now))
		f.ok(tx.Deliver([]*models.Delivery{NewDelivery(key, "oc_1", "text", f.now)}))
		f.ok(tx.Reset(models.DefaultSlot, 0, f.now))
		return boom
	})
	f.fails(err, boom)
	s := f.session(key)
	equal(f, "session", [...]any{s.Title, s.CurrentSlot, s.MessageCount}, [...]any{"", models.DefaultSlot, 2})
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one"})
	f.state(models.InboundReceived, waits.ID)
	f.noTarget()
	_, err = f.Messages(f.ctx, key, "work", 0, 10)
	f.fails(err, store.ErrNotFound)

	err = f.ChangeSession(f.ctx, fresh, func(tx store.SessionTx) error {
		f.ok(tx.Create(f.newSession(fresh)))
		return boom
	})
	f.fails(err, boom)
	_, err = f.Session(f.ctx, fresh)
	f.fails(err, store.ErrNotFound)
	f.create(fresh)

	err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error {
		f.ok(tx.Delete(f.now))
		return boom
	})
	f.fails(err, boom)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one"})
}

func changeUnknown(f *fixture) {
	key := f.key()
	f.change(key, func(tx store.SessionTx) error {
		_, err := tx.Session()
		f.fails(err, store.ErrNotFound)
		equal(f, "current slot", tx.CurrentSlot(), models.DefaultSlot)
		pending, err := tx.Pending()
		f.ok(err)
		equal(f, "pending", len(pending), 0)
		_, err = tx.LastRetryable("api", "default", "lin")
		f.fails(err, store.ErrNotFound)
		return nil
	})
	_, err := f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
	f.noLane()
}

func changeUpdate(f *fixture) {
	key := f.key()
	f.create(key, "one", "two")
	s := f.session(key)
	before := *s
	s.Title, s.Model, s.SystemPrompt, s.Pinned, s.State = "a title", "a model", "a prompt", true, models.SessionArchived
	s.MessageCount, s.TotalTokenCount, s.CurrentSlot = 99, 99, "gone" // not the caller's to set
	f.change(key, func(tx store.SessionTx) error { return tx.Update(s, f.at(time.Hour)) })
	got := f.session(key)
	equal(f, "session", [...]any{got.Title, got.Model, got.SystemPrompt, got.Pinned, got.State},
		[...]any{"a title", "a model", "a prompt", true, models.SessionArchived})
	equal(f, "messages", got.MessageCount, 2)
	equal(f, "current slot", got.CurrentSlot, models.DefaultSlot)
	f.sameTime("updatedAt", got.UpdatedAt, f.at(time.Hour))
	f.sameTime("createdAt", got.CreatedAt, f.now)
	f.sameTime("lastActivityAt", got.LastActivityAt, before.LastActivityAt) // bookkeeping is no use of the session
	s.Title, s.Model, s.SystemPrompt, s.Pinned = "", "", "", false
	f.change(key, func(tx store.SessionTx) error { return tx.Update(s, f.at(time.Hour)) })
	got = f.session(key)
	equal(f, "emptied", [...]any{got.Title, got.Model, got.SystemPrompt, got.Pinned}, [...]any{"", "", "", false})
	err := f.ChangeSession(f.ctx, f.key(), func(tx store.SessionTx) error { return tx.Update(s, f.now) })
	f.fails(err, store.ErrNotFound)
}

func (f *fixture) reset(key, slot string) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error { return tx.Reset(slot, 0, f.now) })
}

func changeReset(f *fixture) {
	key := f.key()
	s := f.create(key, "one", "two")
	f.slot(key, "work", "kept")
	f.reset(key, models.DefaultSlot)
	equal(f, "history", len(f.history(key, models.DefaultSlot)), 0)
	equal(f, "other slot", f.history(key, "work"), []string{"kept"})
	got := f.session(key)
	equal(f, "messages", got.MessageCount, 1)
	equal(f, "tokens", got.TotalTokenCount, len("kept"))
	equal(f, "title", got.Title, s.Title)
	f.add(key, "three")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"three"})
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	restored := f.history(key, models.DefaultSlot)
	if len(restored) < 2 || restored[0] != "one" || restored[1] != "two" {
		f.Fatalf("restored history is %v", restored)
	}
	equal(f, "messages", f.session(key).MessageCount, len(restored)+1)
	f.add(key, "four")
	equal(f, "history", f.history(key, models.DefaultSlot), append(restored, "four"))
}

func changeRestoreLatest(f *fixture) {
	key := f.key()
	f.create(key, "one")
	restore := func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) }
	f.fails(f.ChangeSession(f.ctx, key, restore), store.ErrNotFound)
	f.reset(key, models.DefaultSlot)
	f.add(key, "two")
	f.reset(key, models.DefaultSlot)
	f.change(key, restore)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"two"})
	missing := func(tx store.SessionTx) error { return tx.Reset("gone", 0, f.now) }
	f.fails(f.ChangeSession(f.ctx, key, missing), store.ErrNotFound)
}

func changeUndo(f *fixture) {
	key := f.key()
	undo := func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) }
	one := f.turn(key, "one")
	two := f.turn(key, "two")
	f.change(key, undo)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one"})
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 10)
	f.ok(err)
	equal(f, "context", contents(c.Messages), []string{"to one", "one"})
	f.state(models.InboundDone, two.ID)
	f.turn(key, "three")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "to three", "three"})
	f.change(key, undo)
	f.change(key, undo)
	equal(f, "history", len(f.history(key, models.DefaultSlot)), 0)
	f.fails(f.ChangeSession(f.ctx, key, undo), store.ErrNotFound)
	f.state(models.InboundDone, one.ID)
}

func changeRequeue(f *fixture) {
	key := f.key()
	r := failed(f, key)
	requeue := func(id string) error {
		return f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Requeue(id, f.now) })
	}
	later := f.waiting(key)
	f.ok(requeue(r.Inbound.ID))
	got := f.inbound(r.Inbound.ID)
	equal(f, "state", got.State, models.InboundReceived)
	if got.Seq <= later.Seq {
		f.Fatalf("it kept its place %d, after %d came", got.Seq, later.Seq)
	}
	f.fails(requeue(r.Inbound.ID), store.ErrConflict)
	f.fails(requeue("inb_unknown"), store.ErrNotFound)
	turn := f.begin(f.claimLane(claim()))
	equal(f, "turn", ids(turn.Inbounds), []string{later.ID})
	done := f.commit(f.answer(turn, "one", keep(longLease)))
	f.commit(f.answer(f.begin(*done.Kept), "two"))
	f.fails(requeue(r.Inbound.ID), store.ErrConflict)
	f.noLane()

	idle := f.key() // an idle lane becomes due
	dead := failed(f, idle)
	f.change(idle, func(tx store.SessionTx) error { return tx.Requeue(dead.Inbound.ID, f.now) })
	equal(f, "lane", f.claimLane(claim()).SessionKey, idle)
}

func changeLastRetryable(f *fixture) {
	key := f.key()
	last := func(sender string) (in *models.Inbound, err error) {
		f.change(key, func(tx store.SessionTx) error {
			in, err = tx.LastRetryable("api", "default", sender)
			return nil
		})
		return in, err
	}
	r := failed(f, key)
	in, err := last("lin")
	f.ok(err)
	equal(f, "message", in.ID, r.Inbound.ID)
	_, err = last("Lin")
	f.fails(err, store.ErrNotFound)
	f.turn(key, "of another", from("wang"))
	in, err = last("lin")
	f.ok(err)
	equal(f, "message", in.ID, r.Inbound.ID)
	f.waiting(key, kind(models.KindCommand), from("lin")) // /retry itself is not what it retries
	in, err = last("lin")
	f.ok(err)
	equal(f, "message", in.ID, r.Inbound.ID)
	f.turn(key, "done", from("lin")) // a later success does not count
	in, err = last("lin")
	f.ok(err)
	equal(f, "message", in.ID, r.Inbound.ID)
	f.change(key, func(tx store.SessionTx) error {
		for _, other := range [][2]string{{"feishu", "default"}, {"api", "other"}} { // who has the id by chance
			_, err = tx.LastRetryable(other[0], other[1], "lin")
			f.fails(err, store.ErrNotFound)
		}
		return nil
	})
}

func changeRebind(f *fixture) {
	key := f.key()
	turn := f.start(key)
	running, waits := turn.Inbounds[0], f.waiting(key)
	f.change(key, func(tx store.SessionTx) error {
		f.ok(tx.Create(NewSession(key, f.now)))
		f.ok(tx.CreateSlot(&models.ContextSlot{ID: "trip", Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, CreatedAt: f.now}))
		f.ok(tx.Reset(models.DefaultSlot, 0, f.now))
		return tx.Rebind([]string{running.ID, waits.ID}, "trip")
	})
	f.state(models.InboundReceived, running.ID, waits.ID)
	_, err := f.CommitTurn(f.ctx, f.answer(turn, "too late"))
	f.fails(err, store.ErrStopped)
	stopped, err := f.StoppedTurns(f.ctx, []string{running.ID})
	f.ok(err)
	equal(f, "stopped", stopped, []string{running.ID})
	for _, in := range []*models.Inbound{running, waits} { // at their places
		turn = f.begin(turn.Claim)
		equal(f, "turn", ids(turn.Inbounds), []string{in.ID})
		equal(f, "slot", turn.Inbounds[0].Slot, "trip")
		equal(f, "attempts", turn.Inbounds[0].Attempts, 0)
		c := f.answer(turn, "answer", keep(longLease))
		c.Slot = "trip"
		if kept := f.commit(c).Kept; kept != nil {
			turn.Claim = *kept
		}
	}
	equal(f, "history", len(f.history(key, "trip")), 4)
	err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Rebind([]string{running.ID}, "trip") })
	f.fails(err, store.ErrConflict)
}

func changeLastTurn(f *fixture) {
	key := f.key()
	last := func() (in []*models.Inbound, err error) {
		f.change(key, func(tx store.SessionTx) error {
			in, err = tx.LastTurn(models.DefaultSlot)
			return nil
		})
		return in, err
	}
	_, err := last()
	f.fails(err, store.ErrNotFound)
	first := f.turn(key, "one", from("lin"))
	second := f.turn(key, "two", from("wang"))
	failed(f, key)
	in, err := last()
	f.ok(err)
	equal(f, "answered", ids(in), []string{second.ID})
	equal(f, "sender", in[0].SenderID, "wang")
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	in, err = last()
	f.ok(err)
	equal(f, "answered", ids(in), []string{first.ID})
	f.change(key, func(tx store.SessionTx) error {
		return tx.Append(models.DefaultSlot, []*models.SessionMessage{{ID: f.id("msg"), Role: models.RoleAssistant, Content: "pushed", CreatedAt: f.now}}, f.now)
	})
	in, err = last()
	f.ok(err)
	equal(f, "answered by what nobody asked for", len(in), 0)
}

func changePending(f *fixture) {
	key := f.key()
	running := f.start(key).Inbounds[0]
	waits := f.waiting(key)
	f.waiting(key, kind(models.KindObserved))
	f.waiting(key, kind(models.KindCommand))
	f.waiting(f.key())
	f.change(key, func(tx store.SessionTx) error {
		pending, err := tx.Pending()
		f.ok(err)
		equal(f, "pending", ids(pending), []string{running.ID, waits.ID})
		equal(f, "state", pending[0].State, models.InboundRunning)
		return tx.Finish([]string{waits.ID}, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled}, f.now)
	})
	f.state(models.InboundCancelled, waits.ID)
	f.state(models.InboundRunning, running.ID)

	// A message that has its outcome keeps it.
	done := f.turn(f.key(), "answer")
	err := f.ChangeSession(f.ctx, done.SessionKey, func(tx store.SessionTx) error {
		return tx.Finish([]string{done.ID}, store.Outcome{State: models.InboundCancelled}, f.now)
	})
	f.fails(err, store.ErrConflict)
	f.state(models.InboundDone, done.ID)
}

package storetest

import (
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func commandTests() []test {
	return []test{
		{"NeverWaitsBehindATurn", commandBesideTurn},
		{"IsClaimedAfterItsProcessDied", commandRecovered},
		{"FinishedIsNotClaimed", commandFinished},
		{"InOrder", commandOrder},
		{"DeferredLetsOthersPass", commandDeferred},
		{"DeferredIsTakenOver", commandDeferredTakenOver},
		{"DeferredIsHandedBack", commandHandedBack},
	}
}

func commandBesideTurn(f *fixture) {
	key := f.key()
	turn := f.start(key)
	a := f.accept(f.message(key, kind(models.KindCommand), claimed(claim())))
	equal(f, "kind", a.Inbound.Kind, models.KindCommand)
	if a.Claim != nil {
		f.Fatalf("a command claimed the lane of a running turn")
	}
	done := f.commit(f.answer(turn, "answer", keep(longLease)))
	if done.Waiting || done.Kept != nil {
		f.Fatalf("a command waits in the lane: %+v", done)
	}
	f.noLane()
	f.finish(key, models.InboundDone, a.Inbound.ID)
	f.state(models.InboundDone, a.Inbound.ID)

	idle := f.key()
	f.accept(f.message(idle, kind(models.KindCommand), claimed(claim())))
	f.noLane()
	if turn := f.start(idle); turn.Claim.SessionKey != idle {
		f.Fatalf("claimed %q", turn.Claim.SessionKey)
	}
}

func commandRecovered(f *fixture) {
	a := f.accept(f.message(f.key(), kind(models.KindCommand), claimed(dying())))
	living := f.accept(f.message(f.key(), kind(models.KindCommand), claimed(claim())))
	var got []*models.Inbound
	f.eventually("claim of a command whose process died", func() bool {
		var err error
		got, err = f.ClaimCommands(f.ctx, claim(), 10)
		f.ok(err)
		return len(got) > 0
	})
	equal(f, "commands", ids(got), []string{a.Inbound.ID})
	equal(f, "payload", string(got[0].Payload), string(a.Inbound.Payload))
	got, err := f.ClaimCommands(f.ctx, claim(), 10)
	f.ok(err)
	equal(f, "commands claimed twice", len(got), 0)
	f.finish(living.Inbound.SessionKey, models.InboundDone, living.Inbound.ID)
}

func commandFinished(f *fixture) {
	done := f.accept(f.message(f.key(), kind(models.KindCommand), claimed(dying())))
	f.finish(done.Inbound.SessionKey, models.InboundDone, done.Inbound.ID)
	dead := f.accept(f.message(f.key(), kind(models.KindCommand), claimed(dying())))
	f.eventually("claim of the other command", func() bool {
		got, err := f.ClaimCommands(f.ctx, claim(), 10)
		f.ok(err)
		for _, in := range got {
			if in.ID == done.Inbound.ID {
				f.Fatalf("a command that was carried out was claimed")
			}
		}
		return len(got) == 1 && got[0].ID == dead.Inbound.ID
	})
}

func commandOrder(f *fixture) {
	key := f.key()
	first := func() (in *models.Inbound, err error) {
		f.change(key, func(tx store.SessionTx) error {
			in, err = tx.FirstCommand()
			return nil
		})
		return in, err
	}
	_, err := first()
	f.fails(err, store.ErrNotFound)
	f.waiting(key) // no command
	one := f.waiting(key, kind(models.KindCommand))
	two := f.waiting(key, kind(models.KindCommand))
	f.waiting(f.key(), kind(models.KindCommand))
	for _, want := range []*models.Inbound{one, two} {
		got, err := first()
		f.ok(err)
		equal(f, "first command", got.ID, want.ID)
		equal(f, "payload", string(got.Payload), string(want.Payload))
		f.finish(key, models.InboundDone, want.ID)
	}
	_, err = first()
	f.fails(err, store.ErrNotFound)
}

// deferred is a command that waits for what it asked for about a slot.
func (f *fixture) deferred(key, slot string, lease store.ClaimRequest) *models.Inbound {
	f.Helper()
	in := f.waiting(key, kind(models.KindCommand)) // by nobody yet
	f.change(key, func(tx store.SessionTx) error { return tx.Defer(in.ID, slot, lease) })
	return in
}

func commandDeferred(f *fixture) {
	key := f.key()
	f.create(key, "one")
	one := f.deferred(key, "work", claim())
	f.noLane()
	two := f.waiting(key, kind(models.KindCommand))
	three := f.waiting(key)
	f.change(key, func(tx store.SessionTx) error {
		first, err := tx.FirstCommand()
		f.ok(err)
		equal(f, "first command", first.ID, two.ID)
		pending, err := tx.Pending()
		f.ok(err)
		equal(f, "pending", ids(pending), []string{one.ID, three.ID})
		equal(f, "deferred", [...]any{pending[0].Deferred, pending[0].Slot, pending[0].State, pending[1].Deferred},
			[...]any{true, "work", models.InboundRunning, false})
		return nil
	})
	f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error { return tx.Defer(one.ID, "work", claim()) })
	f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error { return tx.Defer(three.ID, "work", claim()) })
	f.fails(f.MoveSession(f.ctx, key, f.newSession(f.key()), true), store.ErrConflict)
	f.finish(key, models.InboundDone, one.ID)
	equal(f, "held", f.renewed(claim(), one.ID), []string(nil))
	f.ok(f.ReleaseCommand(f.ctx, one.ID, claim().Owner))
	f.state(models.InboundDone, one.ID)
	equal(f, "deferred", f.inbound(one.ID).Deferred, false)

	gone := f.deferred(key, models.DefaultSlot, claim())
	f.change(key, func(tx store.SessionTx) error { return tx.Delete(f.now) })
	equal(f, "held", f.renewed(claim(), gone.ID), []string(nil))
}

// renewed are those of some commands that an owner still holds, for longer now.
func (f *fixture) renewed(owner store.ClaimRequest, ids ...string) []string {
	f.Helper()
	held, err := f.RenewCommands(f.ctx, ids, store.ClaimRequest{Owner: owner.Owner, Lease: longLease})
	f.ok(err)
	slices.Sort(held)
	return held
}

func commandDeferredTakenOver(f *fixture) {
	key := f.key()
	in := f.deferred(key, "work", dying())
	kept := f.deferred(key, "work", dying())
	equal(f, "held", f.renewed(dying(), kept.ID), []string{kept.ID})
	var got []*models.Inbound
	f.eventually("claim of a deferred command whose process died", func() bool {
		var err error
		got, err = f.ClaimCommands(f.ctx, claim(), 10)
		f.ok(err)
		return len(got) > 0
	})
	equal(f, "commands", ids(got), []string{in.ID})
	equal(f, "deferred", [...]any{got[0].Deferred, got[0].Slot, got[0].Attempts, string(got[0].Payload)}, [...]any{true, "work", 1, string(in.Payload)})
	// Who lost it has no say in it any more.
	equal(f, "held", f.renewed(dying(), in.ID, kept.ID), []string{kept.ID})
	f.ok(f.ReleaseCommand(f.ctx, in.ID, dying().Owner))
	f.state(models.InboundRunning, in.ID)
	equal(f, "held", f.renewed(claim(), in.ID), []string{in.ID})
	f.finish(key, models.InboundDone, in.ID, kept.ID)
}

func commandHandedBack(f *fixture) {
	key := f.key()
	in := f.deferred(key, "work", claim())
	f.ok(f.ReleaseCommand(f.ctx, in.ID, claim().Owner))
	f.state(models.InboundReceived, in.ID)
	equal(f, "held", f.renewed(claim(), in.ID), []string(nil))
	got, err := f.ClaimCommands(f.ctx, claim(), 10)
	f.ok(err)
	equal(f, "commands", ids(got), []string{in.ID})
	equal(f, "deferred", [...]any{got[0].Deferred, got[0].State, got[0].Attempts}, [...]any{true, models.InboundRunning, 0})
	got, err = f.ClaimCommands(f.ctx, claim(), 10)
	f.ok(err)
	equal(f, "commands claimed twice", len(got), 0)
	f.finish(key, models.InboundDone, in.ID)
}

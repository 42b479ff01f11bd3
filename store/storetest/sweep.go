package storetest

import (
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func sweepTests() []test {
	return []test{
		{"RemovesWhatIsOver", sweepOver},
		{"KeepsForEver", sweepZero},
		{"KeepsWhatIsUnfinished", sweepUnfinished},
		{"Batches", sweepBatches},
		{"Deduplication", sweepDedup},
		{"Resets", sweepResets},
		{"Stats", stats},
	}
}

// sweepAll sweeps until nothing is left to remove.
func (f *fixture) sweepAll(now time.Time, keep store.Retention) store.Swept {
	f.Helper()
	var all store.Swept
	for range 100 {
		n, err := f.Sweep(f.ctx, now, keep, 100)
		f.ok(err)
		if n == (store.Swept{}) {
			return all
		}
		all.Inbound += n.Inbound
		all.Deliveries += n.Deliveries
		all.Dedup += n.Dedup
		all.Aliases += n.Aliases
		all.Messages += n.Messages
		all.Approvals += n.Approvals
	}
	f.Fatalf("the sweep does not end")
	return all
}

func day() store.Retention {
	return store.Retention{Inbound: 24 * time.Hour, Deliveries: 24 * time.Hour, Deduplication: 24 * time.Hour, Resets: 24 * time.Hour}
}

func sweepOver(f *fixture) {
	key := f.key()
	in := f.turn(key, "answer")
	talk := f.waiting(key, kind(models.KindObserved))
	f.enqueue(f.delivery("oc_1", "text"))
	d := f.drain(f.claimTarget(claim()))[0]
	equal(f, "swept too early", f.sweepAll(f.at(23*time.Hour), day()), store.Swept{})
	f.state(models.InboundDone, in.ID)
	n := f.sweepAll(f.at(25*time.Hour), day())
	equal(f, "inbound", n.Inbound, 2)
	equal(f, "deliveries", n.Deliveries, 1)
	for _, id := range []string{in.ID, talk.ID} {
		_, err := f.Inbound(f.ctx, id)
		f.fails(err, store.ErrNotFound)
	}
	_, err := f.Delivery(f.ctx, d.ID)
	f.fails(err, store.ErrNotFound)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to answer", "answer"}) // it is no queue
	f.turn(key, "later")
}

func sweepZero(f *fixture) {
	key := f.key()
	in := f.turn(key, "answer")
	f.reset(key, models.DefaultSlot)
	f.enqueue(f.delivery("oc_1", "text"))
	f.drain(f.claimTarget(claim()))
	equal(f, "swept", f.sweepAll(f.at(100*365*24*time.Hour), store.Retention{}), store.Swept{})
	f.state(models.InboundDone, in.ID)
}

func sweepUnfinished(f *fixture) {
	running := f.start(f.key())
	waits := f.waiting(f.key())
	f.enqueue(f.delivery("oc_1", "text"), f.delivery("oc_1", "next"))
	d := f.next(f.claimTarget(claim()))
	keep := day()
	keep.Deduplication = 0
	f.sweepAll(f.at(365*24*time.Hour), keep)
	f.state(models.InboundRunning, running.Inbounds[0].ID)
	f.state(models.InboundReceived, waits.ID)
	for _, id := range []string{d.ID, f.deliveries(models.DeliveryPending)[0].ID} {
		_, err := f.Delivery(f.ctx, id)
		f.ok(err)
	}
}

func sweepBatches(f *fixture) {
	var all []string
	for i := range 5 {
		key := f.key()
		turn := f.start(key)
		f.commit(f.answer(turn, "answer", func(c *store.TurnCommit) { c.Now = f.at(time.Duration(i) * time.Minute) }))
		all = append(all, turn.Inbounds[0].ID)
	}
	keep := store.Retention{Inbound: 24 * time.Hour}
	n, err := f.Sweep(f.ctx, f.at(48*time.Hour), keep, 2)
	f.ok(err)
	equal(f, "inbound", n.Inbound, 2)
	left, err := f.InboundBatch(f.ctx, all)
	f.ok(err)
	got := ids(left)
	slices.SortFunc(got, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	equal(f, "left", got, all[2:])
}

// A message is known as long as its key is kept, whether or not its row is.
func sweepDedup(f *fixture) {
	r := f.message(f.key(), claimed(claim()))
	a := f.accept(r)
	f.commit(f.answer(&store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, "answer"))
	keep := day()
	keep.Inbound, keep.Deduplication = time.Hour, 48*time.Hour
	f.sweepAll(f.at(25*time.Hour), keep)
	b, err := f.Accept(f.ctx, r)
	f.ok(err)
	equal(f, "duplicate", b.Duplicate, true)
	n := f.sweepAll(f.at(49*time.Hour), keep)
	equal(f, "dedup", n.Dedup, 1)
	again := f.message(r.Inbound.SessionKey, dedup(r.DedupKeys...))
	f.accept(again)

	recalled := f.message(f.key())
	_, err = f.Tombstone(f.ctx, recalled.DedupKeys[0])
	f.ok(err)
	f.sweepAll(f.at(100*time.Hour), keep)
	f.accept(recalled)
}

func sweepResets(f *fixture) {
	key := f.key()
	f.create(key, numbered("old", 5)...)
	f.reset(key, models.DefaultSlot)
	f.add(key, "new")
	f.sweepAll(f.at(23*time.Hour), day())
	n := f.sweepAll(f.at(25*time.Hour), day())
	equal(f, "messages", n.Messages, 5)
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) }), store.ErrNotFound)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"new"})

	// What was restored is no longer set aside.
	f.reset(key, models.DefaultSlot)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	f.sweepAll(f.at(100*time.Hour), day())
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"new"})
}

func stats(f *fixture) {
	key := f.key()
	f.turn(key, "answer")
	failed(f, key)
	f.start(f.key())
	f.waiting(f.key())
	f.enqueue(f.delivery("oc_1", "one"), f.delivery("oc_1", "two"))
	f.next(f.claimTarget(claim()))
	s, err := f.Stats(f.ctx)
	f.ok(err)
	equal(f, "active sessions", s.Sessions[string(models.SessionActive)], 1)
	for state, want := range map[models.InboundState]int{models.InboundRunning: 1, models.InboundReceived: 1, models.InboundFailed: 1, models.InboundDead: 0} {
		equal(f, string(state)+" messages", s.Inbound[string(state)], want)
	}
	equal(f, "pending", s.Deliveries[string(models.DeliveryPending)], 1)
	equal(f, "sending", s.Deliveries[string(models.DeliverySending)], 1)
}

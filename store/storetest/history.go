package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func historyTests() []test {
	return []test{
		{"NewestOldestFirst", historyNewest},
		{"PagesBackwards", historyPages},
		{"OrderIsTheSequence", historyOrder},
		{"UndoneIsLeftOutOfPages", historyUndone},
		{"UnknownIsNotFound", historyUnknown},
		{"Context", historyContext},
		{"ContextOfANewSession", historyContextNew},
	}
}

func historyNewest(f *fixture) {
	key := f.key()
	all := numbered("m", 20)
	f.create(key, all...)
	for _, limit := range []int{1, 7, 20, 50} {
		messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, limit)
		f.ok(err)
		equal(f, fmt.Sprintf("newest %d", limit), contents(messages), all[max(0, 20-limit):])
	}
}

func historyPages(f *fixture) {
	key := f.key()
	all := numbered("m", 20)
	f.create(key, all...)
	var got []string
	before := int64(0)
	for range 10 {
		messages, err := f.Messages(f.ctx, key, models.DefaultSlot, before, 6)
		f.ok(err)
		if len(messages) == 0 {
			break
		}
		got = append(contents(messages), got...)
		before = messages[0].Seq
	}
	equal(f, "messages", got, all)
}

// Times say nothing about order: they may be equal, or go backwards.
func historyOrder(f *fixture) {
	key := f.key()
	f.create(key)
	var want []string
	for i := range 6 {
		m := f.said(models.RoleUser, fmt.Sprintf("m-%d", i))
		m.CreatedAt = f.at(time.Duration(-i/2) * time.Minute)
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
		want = append(want, m.Content)
	}
	equal(f, "history", f.history(key, models.DefaultSlot), want)
}

func historyUndone(f *fixture) {
	key := f.key()
	for _, text := range numbered("turn", 6) {
		f.turn(key, text)
	}
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 4)
	f.ok(err)
	equal(f, "newest", contents(messages), []string{"to turn-3", "turn-3", "to turn-4", "turn-4"})
}

func historyUnknown(f *fixture) {
	key := f.key()
	_, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	f.fails(err, store.ErrNotFound)
	f.create(key)
	_, err = f.Messages(f.ctx, key, "gone", 0, 10)
	f.fails(err, store.ErrNotFound)
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	f.ok(err)
	equal(f, "messages", len(messages), 0)
}

func historyContext(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 10)...)
	f.slot(key, "work", "other")
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 3)
	f.ok(err)
	equal(f, "messages", contents(c.Messages), []string{"m-8", "m-9", "m-10"})
	if c.Session == nil || c.Session.Key != key || c.Slot == nil || c.Slot.ID != models.DefaultSlot {
		f.Fatalf("context is %+v", c)
	}
	equal(f, "slot", [...]any{c.Slot.MessageCount, c.Slot.SessionID, c.Slot.Current}, [...]any{10, key, true})
	c, err = f.LoadContext(f.ctx, key, "work", 3)
	f.ok(err)
	equal(f, "messages", contents(c.Messages), []string{"other"})
	equal(f, "current", c.Slot.Current, false)
	c, err = f.LoadContext(f.ctx, key, "gone", 3)
	f.ok(err)
	if c.Slot != nil || len(c.Messages) != 0 || c.Session == nil {
		f.Fatalf("context of a slot that is not there: %+v", c)
	}
}

func historyContextNew(f *fixture) {
	key := f.key()
	f.start(key)
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 3)
	f.ok(err)
	if c.Session != nil || c.Slot != nil || len(c.Messages) != 0 || c.ObservedSeq != 0 {
		f.Fatalf("context of a session that does not exist: %+v", c)
	}
}

func leaseTests() []test {
	return []test{
		{"OneHolder", leaseOne},
		{"RunsOut", leaseRunsOut},
		{"OneHolderInARace", leaseRace},
		{"ClockOffset", clockOffset},
		{"PingAndDurable", pingAndDurable},
	}
}

func (f *fixture) acquire(name, owner string, d time.Duration) bool {
	f.Helper()
	held, err := f.AcquireLease(f.ctx, name, store.ClaimRequest{Owner: owner, Lease: d})
	f.ok(err)
	return held
}

func leaseOne(f *fixture) {
	equal(f, "first", f.acquire("sweep", "a", longLease), true)
	equal(f, "second", f.acquire("sweep", "b", longLease), false)
	equal(f, "in another case", f.acquire("sweep", "A", longLease), false)
	equal(f, "renewed", f.acquire("sweep", "a", longLease), true)
	equal(f, "another lease", f.acquire("Sweep", "b", longLease), true)
	f.ok(f.ReleaseLease(f.ctx, "sweep", "b")) // not his to give up
	equal(f, "second", f.acquire("sweep", "b", longLease), false)
	f.ok(f.ReleaseLease(f.ctx, "sweep", "a"))
	equal(f, "second", f.acquire("sweep", "b", longLease), true)
	f.ok(f.ReleaseLease(f.ctx, "unknown", "a"))
}

func leaseRunsOut(f *fixture) {
	equal(f, "first", f.acquire("job", "a", shortLease), true)
	equal(f, "renewed", f.acquire("job", "a", 2*shortLease), true)
	f.past(shortLease)
	equal(f, "second", f.acquire("job", "b", longLease), false)
	f.eventually("take-over of the lease", func() bool { return f.acquire("job", "b", longLease) })
	equal(f, "first", f.acquire("job", "a", longLease), false)
}

func leaseRace(f *fixture) {
	const racers = 8
	for round := range 5 {
		held := make([]bool, racers)
		errs := make([]error, racers)
		race(racers, func(i int) {
			c := store.ClaimRequest{Owner: fmt.Sprintf("replica-%d", i), Lease: longLease}
			held[i], errs[i] = f.AcquireLease(f.ctx, fmt.Sprintf("job-%d", round), c)
		})
		for _, err := range errs {
			f.ok(err)
		}
		won := 0
		for _, h := range held {
			if h {
				won++
			}
		}
		equal(f, "holders", won, 1)
	}
}

func clockOffset(f *fixture) {
	near, err := f.ClockOffset(f.ctx, f.now)
	f.ok(err)
	if near < -time.Second || near > patience {
		f.Fatalf("the database's clock is %v ahead", near)
	}
	behind, err := f.ClockOffset(f.ctx, f.at(-time.Hour))
	f.ok(err)
	if d := behind - time.Hour; d < -time.Second || d > patience {
		f.Fatalf("the database's clock is %v ahead of an hour ago", behind)
	}
}

func pingAndDurable(f *fixture) {
	f.ok(f.Ping(f.ctx))
	equal(f, "durable", f.Durable(), f.options.Durable)
}

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
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, f.now) }), store.ErrNotFound)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"new"})

	// What was restored is no longer set aside.
	f.reset(key, models.DefaultSlot)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, f.now) })
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

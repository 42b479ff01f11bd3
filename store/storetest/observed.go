package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func observedTests() []test {
	return []test{
		{"NewestSinceOldestFirst", observedWindow},
		{"TakenInByATurn", observedTaken},
		{"Recalled", observedRecalled},
		{"ForgottenByReset", observedReset},
	}
}

func observedWindow(f *fixture) {
	key := f.key()
	var all []*models.Inbound
	for i := range 5 {
		all = append(all, f.waiting(key, kind(models.KindObserved), received(f.at(time.Duration(i)*time.Second))))
	}
	f.waiting(f.key(), kind(models.KindObserved), received(f.at(time.Minute)))
	f.waiting(key) // asks for an answer: no background
	f.state(models.InboundObserved, all[0].ID)
	for _, c := range []struct {
		name  string
		after int64
		since time.Duration
		limit int
		want  []*models.Inbound
	}{
		{"all", 0, -time.Hour, 10, all},
		{"newest", 0, -time.Hour, 2, all[3:]},
		{"after", all[2].Seq, -time.Hour, 10, all[3:]},
		{"since", 0, 2 * time.Second, 10, all[2:]},
		{"none", all[4].Seq, -time.Hour, 10, nil},
	} {
		got, err := f.Observed(f.ctx, key, c.after, f.at(c.since), c.limit)
		f.ok(err)
		equal(f, c.name, ids(got), ids(c.want))
		for i := range got {
			equal(f, "payload", string(got[i].Payload), string(c.want[i].Payload))
		}
	}
}

func observedTaken(f *fixture) {
	key := f.key()
	talk := f.waiting(key, kind(models.KindObserved))
	f.noLane()
	turn := f.start(key)
	f.commit(f.answer(turn, "answer", func(c *store.TurnCommit) { c.ObservedThrough = talk.Seq }))
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 10)
	f.ok(err)
	equal(f, "observed seq", c.ObservedSeq, talk.Seq)
	f.turn(key, "another") // takes nothing in and forgets nothing
	c, err = f.LoadContext(f.ctx, key, models.DefaultSlot, 10)
	f.ok(err)
	equal(f, "observed seq", c.ObservedSeq, talk.Seq)
}

func observedRecalled(f *fixture) {
	key := f.key()
	talk, other := f.waiting(key, kind(models.KindObserved)), f.waiting(key, kind(models.KindObserved))
	f.erase(key, talk.ID)
	got, err := f.Observed(f.ctx, key, 0, f.at(-time.Hour), 10)
	f.ok(err)
	equal(f, "observed", ids(got), []string{other.ID})
	recalled := f.inbound(talk.ID)
	equal(f, "state", recalled.State, models.InboundCancelled)
	equal(f, "text", len(recalled.Payload), 0)

	// Only what is taken back ends so.
	err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error {
		return tx.Finish([]string{other.ID}, store.Outcome{State: models.InboundCancelled}, f.now)
	})
	f.fails(err, store.ErrConflict)

	// It cannot run again.
	waits := f.waiting(key, from("lin"))
	f.erase(key, waits.ID)
	err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.Requeue(waits.ID, f.now) })
	f.fails(err, store.ErrConflict)
	f.change(key, func(tx store.SessionTx) error {
		_, err := tx.LastRetryable(waits.Channel, waits.Account, waits.SenderID)
		f.fails(err, store.ErrNotFound)
		return nil
	})
	f.noLane()
}

func observedReset(f *fixture) {
	key, other := f.key(), f.key()
	f.turn(key, "answer")
	var talk *models.Inbound
	for range 5 {
		talk = f.waiting(other, kind(models.KindObserved))
	}
	f.change(key, func(tx store.SessionTx) error {
		place, err := tx.LastPlace(other)
		f.ok(err)
		equal(f, "last place of another session", place, talk.Seq)
		none, err := tx.LastPlace(f.key())
		f.ok(err)
		equal(f, "last place of no session", none, int64(0))
		return tx.Reset(models.DefaultSlot, place, f.now)
	})
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 10)
	f.ok(err)
	equal(f, "observed seq", c.ObservedSeq, talk.Seq)
}

func inboundListTests() []test {
	return []test{
		{"Batch", inboundBatch},
		{"PagesNewestFirst", inboundPages},
	}
}

func inboundBatch(f *fixture) {
	key := f.key()
	a, b := f.waiting(key), f.waiting(key)
	got, err := f.InboundBatch(f.ctx, []string{b.ID, "inb_unknown", a.ID})
	f.ok(err)
	equal(f, "messages", len(got), 2)
	for _, in := range got {
		if in.ID != a.ID && in.ID != b.ID {
			f.Fatalf("message %s was not asked for", in.ID)
		}
		equal(f, "payload", len(in.Payload), 0)
	}
	got, err = f.InboundBatch(f.ctx, nil)
	f.ok(err)
	equal(f, "messages of no ids", len(got), 0)
}

func inboundPages(f *fixture) {
	var want []string
	for i := range 7 {
		in := f.waiting(f.key(), received(f.at(time.Duration(i)*time.Second)))
		want = append([]string{in.ID}, want...)
	}
	other := failed(f, f.key())
	got := f.inboundPages(store.InboundQuery{State: models.InboundReceived, Limit: 3})
	equal(f, "received", got, want)
	got = f.inboundPages(store.InboundQuery{State: models.InboundFailed, Limit: 3})
	equal(f, "failed", got, []string{other.Inbound.ID})
	equal(f, "any", len(f.inboundPages(store.InboundQuery{Limit: 3})), 8)
}

func (f *fixture) inboundPages(q store.InboundQuery) []string {
	f.Helper()
	var all []string
	for range 100 {
		items, next, err := f.ListInbound(f.ctx, q)
		f.ok(err)
		if len(items) > q.Limit {
			f.Fatalf("a page of %d items, want at most %d", len(items), q.Limit)
		}
		for _, in := range items {
			equal(f, "payload in a list", len(in.Payload), 0)
		}
		all = append(all, ids(items)...)
		if next == "" {
			return all
		}
		q.Cursor = next
	}
	f.Fatalf("the list does not end")
	return nil
}

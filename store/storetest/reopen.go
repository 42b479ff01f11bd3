package storetest

import (
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// runReopen checks that everything outlives the store that wrote it.
func runReopen(t *testing.T, o Options) {
	if o.Reopen == nil {
		if o.Durable {
			t.Fatal("a durable store that cannot be reopened")
		}
		return
	}
	f := newFixture(t, o, o.New(t))
	key := f.key()
	f.turn(key, "one")
	f.slot(key, "work", "note")
	f.notebook(key, "kept")
	notebook := f.kept(key)
	f.compact(key, models.DefaultSlot, 1, "summary")
	f.freeze(key, models.DefaultSlot, store.PrunedForm{Seq: 2, Pruned: "soft", Content: "short"})
	f.ok(f.SaveJobRun(f.ctx, &store.JobRun{Job: "idle", StartedAt: f.now, FinishedAt: f.now}))
	r := f.message(key)
	f.accept(r)
	running := f.begin(f.claimLane(claim()))
	p := f.preview(running)
	f.ok(f.SavePreview(f.ctx, running.Claim, p))
	f.enqueue(f.delivery("oc_1", "text"))
	target := f.claimTarget(claim())
	f.next(target)
	f.acquire("job", "a", longLease)

	f.Store = o.Reopen(t, f.Store)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "summary"})
	equal(f, "history", f.history(key, "work"), []string{"note"})
	equal(f, "notebook", f.kept(key), notebook)
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary", "one"})
	equal(f, "forms", len(f.load(key, models.DefaultSlot).Forms), 1)
	jobs, err := f.JobRuns(f.ctx)
	f.ok(err)
	equal(f, "job runs", len(jobs), 1)
	f.state(models.InboundRunning, r.Inbound.ID)
	a, err := f.Accept(f.ctx, r)
	f.ok(err)
	equal(f, "duplicate", a.Duplicate, true)
	_, err = f.Preview(f.ctx, p.ID)
	f.ok(err)
	f.noLane() // leases go on
	f.noTarget()
	equal(f, "lease", f.acquire("job", "b", longLease), false)
	lost, err := f.RenewLanes(f.ctx, []store.Claim{running.Claim}, longLease)
	f.ok(err)
	equal(f, "lost", len(lost), 0)
	f.commit(f.answer(running, "two"))
	d, err := f.FinishDelivery(f.ctx, target, f.sent(f.deliveries(models.DeliverySending)[0]))
	f.ok(err)
	if d != nil {
		f.Fatalf("one delivery too many: %+v", d)
	}
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "summary", "to two", "two"})
}

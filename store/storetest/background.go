package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func backgroundTests() []test {
	return []test{
		{"ObservedWhenDelivered", backgroundDelivered},
		{"NotWhatDidNotArrive", backgroundFailed},
		{"OfATurn", backgroundOfTurn},
	}
}

// background makes a push whose text becomes background of a chat.
func (f *fixture) background(key, text string) *models.Delivery {
	d := NewDelivery(key, "oc_1", text, f.now)
	d.Observed = []byte("payload of " + text)
	return d
}

func payloads(inbounds []*models.Inbound) []string {
	out := []string{}
	for _, in := range inbounds {
		out = append(out, string(in.Payload))
	}
	return out
}

func (f *fixture) observes(key string) []*models.Inbound {
	f.Helper()
	got, err := f.Observed(f.ctx, key, 0, f.at(-time.Hour), 10)
	f.ok(err)
	return got
}

func backgroundDelivered(f *fixture) {
	key := f.key()
	talk := f.waiting(key, kind(models.KindObserved))
	one, two, three := f.background(key, "one"), NewDelivery(key, "oc_1", "of the session", f.now), f.background(key, "three")
	_, err := f.Enqueue(f.ctx, []*models.Delivery{one, two, three}, store.Once{}, f.newSession(key))
	f.ok(err)
	equal(f, "before it was sent", len(f.observes(key)), 1)
	c := f.claimTarget(claim())
	f.drain(c)
	got := f.observes(key)
	equal(f, "observed", payloads(got), []string{string(talk.Payload), "payload of one", "payload of three"})
	equal(f, "order", got[0].Seq < got[1].Seq && got[1].Seq < got[2].Seq, true)
	in := got[1]
	equal(f, "row", [...]any{in.State, in.Kind, in.Channel, in.Account, in.SessionKey, in.PlatformMessageID},
		[...]any{models.InboundObserved, models.KindObserved, "api", "default", key, "om_" + one.ID})
	f.sameTime("receivedAt", in.ReceivedAt, f.now)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"of the session"})
	f.noLane() // it wakes nobody
	if later := f.waiting(key, kind(models.KindObserved)); later.Seq <= got[2].Seq {
		f.Fatalf("a later message has place %d, not beyond %d", later.Seq, got[2].Seq)
	}
}

func backgroundFailed(f *fixture) {
	key := f.key()
	refused, lost := f.background(key, "refused"), f.background(key, "said twice")
	_, err := f.Enqueue(f.ctx, []*models.Delivery{refused, lost}, store.Once{Key: "once"}, f.newSession(key))
	f.ok(err)
	again := f.background(key, "refused")
	fresh, err := f.Enqueue(f.ctx, []*models.Delivery{again}, store.Once{Key: "once"}, f.newSession(key))
	f.ok(err)
	equal(f, "fresh", fresh, false)
	c := f.claimTarget(claim())
	f.next(c)
	_, err = f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: refused.ID, State: models.DeliveryFailed, CountAttempt: true, Now: f.now})
	f.ok(err)
	_, err = f.FinishDelivery(f.ctx, c, f.sent(lost))
	f.ok(err)
	got := f.observes(key)
	equal(f, "observed", payloads(got), []string{"payload of said twice"})
	equal(f, "what is observed later is later", f.waiting(key, kind(models.KindObserved)).Seq > got[0].Seq, true)
	_, err = f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound) // no session is made for it
}

func backgroundOfTurn(f *fixture) {
	chat := f.key()
	turn := f.start(f.key())
	parts := f.parts(turn, "oc_1", 2)
	for _, d := range parts {
		d.Observed = []byte("payload of " + d.Text)
	}
	f.commit(f.answer(turn, "answer", func(c *store.TurnCommit) { c.Deliveries, c.Remember = parts, f.newSession(chat) }))
	equal(f, "before it was sent", len(f.observes(chat)), 0)
	f.drain(f.claimTarget(claim()))
	equal(f, "observed", payloads(f.observes(chat)), []string{"payload of part 1", "payload of part 2"})

	// A session that is deleted in between takes what was not sent along.
	late := f.background(chat, "late")
	_, err := f.Enqueue(f.ctx, []*models.Delivery{late}, store.Once{}, f.newSession(chat))
	f.ok(err)
	f.delete(chat)
	equal(f, "after a delete", len(f.observes(chat)), 0)
	d, err := f.Delivery(f.ctx, late.ID)
	if err == nil {
		equal(f, "late", d.State, models.DeliveryFailed)
	} else {
		f.fails(err, store.ErrNotFound)
	}
}

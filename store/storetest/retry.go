package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func retryTests() []test {
	return []test{
		{"WaitsForItsTime", retryWaits},
		{"HeadFirst", retryHead},
		{"UncountedAttempt", retryUncounted},
		{"AmbiguousStaysSo", retryAmbiguous},
		{"RefusedLeavesTheNext", retryRefused},
		{"RetryOfTheDead", retryDead},
		{"AnsweredTarget", answeredTarget},
		{"RetryPastTheWindow", retryWindow},
		{"ClosedTarget", retryClosed},
		{"ClosedUser", retryClosedUser},
		{"FinishOfAnotherDelivery", retryWrong},
	}
}

func (f *fixture) later(d *models.Delivery, after time.Duration) store.DeliveryResult {
	return store.DeliveryResult{
		ID: d.ID, State: models.DeliveryPending, Error: "rate limited", RetryAt: f.at(after), CountAttempt: true, Now: f.now,
	}
}

func retryWaits(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	c := f.claimTarget(claim())
	d := f.next(c)
	next, err := f.FinishDelivery(f.ctx, c, f.later(d, time.Hour))
	f.ok(err)
	if next != nil {
		f.Fatalf("next is %+v before its time", next)
	}
	got, err := f.Delivery(f.ctx, d.ID)
	f.ok(err)
	equal(f, "state", got.State, models.DeliveryPending)
	equal(f, "attempts", got.Attempts, 1)
	equal(f, "error", got.Error, "rate limited")
	if got.NextAttemptAt == nil {
		f.Fatalf("no time of the next attempt")
	}
	f.sameTime("next attempt", *got.NextAttemptAt, f.at(time.Hour))
	f.noTarget()

	soon := f.delivery("oc_2", "soon")
	f.enqueue(soon)
	c = f.claimTarget(claim())
	r := f.later(f.next(c), 0)
	r.RetryAt = f.now.Add(shortLease)
	_, err = f.FinishDelivery(f.ctx, c, r)
	f.ok(err)
	c = f.takeTarget()
	d, err = f.NextDelivery(f.ctx, c, f.at(time.Minute))
	f.ok(err)
	if d == nil || d.ID != soon.ID {
		f.Fatalf("next is %+v after its time", d)
	}
}

func retryHead(f *fixture) {
	f.enqueue(f.delivery("oc_1", "one"), f.delivery("oc_1", "two"))
	c := f.claimTarget(claim())
	next, err := f.FinishDelivery(f.ctx, c, f.later(f.next(c), time.Hour))
	f.ok(err)
	if next != nil {
		f.Fatalf("%q went before the one that waits to be tried again", next.Text)
	}
	f.enqueue(f.delivery("oc_1", "three"))
	for _, at := range []time.Duration{0, time.Hour} {
		claims, err := f.ClaimTargets(f.ctx, claim(), 10)
		f.ok(err)
		for _, c := range claims {
			d, err := f.NextDelivery(f.ctx, c, f.at(at))
			f.ok(err)
			if d != nil && d.Text != "one" {
				f.Fatalf("%q went before the one that waits to be tried again", d.Text)
			}
		}
	}
}

func retryUncounted(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	c := f.claimTarget(claim())
	d := f.next(c)
	r := f.later(d, time.Hour)
	r.CountAttempt = false
	_, err := f.FinishDelivery(f.ctx, c, r)
	f.ok(err)
	got, err := f.Delivery(f.ctx, d.ID)
	f.ok(err)
	equal(f, "attempts", got.Attempts, 0)
}

func retryAmbiguous(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	c := f.claimTarget(claim())
	d := f.next(c)
	equal(f, "ambiguous", d.Ambiguous, false)
	for i, ambiguous := range []bool{false, true, false} {
		r := f.later(d, 0)
		r.RetryAt, r.Ambiguous = f.at(-time.Second), ambiguous
		next, err := f.FinishDelivery(f.ctx, c, r)
		f.ok(err)
		if next == nil || next.ID != d.ID {
			f.Fatalf("next is %+v, want the same one, whose time has come", next)
		}
		equal(f, "ambiguous", next.Ambiguous, i > 0)
		equal(f, "attempts", next.Attempts, i+1)
	}
}

func retryRefused(f *fixture) {
	f.enqueue(f.delivery("oc_1", "one"), f.delivery("oc_1", "two"), f.delivery("oc_1", "three"))
	c := f.claimTarget(claim())
	d := f.next(c)
	next, err := f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: d.ID, State: models.DeliveryFailed, Error: "too long", CountAttempt: true, Now: f.now})
	f.ok(err)
	equal(f, "next", next.Text, "two")
	next, err = f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: next.ID, State: models.DeliveryDead, Error: "given up", CountAttempt: true, Now: f.now})
	f.ok(err)
	equal(f, "next", next.Text, "three")
	equal(f, "failed", texts(f.deliveries(models.DeliveryFailed)), []string{"one"})
	equal(f, "dead", texts(f.deliveries(models.DeliveryDead)), []string{"two"})
}

func retryDead(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	waits := f.deliveries("")[0]
	_, err := f.RetryDelivery(f.ctx, waits.ID, f.now)
	f.fails(err, store.ErrConflict)
	c := f.claimTarget(claim())
	d := f.next(c)
	_, err = f.RetryDelivery(f.ctx, d.ID, f.now)
	f.fails(err, store.ErrConflict)
	_, err = f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: d.ID, State: models.DeliveryDead, Error: "given up", CountAttempt: true, Now: f.now})
	f.ok(err)
	f.noTarget()
	again, err := f.RetryDelivery(f.ctx, d.ID, f.at(time.Hour))
	f.ok(err)
	equal(f, "state", again.State, models.DeliveryPending)
	f.sameTime("queued at", again.QueuedAt, f.at(time.Hour))
	f.sameTime("created at", again.CreatedAt, d.CreatedAt)
	sent := f.drain(f.claimTarget(claim()))
	equal(f, "sent", texts(sent), []string{"text"})
	equal(f, "id", sent[0].ID, again.ID)
	f.sameTime("queued at", sent[0].QueuedAt, f.at(time.Hour))
	_, err = f.RetryDelivery(f.ctx, again.ID, f.now)
	f.fails(err, store.ErrConflict)
	_, err = f.RetryDelivery(f.ctx, "dlv_unknown", f.now)
	f.fails(err, store.ErrNotFound)
}

// An id is the platform's idempotency key: past its window it says nothing, or refuses.
func retryWindow(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	c := f.claimTarget(claim())
	d := f.next(c)
	_, err := f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: d.ID, State: models.DeliveryDead, Error: "given up", CountAttempt: true, Now: f.now})
	f.ok(err)
	again, err := f.RetryDelivery(f.ctx, d.ID, f.at(24*time.Hour))
	f.ok(err)
	if again.ID == d.ID {
		f.Fatalf("a day later it has the same id")
	}
	f.past(time.Millisecond)
	c = f.claimTarget(claim())
	got, err := f.NextDelivery(f.ctx, c, f.at(25*time.Hour))
	f.ok(err)
	equal(f, "id", got.ID, again.ID)
	equal(f, "text", got.Text, "text")
	equal(f, "deliveries", len(f.deliveries(models.DeliverySending)), 1)
	equal(f, "pending", len(f.deliveries(models.DeliveryPending)), 0)
}

func retryClosed(f *fixture) {
	thread := f.delivery("oc_1", "in a thread")
	thread.Target.ThreadID = "omt_1"
	f.enqueue(f.delivery("oc_1", "sending"), f.delivery("oc_1", "waits"), thread, f.delivery("oc_2", "elsewhere"))
	second := f.delivery("oc_1", "other account")
	second.Account = "second"
	f.enqueue(second)
	n, err := f.CloseTarget(f.ctx, "feishu", "main", models.Target{ChatID: "oc_1"}, "the chat is gone", f.now)
	f.ok(err)
	equal(f, "given up", n, 3)
	for _, d := range f.deliveries("") {
		closed := d.Account == "main" && d.Target.ChatID == "oc_1"
		gone := d.State == models.DeliveryFailed || d.State == models.DeliveryDead
		if closed != gone {
			f.Fatalf("%q is %s", d.Text, d.State)
		}
		if closed {
			equal(f, "error", d.Error, "the chat is gone")
		}
	}
	claims, err := f.ClaimTargets(f.ctx, claim(), 10)
	f.ok(err)
	open := 0
	for _, c := range claims {
		if d := f.next(c); d != nil {
			open++
		}
	}
	equal(f, "targets with something to send", open, 2)
	f.enqueue(f.delivery("oc_1", "the bot is back")) // closing is no state of the target
	equal(f, "sent", texts(f.drain(f.claimTarget(claim()))), []string{"the bot is back"})
}

// retryClosedUser gives up what waits for one user, and nothing of anybody else.
func retryClosedUser(f *fixture) {
	to := func(user string) *models.Delivery {
		d := f.delivery("", "to "+user)
		d.Target = models.Target{UserID: user, Direct: true}
		return d
	}
	f.enqueue(to("ou_1"), to("ou_2"))
	_, err := f.CloseTarget(f.ctx, "feishu", "main", models.Target{}, "the chat is gone", f.now)
	f.fails(err, store.ErrInvalid)
	n, err := f.CloseTarget(f.ctx, "feishu", "main", models.Target{UserID: "ou_1"}, "the user is gone", f.now)
	f.ok(err)
	equal(f, "given up", n, 1)
	equal(f, "dead", texts(f.deliveries(models.DeliveryDead)), []string{"to ou_1"})
	equal(f, "pending", texts(f.deliveries(models.DeliveryPending)), []string{"to ou_2"})
}

func retryWrong(f *fixture) {
	f.enqueue(f.delivery("oc_1", "one"), f.delivery("oc_1", "two"))
	c := f.claimTarget(claim())
	d := f.next(c)
	other := f.deliveries(models.DeliveryPending)[0]
	_, err := f.FinishDelivery(f.ctx, c, f.sent(other)) // it is not being sent
	got, readErr := f.Delivery(f.ctx, other.ID)
	f.ok(readErr)
	equal(f, "state", got.State, models.DeliveryPending)
	if err == nil {
		d = f.next(c)
	}
	next, err := f.FinishDelivery(f.ctx, c, f.sent(d))
	f.ok(err)
	equal(f, "next", next.Text, "two")
}

func answeredTarget(f *fixture) {
	pushed := f.delivery("oc_1", "pushed")
	f.enqueue(pushed)
	_, err := f.AnsweredTarget(f.ctx, pushed.Channel, pushed.Account, "oc_1") // a push does not know
	f.fails(err, store.ErrNotFound)
	answer := f.delivery("oc_1", "answered")
	answer.InboundID, answer.Target = "inb_1", models.Target{ChatID: "oc_1", UserID: "ou_1", Direct: true}
	f.enqueue(answer)
	got, err := f.AnsweredTarget(f.ctx, answer.Channel, answer.Account, "oc_1")
	f.ok(err)
	equal(f, "target", got, answer.Target)
	_, err = f.AnsweredTarget(f.ctx, answer.Channel, "other", "oc_1")
	f.fails(err, store.ErrNotFound)
}

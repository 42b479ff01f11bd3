package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// delivery makes a push to a group.
func (f *fixture) delivery(chat, text string) *models.Delivery {
	return NewDelivery(f.key(), chat, text, f.now)
}

// parts makes the deliveries of a turn's answer.
func (f *fixture) parts(turn *store.Turn, chat string, n int) []*models.Delivery {
	return NewParts(turn, chat, n, f.now)
}

// enqueue stores pushes of one session.
func (f *fixture) enqueue(deliveries ...*models.Delivery) {
	f.Helper()
	for _, d := range deliveries {
		d.SessionKey = deliveries[0].SessionKey
	}
	stored, err := f.Enqueue(f.ctx, deliveries, store.Once{}, nil)
	f.ok(err)
	equal(f, "stored", stored, true)
}

// claimTarget claims the one target that has something to send.
func (f *fixture) claimTarget(c store.ClaimRequest) store.TargetClaim {
	f.Helper()
	claims, err := f.ClaimTargets(f.ctx, c, 10)
	f.ok(err)
	if len(claims) != 1 {
		f.Fatalf("claimed %d targets, want 1", len(claims))
	}
	return claims[0]
}

func (f *fixture) noTarget() {
	f.Helper()
	claims, err := f.ClaimTargets(f.ctx, claim(), 10)
	f.ok(err)
	if len(claims) != 0 {
		f.Fatalf("claimed %+v, want nothing", claims)
	}
}

// takeTarget waits until the one target can be claimed.
func (f *fixture) takeTarget() store.TargetClaim {
	f.Helper()
	var won store.TargetClaim
	f.eventually("claim of the target", func() bool {
		claims, err := f.ClaimTargets(f.ctx, claim(), 10)
		f.ok(err)
		if len(claims) > 0 {
			won = claims[0]
		}
		return len(claims) == 1
	})
	return won
}

func (f *fixture) next(c store.TargetClaim) *models.Delivery {
	f.Helper()
	d, err := f.NextDelivery(f.ctx, c, f.now)
	f.ok(err)
	return d
}

// sent is the result of a delivery that arrived.
func (f *fixture) sent(d *models.Delivery) store.DeliveryResult {
	return store.DeliveryResult{
		ID: d.ID, State: models.DeliveryDelivered, PlatformMessageID: "om_" + d.ID, CountAttempt: true, Now: f.now,
	}
}

// drain sends all that a target has and returns it in order.
func (f *fixture) drain(c store.TargetClaim) []*models.Delivery {
	f.Helper()
	var all []*models.Delivery
	for d := f.next(c); d != nil; {
		all = append(all, d)
		var err error
		d, err = f.FinishDelivery(f.ctx, c, f.sent(d))
		f.ok(err)
	}
	return all
}

// deliveries lists deliveries, oldest first.
func (f *fixture) deliveries(state models.DeliveryState) []*models.Delivery {
	f.Helper()
	var all []*models.Delivery
	q := store.DeliveryQuery{State: state, Limit: 3}
	for range 1000 {
		items, next, err := f.ListDeliveries(f.ctx, q)
		f.ok(err)
		if len(items) > q.Limit {
			f.Fatalf("a page of %d items, want at most %d", len(items), q.Limit)
		}
		for _, d := range items {
			all = append([]*models.Delivery{d}, all...)
		}
		if next == "" {
			return all
		}
		q.Cursor = next
	}
	f.Fatalf("the list does not end")
	return nil
}

func texts(deliveries []*models.Delivery) []string {
	out := make([]string, 0, len(deliveries))
	for _, d := range deliveries {
		out = append(out, d.Text)
	}
	return out
}

func outboxTests() []test {
	return []test{
		{"KeepsTheDelivery", outboxKeeps},
		{"OrderPerTarget", outboxOrder},
		{"TargetsAreApart", outboxTargets},
		{"EnqueueOnce", outboxOnce},
		{"EnqueueOnceInARace", outboxRace},
		{"RememberWhenDelivered", outboxRemember},
		{"RememberOnlyWhatArrived", outboxRememberNot},
		{"LeaseIsExclusive", outboxLease},
		{"DeadSenderIsReplaced", outboxTakeOver},
		{"ReleaseKeepsSending", outboxRelease},
		{"ListNewestFirst", outboxList},
		{"WhatComesWhileSending", outboxMeanwhile},
	}
}

func outboxKeeps(f *fixture) {
	d := f.delivery("oc_1", "嗨 😀")
	d.InboundID = "inb_1"
	d.Target = models.Target{ChatID: "oc_1", UserID: "ou_1", ThreadID: "omt_1", ReplyTo: "om_1", Direct: true, Ref: []byte{0xff, 0, 1}}
	d.Files = []string{"https://example.com/a b.png", "img_v3/1+2="}
	d.Preview, d.Part, d.Parts = "pre_1", 2, 3
	f.enqueue(d)
	got, err := f.Delivery(f.ctx, d.ID)
	f.ok(err)
	f.sameTime("createdAt", got.CreatedAt, d.CreatedAt)
	equal(f, "first sent", got.FirstSentAt.IsZero(), true)
	want := *d
	want.CreatedAt, want.NextAttemptAt, want.Seq = got.CreatedAt, got.NextAttemptAt, got.Seq
	want.FirstSentAt, want.QueuedAt = got.FirstSentAt, got.CreatedAt
	equal(f, "delivery", *got, want)
	_, err = f.Delivery(f.ctx, "dlv_unknown")
	f.fails(err, store.ErrNotFound)
}

func outboxOrder(f *fixture) {
	want := numbered("text", 5)
	f.enqueue(f.delivery("oc_1", want[0]), f.delivery("oc_1", want[1]))
	for _, text := range want[2:] {
		f.enqueue(f.delivery("oc_1", text))
	}
	c := f.claimTarget(claim())
	got := f.drain(c)
	equal(f, "order", texts(got), want)
	for _, d := range got {
		kept, err := f.Delivery(f.ctx, d.ID)
		f.ok(err)
		equal(f, "state", kept.State, models.DeliveryDelivered)
		equal(f, "platform id", kept.PlatformMessageID, "om_"+d.ID)
		equal(f, "attempts", kept.Attempts, 1)
		equal(f, "error", kept.Error, "")
		if kept.DeliveredAt == nil {
			f.Fatalf("no time of the delivery")
		}
		f.sameTime("deliveredAt", *kept.DeliveredAt, f.now)
		f.sameTime("first sent", kept.FirstSentAt, f.now)
	}
	f.noTarget()
	f.enqueue(f.delivery("oc_1", "later"))
	next := f.claimTarget(claim())
	if next.Fence <= c.Fence {
		f.Fatalf("fence went from %d to %d", c.Fence, next.Fence)
	}
}

func outboxTargets(f *fixture) {
	targets := map[string]func(d *models.Delivery){
		"plain":   func(*models.Delivery) {},
		"case":    func(d *models.Delivery) { d.Target.ChatID = "OC_1" },
		"thread":  func(d *models.Delivery) { d.Target.ThreadID = "omt_1" },
		"account": func(d *models.Delivery) { d.Account = "second" },
		"channel": func(d *models.Delivery) { d.Channel = "dingtalk" },
		"user":    func(d *models.Delivery) { d.Target.ChatID, d.Target.UserID = "", "oc_1" },
		"blank":   func(d *models.Delivery) { d.Target.ChatID = "oc_1 " },
	}
	for text, set := range targets {
		d := f.delivery("oc_1", text)
		set(d)
		f.enqueue(d)
	}
	claims, err := f.ClaimTargets(f.ctx, claim(), 100)
	f.ok(err)
	equal(f, "targets", len(claims), len(targets))
	for _, c := range claims {
		d := f.next(c)
		equal(f, "channel", c.Channel+"/"+c.Account, d.Channel+"/"+d.Account)
		delete(targets, d.Text)
	}
	equal(f, "targets left", len(targets), 0)

	// The message that is answered does not make another target.
	one, two := f.delivery("oc_2", "one"), f.delivery("oc_2", "two")
	one.Target.ReplyTo, two.Target.ReplyTo = "om_1", "om_2"
	f.enqueue(one)
	f.enqueue(two)
	equal(f, "order", texts(f.drain(f.claimTarget(claim()))), []string{"one", "two"})
}

func outboxOnce(f *fixture) {
	first := f.delivery("oc_1", "once")
	stored, err := f.Enqueue(f.ctx, []*models.Delivery{first}, store.Once{Key: "push/1"}, nil)
	f.ok(err)
	equal(f, "stored", stored, true)
	repeat := f.delivery("oc_1", "once")
	stored, err = f.Enqueue(f.ctx, []*models.Delivery{repeat}, store.Once{Key: "push/1"}, nil)
	f.ok(err)
	equal(f, "stored", stored, false)
	equal(f, "first delivery", repeat.ID, first.ID)
	stored, err = f.Enqueue(f.ctx, []*models.Delivery{f.delivery("oc_1", "other")}, store.Once{Key: "PUSH/1"}, nil)
	f.ok(err)
	equal(f, "stored", stored, true)
	equal(f, "deliveries", texts(f.deliveries("")), []string{"once", "other"})

	// A fingerprint tells repeats from what only has the key.
	enqueue := func(fingerprint string) (*models.Delivery, error) {
		d := f.delivery("oc_1", "exact")
		_, err := f.Enqueue(f.ctx, []*models.Delivery{d}, store.Once{Key: "push/2", Fingerprint: fingerprint}, nil)
		return d, err
	}
	exact, err := enqueue("a")
	f.ok(err)
	_, err = enqueue("b")
	f.fails(err, store.ErrConflict)
	repeat, err = enqueue("a")
	f.ok(err)
	equal(f, "first delivery", repeat.ID, exact.ID)
	equal(f, "deliveries", texts(f.deliveries("")), []string{"once", "other", "exact"})
}

func outboxRace(f *fixture) {
	const racers = 8
	stored := make([]bool, racers)
	first := make([]string, racers)
	errs := make([]error, racers)
	race(racers, func(i int) {
		d := f.delivery(fmt.Sprintf("oc_%d", i%2), "once")
		stored[i], errs[i] = f.Enqueue(f.ctx, []*models.Delivery{d}, store.Once{Key: "push/1"}, nil)
		first[i] = d.ID
	})
	f.ok(errors.Join(errs...))
	won := 0
	for i := range racers {
		if stored[i] {
			won++
		}
		equal(f, "first delivery", first[i], first[0])
	}
	equal(f, "stored", won, 1)
	equal(f, "deliveries", len(f.deliveries("")), 1)
}

func outboxRemember(f *fixture) {
	key := f.key()
	s := f.newSession(key)
	one, two := f.delivery("oc_1", "one"), f.delivery("oc_1", "two")
	one.SessionKey, two.SessionKey = key, key
	_, err := f.Enqueue(f.ctx, []*models.Delivery{one, two}, store.Once{}, s)
	f.ok(err)
	_, err = f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	if err == nil {
		equal(f, "history before it was sent", len(f.history(key, models.DefaultSlot)), 0)
	} else {
		f.fails(err, store.ErrNotFound)
	}
	f.drain(f.claimTarget(claim()))
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	f.ok(err)
	equal(f, "history", contents(messages), []string{"one", "two"})
	equal(f, "role", messages[0].Role, models.RoleAssistant)
	if messages[0].ID == "" || messages[0].ID == messages[1].ID {
		f.Fatalf("message ids are %q and %q", messages[0].ID, messages[1].ID)
	}
	got := f.session(key)
	equal(f, "agent", got.AgentID, s.AgentID)
	equal(f, "messages", got.MessageCount, 2)
}

func outboxRememberNot(f *fixture) {
	key := f.key()
	f.create(key, "before")
	d := f.delivery("oc_1", "refused")
	d.SessionKey = key
	_, err := f.Enqueue(f.ctx, []*models.Delivery{d}, store.Once{}, f.newSession(key))
	f.ok(err)
	c := f.claimTarget(claim())
	f.next(c)
	_, err = f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: d.ID, State: models.DeliveryFailed, Error: "no such chat", CountAttempt: true, Now: f.now})
	f.ok(err)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"before"})
}

func outboxLease(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	c := f.claimTarget(dying())
	f.noTarget()
	lost, err := f.RenewTargets(f.ctx, []store.TargetClaim{c}, longLease)
	f.ok(err)
	equal(f, "lost", len(lost), 0)
	f.past(shortLease)
	f.noTarget()
	d := f.next(c)
	if d == nil {
		f.Fatalf("nothing to send")
	}
	equal(f, "state", d.State, models.DeliverySending)
	again := f.next(c) // a second call does not go past the one that is being sent
	if again == nil || again.ID != d.ID {
		f.Fatalf("next is %+v while %s is sending", again, d.ID)
	}
}

func outboxTakeOver(f *fixture) {
	first, second := f.delivery("oc_1", "one"), f.delivery("oc_1", "two")
	f.enqueue(first, second)
	dead := f.claimTarget(dying())
	d, err := f.NextDelivery(f.ctx, dead, f.now)
	f.ok(err)
	c := f.takeTarget()
	if c.Fence <= dead.Fence || c.ID != dead.ID {
		f.Fatalf("claim went from %+v to %+v", dead, c)
	}
	got, err := f.NextDelivery(f.ctx, c, f.at(time.Hour))
	f.ok(err)
	equal(f, "delivery", got.ID, d.ID)
	equal(f, "state", got.State, models.DeliverySending)
	equal(f, "attempts that may have arrived", [...]any{got.Ambiguous, got.Attempts}, [...]any{true, 1})
	f.sameTime("first sent", got.FirstSentAt, f.now) // the window counts from the first attempt

	_, err = f.FinishDelivery(f.ctx, dead, f.sent(d))
	f.fails(err, store.ErrLeaseLost)
	_, err = f.NextDelivery(f.ctx, dead, f.now)
	f.fails(err, store.ErrLeaseLost)
	lost, err := f.RenewTargets(f.ctx, []store.TargetClaim{dead, c}, longLease)
	f.ok(err)
	equal(f, "lost", lost, []store.TargetClaim{dead})
	next, err := f.FinishDelivery(f.ctx, c, f.sent(got))
	f.ok(err)
	equal(f, "next", next.ID, second.ID)
	kept, err := f.Delivery(f.ctx, first.ID)
	f.ok(err)
	equal(f, "attempts", [...]any{kept.Ambiguous, kept.Attempts}, [...]any{true, 2})
	equal(f, "next is ambiguous", next.Ambiguous, false)
}

func outboxRelease(f *fixture) {
	f.enqueue(f.delivery("oc_1", "text"))
	c := f.claimTarget(claim())
	d := f.next(c)
	f.ok(f.ReleaseTarget(f.ctx, c, shortLease))
	f.noTarget()
	c = f.takeTarget()
	again := f.next(c)
	if again == nil || again.ID != d.ID || again.State != models.DeliverySending {
		f.Fatalf("next is %+v, want %s, sending", again, d.ID)
	}
	f.ok(f.ReleaseTarget(f.ctx, c, 0))
	equal(f, "order", texts(f.drain(f.claimTarget(claim()))), []string{"text"})
}

func outboxList(f *fixture) {
	for i, text := range numbered("text", 7) {
		d := f.delivery("oc_1", text)
		d.CreatedAt = f.at(time.Duration(i) * time.Second)
		f.enqueue(d)
	}
	equal(f, "pending", texts(f.deliveries(models.DeliveryPending)), numbered("text", 7))
	equal(f, "dead", len(f.deliveries(models.DeliveryDead)), 0)
	equal(f, "any", len(f.deliveries("")), 7)
}

func outboxMeanwhile(f *fixture) {
	f.enqueue(f.delivery("oc_1", "one"))
	c := f.claimTarget(claim())
	d := f.next(c)
	f.enqueue(f.delivery("oc_1", "two"))
	f.noTarget()
	next, err := f.FinishDelivery(f.ctx, c, f.sent(d))
	f.ok(err)
	if next == nil || next.Text != "two" {
		f.Fatalf("next is %+v, want what came meanwhile", next)
	}
}

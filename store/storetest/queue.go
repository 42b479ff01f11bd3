package storetest

import (
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func queueTests() []test {
	return []test{
		{"CapRefuses", capRefuses},
		{"CapSupersedesTheOldest", capSupersedes},
		{"CapLeavesOtherSessionsAlone", capPerSession},
		{"InterruptReplacesTheSendersTurn", interruptReplaces},
		{"InterruptKeepsEarlierTexts", interruptChain},
		{"InterruptLeavesOthersAlone", interruptOthers},
		{"InterruptLeavesOtherPlacesAlone", interruptElsewhere},
		{"InterruptLeavesOutWhatWasRecalled", interruptRecalled},
		{"InterruptNotice", interruptNotice},
	}
}

func capped(n int, reject bool) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Cap, r.Reject = n, reject }
}

func interrupting(r *store.AcceptRequest) { r.Interrupt = true }

func noticed(f *fixture, text string) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) {
		r.Notice = func(superseded []*models.Inbound) []*models.Delivery {
			d := f.delivery("oc_1", text)
			d.Kind, d.SessionKey, d.InboundID = models.DeliveryNotice, r.Inbound.SessionKey, superseded[0].ID
			return []*models.Delivery{d}
		}
	}
}

func capRefuses(f *fixture) {
	key := f.key()
	f.start(key) // a running message does not count
	first := f.message(key, capped(2, true))
	f.accept(first)
	f.waiting(key, capped(2, true))
	third := f.message(key, capped(2, true))
	_, err := f.Accept(f.ctx, third)
	f.fails(err, store.ErrQueueFull)
	_, err = f.FindInbound(f.ctx, third.DedupKeys[0])
	f.fails(err, store.ErrNotFound)
	again, err := f.Accept(f.ctx, first) // one that is in already is not refused
	f.ok(err)
	equal(f, "duplicate", again.Duplicate, true)
	f.waiting(key, kind(models.KindObserved), capped(2, true)) // nor what does not wait
	f.waiting(key, kind(models.KindCommand), capped(2, true))
}

func capSupersedes(f *fixture) {
	key := f.key()
	running := f.start(key).Inbounds[0]
	first := f.waiting(key, capped(2, false))
	second := f.waiting(key, capped(2, false))
	third := f.accept(f.message(key, capped(2, false), noticed(f, "1 message was dropped")))
	equal(f, "superseded", ids(third.Superseded), []string{first.ID})
	f.state(models.InboundRunning, running.ID)
	f.state(models.InboundReceived, second.ID, third.Inbound.ID)
	got := f.inbound(first.ID)
	equal(f, "state", got.State, models.InboundSuperseded)
	equal(f, "code", got.Code, models.CodeSuperseded)
	if got.FinishedAt == nil {
		f.Fatalf("a superseded message has no time of its outcome")
	}
	notices := f.deliveries(models.DeliveryPending)
	equal(f, "notices", texts(notices), []string{"1 message was dropped"})
	equal(f, "notice belongs to", notices[0].InboundID, first.ID)

	// A smaller cap drops as many as it takes.
	last := f.accept(f.message(key, capped(1, false)))
	equal(f, "superseded", ids(last.Superseded), []string{second.ID, third.Inbound.ID})
}

func capPerSession(f *fixture) {
	full, other := f.key(), f.key()
	f.waiting(full, capped(1, true))
	f.waiting(other, capped(1, true))
	_, err := f.Accept(f.ctx, f.message(full, capped(1, true)))
	f.fails(err, store.ErrQueueFull)
}

func interruptReplaces(f *fixture) {
	key := f.key()
	old := f.start(key, from("lin"))
	a := f.accept(f.message(key, from("lin"), interrupting))
	equal(f, "superseded", ids(a.Superseded), ids(old.Inbounds))
	equal(f, "replaces", a.Inbound.Replaces, ids(old.Inbounds))
	f.state(models.InboundSuperseded, old.Inbounds[0].ID)
	stopped, err := f.StoppedTurns(f.ctx, append(ids(old.Inbounds), a.Inbound.ID))
	f.ok(err)
	if len(stopped) == 0 || stopped[0] != old.Inbounds[0].ID {
		f.Fatalf("stopped turns are %v, want the interrupted one", stopped)
	}
	_, err = f.CommitTurn(f.ctx, f.answer(old, "too late"))
	f.fails(err, store.ErrStopped)

	// The lane is still the holder's: it goes on with the new message.
	turn := f.begin(old.Claim)
	equal(f, "turn", ids(turn.Inbounds), []string{a.Inbound.ID})
	equal(f, "interrupted", ids(turn.Interrupted), ids(old.Inbounds))
	equal(f, "text of the interrupted", string(turn.Interrupted[0].Payload), string(old.Inbounds[0].Payload))
	f.commit(f.answer(turn, "answer"))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to answer", "answer"})
}

func interruptChain(f *fixture) {
	key := f.key()
	turn := f.start(key)
	first := turn.Inbounds[0].ID
	second := f.accept(f.message(key, interrupting)).Inbound.ID
	turn = f.begin(turn.Claim)
	third := f.accept(f.message(key, interrupting)).Inbound.ID
	turn = f.begin(turn.Claim)
	equal(f, "turn", ids(turn.Inbounds), []string{third})
	equal(f, "interrupted", ids(turn.Interrupted), []string{first, second})
}

func interruptOthers(f *fixture) {
	key := f.key()
	waiting := f.key()
	old := f.start(key, from("lin"))
	before := f.waiting(key, from("lin"))
	a := f.accept(f.message(key, from("Lin"), interrupting))
	equal(f, "superseded", len(a.Superseded), 0)
	f.state(models.InboundRunning, old.Inbounds[0].ID)
	f.state(models.InboundReceived, before.ID)
	f.commit(f.answer(old, "answer"))

	// What waits is not interrupted, for it does not run.
	first := f.waiting(waiting, from("lin"))
	f.waiting(waiting, from("lin"), interrupting)
	f.state(models.InboundReceived, first.ID)
}

func interruptNotice(f *fixture) {
	key := f.key()
	f.start(key)
	f.accept(f.message(key, interrupting, noticed(f, "replaced")))
	equal(f, "notices", texts(f.deliveries(models.DeliveryPending)), []string{"replaced"})

	// Without anything superseded there is nothing to say.
	f.accept(f.message(f.key(), interrupting, noticed(f, "nothing")))
	equal(f, "notices", texts(f.deliveries(models.DeliveryPending)), []string{"replaced"})
}

func interruptElsewhere(f *fixture) {
	for name, elsewhere := range map[string]func(*store.AcceptRequest){
		"slot":    toSlot("b"),
		"channel": func(r *store.AcceptRequest) { r.Inbound.Channel = "dingtalk" },
		"account": func(r *store.AcceptRequest) { r.Inbound.Account = "other" },
		"chat":    func(r *store.AcceptRequest) { r.Same = func(_, _ *models.Inbound) bool { return false } },
	} {
		key := f.key()
		old := f.start(key, from("lin"))
		a := f.accept(f.message(key, from("lin"), interrupting, elsewhere))
		equal(f, "superseded by a message to another "+name, len(a.Superseded), 0)
		equal(f, "replaced by a message to another "+name, len(a.Inbound.Replaces), 0)
		f.state(models.InboundRunning, old.Inbounds[0].ID)
	}
}

func interruptRecalled(f *fixture) {
	key := f.key()
	old := f.start(key, from("lin"))
	f.accept(f.message(key, from("lin"), interrupting))
	f.erase(key, old.Inbounds[0].ID)
	f.state(models.InboundCancelled, old.Inbounds[0].ID)
	turn := f.begin(old.Claim)
	equal(f, "interrupted", len(turn.Interrupted), 0)
}

// erase takes messages back.
func (f *fixture) erase(key string, ids ...string) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error {
		return tx.Finish(ids, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled, Erase: true}, f.now)
	})
}

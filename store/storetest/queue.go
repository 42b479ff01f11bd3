package storetest

import (
	"errors"
	"time"

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

func runAgainTests() []test {
	return []test{
		{"FailedRunsAgainAtANewPlace", runAgainFailed},
		{"CancelledRunsAgain", runAgainCancelled},
		{"DoneStaysDone", runAgainDone},
		{"DifferingTextStaysFailed", runAgainDiffers},
		{"WithoutItFailedStaysFailed", runAgainNot},
		{"RacingRunsAreOne", runAgainRace},
	}
}

// failed leaves a message failed and returns its request.
func failed(f *fixture, key string) *store.AcceptRequest {
	r := f.message(key, claimed(claim()))
	a := f.accept(r)
	turn := &store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}
	f.commit(f.answer(turn, "", failing))
	return r
}

func failing(c *store.TurnCommit) {
	c.Outcome = store.Outcome{State: models.InboundFailed, Code: models.CodeAgentFailed, Error: "model is down"}
	c.Messages = nil
}

// again makes a second request for the same message.
func again(f *fixture, r *store.AcceptRequest) *store.AcceptRequest {
	repeat := f.message(r.Inbound.SessionKey, dedup(r.DedupKeys...))
	repeat.Fingerprint, repeat.Inbound.Payload, repeat.RunAgain = r.Fingerprint, r.Inbound.Payload, true
	return repeat
}

func runAgainFailed(f *fixture) {
	key := f.key()
	r := failed(f, key)
	before := f.inbound(r.Inbound.ID)
	equal(f, "error", before.Error, "model is down")
	equal(f, "code", before.Code, models.CodeAgentFailed)
	later := f.waiting(key)
	a, err := f.Accept(f.ctx, again(f, r))
	f.ok(err)
	equal(f, "message", a.Inbound.ID, r.Inbound.ID)
	equal(f, "state", a.Inbound.State, models.InboundReceived)
	got := f.inbound(r.Inbound.ID)
	if got.Seq <= later.Seq {
		f.Fatalf("it kept its place %d, after %d came", got.Seq, later.Seq)
	}
	equal(f, "outcome", store.Outcome{Code: got.Code, Error: got.Error}, store.Outcome{})
	equal(f, "finishedAt", got.FinishedAt, nil)

	turn := f.begin(f.claimLane(claim()))
	equal(f, "first turn", ids(turn.Inbounds), []string{later.ID})
	done := f.commit(f.answer(turn, "one", keep(longLease)))
	turn = f.begin(*done.Kept)
	equal(f, "second turn", ids(turn.Inbounds), []string{r.Inbound.ID})
	f.commit(f.answer(turn, "two"))
	f.state(models.InboundDone, r.Inbound.ID)
}

func runAgainCancelled(f *fixture) {
	key := f.key()
	r := f.message(key)
	f.accept(r)
	f.finish(key, models.InboundCancelled, r.Inbound.ID)
	f.noTurn()
	repeat := again(f, r)
	repeat.Claim = &store.ClaimRequest{Owner: "replica-1", Lease: longLease}
	a, err := f.Accept(f.ctx, repeat)
	f.ok(err)
	if a.Claim == nil {
		f.Fatalf("a message that runs again did not claim its idle lane")
	}
	f.state(models.InboundRunning, r.Inbound.ID)
	f.commit(f.answer(&store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, "answer"))
}

func runAgainDone(f *fixture) {
	key := f.key()
	r := f.message(key, claimed(claim()))
	a := f.accept(r)
	f.commit(f.answer(&store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, "answer"))
	b, err := f.Accept(f.ctx, again(f, r))
	f.ok(err)
	equal(f, "duplicate", b.Duplicate, true)
	equal(f, "state", b.Inbound.State, models.InboundDone)
	if b.Inbound.Reply == nil || b.Inbound.Reply.Content != "answer" {
		f.Fatalf("the reply is %+v, want the first one", b.Inbound.Reply)
	}
	f.noTurn()

	superseded := f.message(key)
	f.accept(superseded)
	f.finish(key, models.InboundSuperseded, superseded.Inbound.ID)
	_, err = f.Accept(f.ctx, again(f, superseded))
	f.ok(err)
	f.state(models.InboundSuperseded, superseded.Inbound.ID)
}

func runAgainDiffers(f *fixture) {
	r := failed(f, f.key())
	repeat := again(f, r)
	repeat.Fingerprint = []byte("something else")
	a, err := f.Accept(f.ctx, repeat)
	f.ok(err)
	equal(f, "differs", a.Differs, true)
	f.state(models.InboundFailed, r.Inbound.ID)
	f.noTurn()
}

func runAgainNot(f *fixture) {
	r := failed(f, f.key())
	repeat := again(f, r)
	repeat.RunAgain = false
	a, err := f.Accept(f.ctx, repeat)
	f.ok(err)
	equal(f, "duplicate", a.Duplicate, true)
	f.state(models.InboundFailed, r.Inbound.ID)
	f.noTurn()
}

func runAgainRace(f *fixture) {
	const racers = 8
	r := failed(f, f.key())
	claims := make([]*store.Claim, racers)
	errs := make([]error, racers)
	race(racers, func(i int) {
		repeat := again(f, r)
		repeat.Claim = &store.ClaimRequest{Owner: "replica-1", Lease: longLease}
		a, err := f.Accept(f.ctx, repeat)
		if errs[i] = err; err == nil {
			claims[i] = a.Claim
		}
	})
	f.ok(errors.Join(errs...))
	won := 0
	for _, c := range claims {
		if c != nil {
			won++
		}
	}
	equal(f, "runs", won, 1)
}

// finish gives pending messages an outcome from outside their turn.
func (f *fixture) finish(key string, state models.InboundState, ids ...string) {
	f.Helper()
	code := models.CodeCancelled
	if state == models.InboundSuperseded {
		code = models.CodeSuperseded
	}
	f.change(key, func(tx store.SessionTx) error {
		return tx.Finish(ids, store.Outcome{State: state, Code: code, Error: "asked to"}, f.now)
	})
}

func commandTests() []test {
	return []test{
		{"NeverWaitsBehindATurn", commandBesideTurn},
		{"IsClaimedAfterItsProcessDied", commandRecovered},
		{"FinishedIsNotClaimed", commandFinished},
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

func observedTests() []test {
	return []test{
		{"NewestSinceOldestFirst", observedWindow},
		{"TakenInByATurn", observedTaken},
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

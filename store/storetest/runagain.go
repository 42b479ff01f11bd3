package storetest

import (
	"errors"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

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

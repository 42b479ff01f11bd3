package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func approvalTests() []test {
	return []test{
		{"CommittedWithTheirTurn", approvalCommitted},
		{"DecidedOnce", approvalDecided},
		{"ExpiredIsNotDecided", approvalExpired},
		{"BegunOnce", approvalBegun},
		{"PromotedCommandIsATurn", approvalPromoted},
		{"GoWithTheirContext", approvalGone},
		{"Listed", approvalListed},
		{"TooLargeOrInvalid", approvalLimits},
	}
}

// hold commits a turn that made a call which waits, and returns it.
func (f *fixture) hold(key string, change ...func(*models.Approval)) *models.Approval {
	f.Helper()
	turn := f.start(key)
	thought := "Is it safe?"
	a := &models.Approval{
		Code: fmt.Sprintf("CODE%d", f.serial.Add(1)), SessionKey: key, Slot: models.DefaultSlot, InboundID: turn.Inbounds[0].ID,
		AgentID: "assistant", Channel: "feishu", Account: "main", SenderID: "ou_1", SenderName: "林", Tool: "web__delete",
		Arguments: `{"path":"a"}`, Key: f.id("key"), Reasoning: &thought, Payload: []byte{0, 0xff, '{'}, State: models.ApprovalPending,
		CreatedAt: f.now, ExpiresAt: f.at(time.Hour),
	}
	for _, c := range change {
		c(a)
	}
	commit := f.answer(turn, "it waits")
	commit.Approvals = []*models.Approval{a}
	f.commit(commit)
	return a
}

// decide says yes, as a command of the session, and returns the command.
func (f *fixture) decide(a *models.Approval) *models.Inbound {
	f.Helper()
	said := f.waiting(a.SessionKey, kind(models.KindCommand))
	f.change(a.SessionKey, func(tx store.SessionTx) error {
		if err := tx.Decide(a.Code, store.Decision{State: models.ApprovalApproved, By: "林", InboundID: said.ID, Now: f.now}); err != nil {
			return err
		}
		return tx.Promote(said.ID, a.Slot, []byte("the decision"))
	})
	return said
}

func (f *fixture) approval(code string) *models.Approval {
	f.Helper()
	a, err := f.Approval(f.ctx, code)
	f.ok(err)
	return a
}

func approvalCommitted(f *fixture) {
	_, err := f.Approval(f.ctx, "CODE")
	f.fails(err, store.ErrNotFound)
	want := f.hold(f.key())
	got := f.approval(want.Code)
	f.sameTime("createdAt", got.CreatedAt, want.CreatedAt)
	f.sameTime("expiresAt", got.ExpiresAt, want.ExpiresAt)
	got.CreatedAt, got.ExpiresAt = want.CreatedAt, want.ExpiresAt
	equal(f, "approval", *got, *want)
	equal(f, "state", got.At(f.at(59*time.Minute)), models.ApprovalPending)
	equal(f, "state", got.At(f.at(time.Hour)), models.ApprovalExpired)
	silent := f.hold(f.key(), func(a *models.Approval) { a.Reasoning, a.Payload = nil, []byte("x") })
	if f.approval(silent.Code).Reasoning != nil {
		f.Fatalf("a model that did not think is made to have thought")
	}
}

func approvalDecided(f *fixture) {
	key := f.key()
	a := f.hold(key)
	f.refuses(f.key(), store.ErrNotFound, func(tx store.SessionTx) error {
		_, err := tx.Approval(a.Code)
		return err
	})
	yes := store.Decision{State: models.ApprovalApproved, By: "林", InboundID: "inb_1", Now: f.now}
	f.refuses(f.key(), store.ErrNotFound, func(tx store.SessionTx) error { return tx.Decide(a.Code, yes) })
	f.change(key, func(tx store.SessionTx) error { return tx.Decide(a.Code, yes) })
	got := f.approval(a.Code)
	equal(f, "state", got.State, models.ApprovalApproved)
	equal(f, "decided", got.DecidedBy+" in "+got.DecidedIn, "林 in inb_1")
	f.sameTime("decidedAt", *got.DecidedAt, f.now)
	no := store.Decision{State: models.ApprovalDenied, By: "另一人", InboundID: "inb_2", Now: f.now}
	f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error { return tx.Decide(a.Code, no) })
	equal(f, "state", f.approval(a.Code).State, models.ApprovalApproved)
	f.refuses(key, store.ErrInvalid, func(tx store.SessionTx) error {
		return tx.Decide(a.Code, store.Decision{State: models.ApprovalDone, Now: f.now})
	})
	other := f.hold(f.key())
	f.change(other.SessionKey, func(tx store.SessionTx) error { return tx.Decide(other.Code, no) })
	equal(f, "state", f.approval(other.Code).State, models.ApprovalDenied)
	_, first, err := f.BeginCall(f.ctx, other.Code)
	f.ok(err)
	equal(f, "a denied call is begun", first, false)
}

func approvalExpired(f *fixture) {
	a := f.hold(f.key())
	f.refuses(a.SessionKey, store.ErrConflict, func(tx store.SessionTx) error {
		return tx.Decide(a.Code, store.Decision{State: models.ApprovalApproved, Now: a.ExpiresAt})
	})
	equal(f, "state", f.approval(a.Code).State, models.ApprovalPending)
}

func approvalBegun(f *fixture) {
	a := f.hold(f.key())
	_, first, err := f.BeginCall(f.ctx, a.Code)
	f.ok(err)
	equal(f, "a pending call is begun", first, false)
	_, _, err = f.BeginCall(f.ctx, "unknown")
	f.fails(err, store.ErrNotFound)
	f.fails(f.EndCall(f.ctx, a.Code, []byte("early")), store.ErrConflict)

	f.decide(a)
	begun := 0
	results := make(chan bool)
	for range 8 {
		go func() {
			_, first, err := f.BeginCall(f.ctx, a.Code)
			results <- first && err == nil
		}()
	}
	for range 8 {
		if <-results {
			begun++
		}
	}
	equal(f, "begun", begun, 1)
	got, first, err := f.BeginCall(f.ctx, a.Code)
	f.ok(err)
	equal(f, "state", got.State, models.ApprovalRunning)
	equal(f, "begun again", first, false)
	f.ok(f.EndCall(f.ctx, a.Code, []byte{0, 0xff}))
	f.fails(f.EndCall(f.ctx, a.Code, []byte("twice")), store.ErrConflict)
	got, first, err = f.BeginCall(f.ctx, a.Code)
	f.ok(err)
	equal(f, "state", got.State, models.ApprovalDone)
	equal(f, "result", string(got.Result), "\x00\xff")
	equal(f, "begun after its end", first, false)
}

func approvalPromoted(f *fixture) {
	key := f.key()
	a := f.hold(key)
	said := f.decide(a)
	got := f.inbound(said.ID)
	equal(f, "kind", got.Kind, models.KindMessage)
	equal(f, "state", got.State, models.InboundReceived)
	equal(f, "awaited", got.Awaited, true)
	equal(f, "payload", string(got.Payload), "the decision")
	if left, err := f.ClaimCommands(f.ctx, dying(), 10); err != nil || len(left) != 0 {
		f.Fatalf("it is a command still: %v %v", left, err)
	}
	f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error { return tx.Promote(said.ID, a.Slot, []byte("again")) })
	f.waiting(key) // a later message is not merged into it
	turn := f.begin(f.claimLane(claim()))
	equal(f, "turn", ids(turn.Inbounds), []string{said.ID})
	f.commit(f.answer(turn, "done"))
	f.state(models.InboundDone, said.ID)
}

func approvalGone(f *fixture) {
	key := f.key()
	one := f.hold(key)
	f.reset(key, models.DefaultSlot)
	_, err := f.Approval(f.ctx, one.Code)
	f.fails(err, store.ErrNotFound)

	f.slot(key, "work", "text")
	two := f.hold(key, func(a *models.Approval) { a.Slot = "work" })
	three := f.hold(key)
	f.ok(f.deleteSlot(key, "work"))
	_, err = f.Approval(f.ctx, two.Code)
	f.fails(err, store.ErrNotFound)
	f.approval(three.Code)

	f.delete(key)
	_, err = f.Approval(f.ctx, three.Code)
	f.fails(err, store.ErrNotFound)

	old := f.hold(f.key())
	equal(f, "swept too early", f.sweepAll(f.at(24*time.Hour), store.Retention{Inbound: 24 * time.Hour}).Approvals, 0)
	f.sweepAll(f.at(26*time.Hour), store.Retention{Inbound: 24 * time.Hour})
	_, err = f.Approval(f.ctx, old.Code)
	f.fails(err, store.ErrNotFound)
}

func approvalListed(f *fixture) {
	var want []string
	for i := range 5 {
		a := f.hold(f.key(), func(a *models.Approval) { a.CreatedAt = f.at(time.Duration(i) * time.Second) })
		want = append([]string{a.Code}, want...)
	}
	decided := f.approval(want[2])
	f.decide(decided)
	list := func(state models.ApprovalState) (codes []string) {
		for cursor, page := "", 0; page == 0 || cursor != ""; page++ {
			items, next, err := f.ListApprovals(f.ctx, store.ApprovalQuery{State: state, Limit: 2, Cursor: cursor})
			f.ok(err)
			for _, a := range items {
				codes = append(codes, a.Code)
			}
			cursor = next
		}
		return codes
	}
	equal(f, "all", list(""), want)
	equal(f, "pending", list(models.ApprovalPending), []string{want[0], want[1], want[3], want[4]})
	equal(f, "approved", list(models.ApprovalApproved), []string{want[2]})
	_, _, err := f.ListApprovals(f.ctx, store.ApprovalQuery{Cursor: "?"})
	f.fails(err, store.ErrInvalid)
}

func approvalLimits(f *fixture) {
	turn := f.start(f.key())
	for what, change := range map[string]func(*models.Approval){
		"no code":      func(a *models.Approval) { a.Code = "" },
		"long code":    func(a *models.Approval) { a.Code = strings.Repeat("A", 33) },
		"no tool":      func(a *models.Approval) { a.Tool = "" },
		"no arguments": func(a *models.Approval) { a.Arguments = "" },
		"NUL":          func(a *models.Approval) { a.SenderName = "a\x00" },
	} {
		a := &models.Approval{Code: "CODE", Slot: models.DefaultSlot, InboundID: turn.Inbounds[0].ID, Tool: "t", Arguments: "{}", Key: "k"}
		change(a)
		c := f.answer(turn, "text")
		c.Approvals = []*models.Approval{a}
		if _, err := f.CommitTurn(f.ctx, c); err == nil {
			f.Fatalf("%s is stored", what)
		}
	}
	f.commit(f.answer(turn, "text"))
}

func blobTests() []test {
	return []test{
		{"KeptInFull", resultKept},
		{"OfARunningTurnOnly", resultStopped},
		{"OldestGo", resultBounded},
		{"GoWithTheirSession", resultGone},
	}
}

func (f *fixture) putResult(turn *store.Turn, id, text string, at time.Time) error {
	return f.PutResult(f.ctx, turn.Claim, &models.FullResult{
		ID: id, InboundID: turn.Inbounds[0].ID, Tool: "web__read", Size: len(text), Text: text, CreatedAt: at,
	})
}

func resultKept(f *fixture) {
	key := f.key()
	turn := f.start(key)
	whole := strings.Repeat("长文 text ", models.MaxFullResult/16)
	f.ok(f.putResult(turn, "res_1", "to be replaced", f.now))
	f.ok(f.putResult(turn, "res_1", whole, f.now))
	f.ok(f.putResult(turn, "res_2", "short", f.at(time.Second)))
	got, err := f.Result(f.ctx, key, "res_1")
	f.ok(err)
	equal(f, "size", got.Size, len(whole))
	equal(f, "tool", got.Tool, "web__read")
	if got.Text != whole {
		f.Fatalf("the text is not what was stored: %d bytes", len(got.Text))
	}
	all, err := f.Results(f.ctx, key)
	f.ok(err)
	equal(f, "results", len(all), 2)
	equal(f, "newest", all[0].ID+all[0].Text, "res_2")
	_, err = f.Result(f.ctx, f.key(), "res_1")
	f.fails(err, store.ErrNotFound)
	f.fails(f.putResult(turn, "res_3", whole+whole, f.now), store.ErrTooLarge)
}

func resultStopped(f *fixture) {
	key := f.key()
	turn := f.start(key)
	f.finish(key, models.InboundCancelled, turn.Inbounds[0].ID)
	f.fails(f.putResult(turn, "res_1", "text", f.now), store.ErrStopped)
	lost := *turn
	lost.Claim.Fence--
	f.fails(f.putResult(&lost, "res_1", "text", f.now), store.ErrLeaseLost)
}

func resultBounded(f *fixture) {
	key := f.key()
	turn := f.start(key)
	for i := range models.MaxFullResults + 3 {
		f.ok(f.putResult(turn, fmt.Sprintf("res_%02d", i), "text", f.at(time.Duration(i)*time.Second)))
	}
	all, err := f.Results(f.ctx, key)
	f.ok(err)
	equal(f, "results", len(all), models.MaxFullResults)
	equal(f, "oldest", all[len(all)-1].ID, "res_03")
}

func resultGone(f *fixture) {
	key, other := f.key(), f.key()
	for _, k := range []string{key, other} {
		turn := f.start(k)
		f.ok(f.putResult(turn, "res_1", "text", f.now))
		f.commit(f.answer(turn, "answer"))
	}
	f.delete(key)
	_, err := f.Result(f.ctx, key, "res_1")
	f.fails(err, store.ErrNotFound)
	_, err = f.Result(f.ctx, other, "res_1")
	f.ok(err)
	f.sweepAll(f.at(25*time.Hour), store.Retention{Inbound: 24 * time.Hour})
	_, err = f.Result(f.ctx, other, "res_1")
	f.fails(err, store.ErrNotFound)
}

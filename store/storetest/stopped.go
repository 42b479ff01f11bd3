package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func stoppedTests() []test {
	return []test{
		{"ByFinish", stoppedByFinish},
		{"ByFinishOfAMergedMessage", stoppedMerged},
		{"ByReset", stoppedByReset},
		{"ByDelete", stoppedByDelete},
		{"StoppedTurnsTellsAll", stoppedTells},
		{"StoppedAndTakenOver", stoppedTakenOver},
	}
}

// refused checks that a turn can no longer commit, and that nothing came of it.
func (f *fixture) refused(turn *store.Turn, sentinel error) {
	f.Helper()
	d := f.parts(turn, "oc_stopped", 1)
	_, err := f.CommitTurn(f.ctx, f.answer(turn, "too late", deliver(d...)))
	f.fails(err, sentinel)
	_, err = f.Delivery(f.ctx, d[0].ID)
	f.fails(err, store.ErrNotFound)
	_, err = f.TurnMessages(f.ctx, turn.Inbounds[0].ID)
	f.fails(err, store.ErrNotFound)
}

func stoppedByFinish(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	turn := f.start(key)
	second := f.waiting(key)
	f.finish(key, models.InboundCancelled, turn.Inbounds[0].ID)
	f.refused(turn, store.ErrStopped)
	in := f.inbound(turn.Inbounds[0].ID)
	equal(f, "state", in.State, models.InboundCancelled)
	equal(f, "code", in.Code, models.CodeCancelled)
	equal(f, "error", in.Error, "asked to")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one"})
	equal(f, "messages", f.session(key).MessageCount, 2)
	next := f.begin(turn.Claim) // the lane is still the holder's
	equal(f, "turn", ids(next.Inbounds), []string{second.ID})
	f.commit(f.answer(next, "two"))
}

func stoppedMerged(f *fixture) {
	key := f.key()
	first, second := f.waiting(key), f.waiting(key)
	turn, err := f.BeginTurn(f.ctx, f.claimLane(claim()), store.MergeRule{Merge: true, Debounce: time.Hour})
	f.ok(err)
	f.finish(key, models.InboundCancelled, second.ID) // say, it was recalled
	f.refused(turn, store.ErrStopped)
	next := f.begin(turn.Claim)
	equal(f, "turn", ids(next.Inbounds), []string{first.ID})
	f.commit(f.answer(next, "answer"))
}

func stoppedByReset(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	turn := f.start(key)
	waits := f.waiting(key)
	f.change(key, func(tx store.SessionTx) error {
		pending, err := tx.Pending()
		if err != nil {
			return err
		}
		equal(f, "pending", ids(pending), []string{turn.Inbounds[0].ID, waits.ID})
		o := store.Outcome{State: models.InboundSuperseded, Code: models.CodeSuperseded}
		if err := tx.Finish(ids(pending), o, f.now); err != nil {
			return err
		}
		return tx.Reset(models.DefaultSlot, 0, f.now)
	})
	f.refused(turn, store.ErrStopped)
	f.state(models.InboundSuperseded, turn.Inbounds[0].ID, waits.ID)
	equal(f, "history", len(f.history(key, models.DefaultSlot)), 0)
}

func stoppedByDelete(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	turn := f.start(key)
	f.change(key, func(tx store.SessionTx) error { return tx.Delete(f.now) })
	f.refused(turn, store.ErrStopped)
	_, err := f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
	stopped, err := f.StoppedTurns(f.ctx, ids(turn.Inbounds))
	f.ok(err)
	equal(f, "stopped", stopped, ids(turn.Inbounds))

	// A session that has no row yet can be deleted under its first turn, too.
	fresh := f.key()
	turn = f.start(fresh)
	f.change(fresh, func(tx store.SessionTx) error { return tx.Delete(f.now) })
	f.refused(turn, store.ErrStopped)
	_, err = f.Session(f.ctx, fresh)
	f.fails(err, store.ErrNotFound)
}

func stoppedTells(f *fixture) {
	key := f.key()
	running := f.start(key).Inbounds[0]
	done := f.turn(f.key(), "answer")
	cancelled := f.start(f.key()).Inbounds[0]
	f.finish(cancelled.SessionKey, models.InboundCancelled, cancelled.ID)
	got, err := f.StoppedTurns(f.ctx, []string{running.ID, done.ID, cancelled.ID, "inb_unknown"})
	f.ok(err)
	stopped := map[string]bool{}
	for _, id := range got {
		stopped[id] = true
	}
	equal(f, "stopped", stopped, map[string]bool{done.ID: true, cancelled.ID: true, "inb_unknown": true})
	got, err = f.StoppedTurns(f.ctx, nil)
	f.ok(err)
	equal(f, "stopped of none", len(got), 0)
}

// A turn that was stopped while its process hung is not run by who takes over.
func stoppedTakenOver(f *fixture) {
	key := f.key()
	first := f.waiting(key)
	zombie := f.begin(f.claimLane(dying()))
	f.finish(key, models.InboundCancelled, first.ID)
	second := f.waiting(key)
	next := f.begin(f.takeOver(key))
	equal(f, "turn", ids(next.Inbounds), []string{second.ID})
	_, err := f.CommitTurn(f.ctx, f.answer(zombie, "too late"))
	if err == nil {
		f.Fatalf("a zombie committed a stopped turn")
	}
	f.commit(f.answer(next, "answer"))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to answer", "answer"})
}

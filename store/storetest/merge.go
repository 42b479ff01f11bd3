package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func mergeTests() []test {
	return []test{
		{"Rules", mergeRules},
		{"EpochsStayApart", mergeEpochs},
		{"MergedAreDoneTogether", mergeCommit},
		{"RunningAgainMergesAgain", mergeAgain},
	}
}

func mergeRules(f *fixture) {
	const debounce = time.Second
	type message struct {
		sender  string
		slot    string
		at      time.Duration
		awaited bool
	}
	for _, c := range []struct {
		name     string
		rule     store.MergeRule
		messages []message
		want     int
	}{
		{"not allowed", store.MergeRule{Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin"}}, 1},
		{"one sender", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin"}, {sender: "lin"}}, 3},
		{"two senders", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "wang"}}, 1},
		{"senders differ in case", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "Lin"}}, 1},
		{"somebody between", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin"}, {sender: "wang"}, {sender: "lin"}}, 2},
		{"two slots", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin", slot: "work"}}, 1},
		{"first awaited", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin", awaited: true}, {sender: "lin"}}, 1},
		{"second awaited", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin", awaited: true}}, 1},
		{"third awaited", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin"}, {sender: "lin", awaited: true}}, 2},
		{"too far apart", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin", at: debounce + time.Millisecond}}, 1},
		{"just close enough", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin", at: debounce}}, 2},
		{"each within the one before", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin", at: debounce}, {sender: "lin", at: 2 * debounce}}, 3},
		{"a gap in the middle", store.MergeRule{Merge: true, Debounce: debounce}, []message{{sender: "lin"}, {sender: "lin", at: debounce}, {sender: "lin", at: 3 * debounce}}, 2},
		{"another place", store.MergeRule{Merge: true, Debounce: debounce, Same: func(_, _ *models.Inbound) bool { return false }}, []message{{sender: "lin"}, {sender: "lin"}}, 1},
		{"the same place", store.MergeRule{Merge: true, Debounce: debounce, Same: func(a, b *models.Inbound) bool {
			return len(a.Payload) > 0 && len(b.Payload) > 0 && a.Seq+1 == b.Seq
		}}, []message{{sender: "lin"}, {sender: "lin"}, {sender: "lin"}}, 3},
		{"no debounce", store.MergeRule{Merge: true}, []message{{sender: "lin"}, {sender: "lin", at: time.Millisecond}}, 1},
	} {
		key := f.key()
		f.create(key)
		f.change(key, func(tx store.SessionTx) error {
			return tx.CreateSlot(&models.ContextSlot{ID: "work", Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, CreatedAt: f.now})
		})
		var want []string
		for i, m := range c.messages {
			in := f.waiting(key, from(m.sender), toSlot(m.slot), received(f.at(m.at)),
				func(r *store.AcceptRequest) { r.Inbound.Awaited = m.awaited })
			if i < c.want {
				want = append(want, in.ID)
			}
		}
		turn, err := f.BeginTurn(f.ctx, f.claimLane(claim()), c.rule)
		f.ok(err)
		if turn == nil {
			f.Fatalf("%s: nothing waits", c.name)
		}
		equal(f, c.name, ids(turn.Inbounds), want)
		f.state(models.InboundRunning, want...)
	}
}

func mergeEpochs(f *fixture) {
	key := f.key()
	f.create(key)
	before := f.waiting(key)
	f.change(key, func(tx store.SessionTx) error { return tx.Reset(models.DefaultSlot, 0, f.now) })
	after := f.waiting(key)
	turn, err := f.BeginTurn(f.ctx, f.claimLane(claim()), store.MergeRule{Merge: true, Debounce: time.Hour})
	f.ok(err)
	if turn == nil || len(turn.Inbounds) != 1 {
		f.Fatalf("messages from before and after a reset are answered together: %v of %v", turn, []string{before.ID, after.ID})
	}
}

func mergeCommit(f *fixture) {
	key := f.key()
	first, second := f.waiting(key), f.waiting(key)
	turn, err := f.BeginTurn(f.ctx, f.claimLane(claim()), store.MergeRule{Merge: true, Debounce: time.Hour})
	f.ok(err)
	equal(f, "turn", ids(turn.Inbounds), []string{first.ID, second.ID})
	done := f.commit(f.answer(turn, "both", keep(longLease)))
	equal(f, "waiting", done.Waiting, false)
	f.state(models.InboundDone, first.ID, second.ID)
	equal(f, "merged into", f.inbound(second.ID).MergedInto, first.ID)
	equal(f, "merged into", f.inbound(first.ID).MergedInto, "")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to both", "both"})
}

func mergeAgain(f *fixture) {
	key := f.key()
	first, second := f.waiting(key), f.waiting(key)
	rule := store.MergeRule{Merge: true, Debounce: time.Hour}
	_, err := f.BeginTurn(f.ctx, f.claimLane(dying()), rule)
	f.ok(err)
	turn, err := f.BeginTurn(f.ctx, f.takeOver(key), rule)
	f.ok(err)
	equal(f, "turn", ids(turn.Inbounds), []string{first.ID, second.ID})
	f.commit(f.answer(turn, "both"))
	f.state(models.InboundDone, first.ID, second.ID)
}

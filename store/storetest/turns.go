package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func turnTests() []test {
	return []test{
		{"MakesTheSession", turnMakesSession},
		{"CountsAndRemembers", turnCounts},
		{"UpdatesActivity", turnActivity},
		{"KeepsTheLane", turnKeeps},
		{"DeliversInOrder", turnDelivers},
		{"ClaimsOnlyAnIdleTarget", turnTargetBusy},
		{"PullingChannelIsDelivered", turnPulled},
		{"FailureLeavesTheHistory", turnFails},
		{"RepeatIsSafe", turnRepeat},
		{"RepeatAfterTheNextTurnIsSafe", turnRepeatLate},
		{"UnknownSlotIsRefused", turnUnknownSlot},
		{"MessagesOfATurn", turnMessages},
	}
}

func turnMakesSession(f *fixture) {
	key := f.key()
	f.turn(key, "answer")
	s := f.session(key)
	want := f.newSession(key)
	equal(f, "session", [...]any{s.Key, s.AgentID, s.Channel, s.Account, s.Scope, s.ScopeID, s.State, s.CurrentSlot},
		[...]any{want.Key, want.AgentID, want.Channel, want.Account, want.Scope, want.ScopeID, want.State, models.DefaultSlot})
	f.sameTime("createdAt", s.CreatedAt, f.now)
	f.sameTime("lastActivityAt", s.LastActivityAt, f.now)
	f.sameTime("lastUserAt", s.LastUserAt, f.now)
	equal(f, "messages of a session read without them", len(s.Messages), 0)
	f.change(key, func(tx store.SessionTx) error {
		slots, err := tx.Slots()
		f.ok(err)
		equal(f, "slots", len(slots), 1)
		equal(f, "slot", slots[0].ID, models.DefaultSlot)
		equal(f, "current", slots[0].Current, true)
		equal(f, "messages", slots[0].MessageCount, 2)
		equal(f, "compact", slots[0].Compact, true)
		return nil
	})
}

func turnCounts(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	turn := f.start(key)
	c := f.answer(turn, "two")
	call := f.said(models.RoleAssistant, "")
	call.ToolCalls = []models.ToolCall{{ID: "call_1", Name: "clock", Arguments: `{"zone":"Asia/Shanghai`}}
	result := f.said(models.RoleTool, "12:00")
	result.ToolCallID = "call_1"
	c.Messages = []*models.SessionMessage{c.Messages[0], call, result, c.Messages[1]}
	f.commit(c)
	s := f.session(key)
	equal(f, "messages", s.MessageCount, 6)
	tokens := len("to one") + len("one") + len("to two") + len("12:00") + len("two")
	equal(f, "tokens", s.TotalTokenCount, tokens)
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	f.ok(err)
	for i, m := range messages {
		if i > 0 && m.Seq <= messages[i-1].Seq {
			f.Fatalf("message %d has seq %d after %d", i, m.Seq, messages[i-1].Seq)
		}
		equal(f, "slot", m.Slot, models.DefaultSlot)
	}
	equal(f, "tool calls", messages[3].ToolCalls, call.ToolCalls)
	equal(f, "tool call id", messages[4].ToolCallID, "call_1")
	in := f.inbound(turn.Inbounds[0].ID)
	equal(f, "finish reason", in.FinishReason, "stop")
	if in.Reply == nil || in.Reply.Content != "two" || in.FinishedAt == nil {
		f.Fatalf("outcome is %+v", in)
	}
	f.sameTime("finishedAt", *in.FinishedAt, f.now)
}

func turnActivity(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	s := f.session(key)
	s.State, s.Channel = models.SessionIdle, "elsewhere"
	f.change(key, func(tx store.SessionTx) error { return tx.Update(s, f.now) })

	// A turn of nobody, say of a job, is no use of the session.
	turn := f.start(key)
	f.commit(f.answer(turn, "two", func(c *store.TurnCommit) {
		c.UserAt, c.Now = time.Time{}, f.at(time.Minute)
	}))
	s = f.session(key)
	equal(f, "state", s.State, models.SessionIdle)
	f.sameTime("lastUserAt", s.LastUserAt, f.now)

	turn = f.start(key)
	f.commit(f.answer(turn, "three", func(c *store.TurnCommit) {
		c.Session.Channel, c.Session.Account = "feishu", "main"
		c.UserAt, c.Now = f.at(2*time.Minute), f.at(3*time.Minute)
	}))
	s = f.session(key)
	equal(f, "state", s.State, models.SessionActive)
	equal(f, "latest channel", s.Channel+"/"+s.Account, "feishu/main")
	f.sameTime("lastUserAt", s.LastUserAt, f.at(2*time.Minute))
	f.sameTime("lastActivityAt", s.LastActivityAt, f.at(3*time.Minute))
	f.sameTime("createdAt", s.CreatedAt, f.now)
}

func turnKeeps(f *fixture) {
	key := f.key()
	turn := f.start(key)
	second := f.waiting(key)
	done := f.commit(f.answer(turn, "one", keep(longLease)))
	if !done.Waiting || done.Kept == nil {
		f.Fatalf("the lane was not kept: %+v", done)
	}
	f.noLane()
	equal(f, "attempts", done.Kept.Attempts, 1)
	next := f.begin(*done.Kept)
	equal(f, "turn", ids(next.Inbounds), []string{second.ID})
	done = f.commit(f.answer(next, "two", keep(longLease)))
	if done.Waiting || done.Kept != nil {
		f.Fatalf("an empty lane was kept: %+v", done)
	}
	f.start(key) // idle

	// A kept lane is a lease like any other.
	dies := f.key()
	turn = f.start(dies)
	f.waiting(dies)
	done = f.commit(f.answer(turn, "one", keep(shortLease)))
	c := f.takeOver(dies)
	if c.Fence <= done.Kept.Fence {
		f.Fatalf("fence went from %d to %d", done.Kept.Fence, c.Fence)
	}
	equal(f, "attempts", c.Attempts, 2)
	_, err := f.BeginTurn(f.ctx, *done.Kept, store.MergeRule{})
	f.fails(err, store.ErrLeaseLost)
}

func turnDelivers(f *fixture) {
	turn := f.start(f.key())
	parts := f.parts(turn, "oc_1", 3)
	c := claim()
	done := f.commit(f.answer(turn, "answer", deliver(parts...), func(t *store.TurnCommit) { t.ClaimTarget = &c }))
	if done.Target == nil || done.First == nil {
		f.Fatalf("an idle target was not claimed: %+v", done)
	}
	equal(f, "channel", done.Target.Channel+"/"+done.Target.Account, "feishu/main")
	f.noTarget()
	got := done.First
	for i, want := range parts {
		if got == nil {
			f.Fatalf("delivery %d is missing", i)
		}
		equal(f, "delivery", got.ID, want.ID)
		equal(f, "state", got.State, models.DeliverySending)
		equal(f, "text", got.Text, want.Text)
		equal(f, "part", [...]int{got.Part, got.Parts}, [...]int{i + 1, 3})
		equal(f, "inbound", got.InboundID, turn.Inbounds[0].ID)
		equal(f, "target", got.Target, want.Target)
		var err error
		got, err = f.FinishDelivery(f.ctx, *done.Target, f.sent(got))
		f.ok(err)
	}
	if got != nil {
		f.Fatalf("one delivery too many: %+v", got)
	}
	f.noTarget()
}

func turnTargetBusy(f *fixture) {
	f.enqueue(f.delivery("oc_1", "push"))
	c := claim()
	turn := f.start(f.key())
	busy := f.commit(f.answer(turn, "answer", deliver(f.parts(turn, "oc_1", 1)...), func(t *store.TurnCommit) { t.ClaimTarget = &c }))
	if busy.Target != nil || busy.First != nil {
		f.Fatalf("an answer overtook what waits for its target: %+v", busy)
	}
	equal(f, "order", texts(f.drain(f.claimTarget(claim()))), []string{"push", "part 1"})

	turn = f.start(f.key())
	unasked := f.commit(f.answer(turn, "answer", deliver(f.parts(turn, "oc_1", 1)...)))
	if unasked.Target != nil || unasked.First != nil {
		f.Fatalf("a target was claimed unasked: %+v", unasked)
	}
	equal(f, "order", texts(f.drain(f.claimTarget(claim()))), []string{"part 1"})
}

func turnPulled(f *fixture) {
	turn := f.start(f.key())
	parts := f.parts(turn, "", 1)
	parts[0].Channel, parts[0].Account, parts[0].State = "api", "default", models.DeliveryDelivered
	parts[0].DeliveredAt = &f.now
	c := claim()
	done := f.commit(f.answer(turn, "answer", deliver(parts...), func(t *store.TurnCommit) { t.ClaimTarget = &c }))
	if done.Target != nil || done.First != nil {
		f.Fatalf("there is nothing to send: %+v", done)
	}
	got, err := f.Delivery(f.ctx, parts[0].ID)
	f.ok(err)
	equal(f, "state", got.State, models.DeliveryDelivered)
	f.noTarget()
}

func turnFails(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	before := f.session(key)
	turn := f.start(key)
	notice := NewDelivery(key, "oc_1", "the model is down", f.now)
	notice.Kind = models.DeliveryNotice
	f.commit(f.answer(turn, "", failing, deliver(notice)))
	f.state(models.InboundFailed, turn.Inbounds[0].ID)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one"})
	equal(f, "messages", f.session(key).MessageCount, before.MessageCount)
	equal(f, "notices", texts(f.deliveries(models.DeliveryPending)), []string{"the model is down"})
	f.turn(key, "two") // the lane goes on
}

func turnRepeat(f *fixture) {
	key := f.key()
	turn := f.start(key)
	second := f.waiting(key)
	c := claim()
	commit := f.answer(turn, "one", keep(longLease), deliver(f.parts(turn, "oc_1", 2)...),
		func(t *store.TurnCommit) { t.ClaimTarget = &c })
	first := f.commit(commit)
	repeat := f.commit(commit)
	equal(f, "waiting", repeat.Waiting, true)
	if repeat.Kept == nil {
		f.Fatalf("the repeat does not tell that the lane was kept: %+v", repeat)
	}
	equal(f, "claim", *repeat.Kept, *first.Kept)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one"})
	equal(f, "messages", f.session(key).MessageCount, 2)
	equal(f, "deliveries", len(f.deliveries("")), 2)
	next := f.begin(*repeat.Kept)
	equal(f, "turn", ids(next.Inbounds), []string{second.ID})
}

func turnRepeatLate(f *fixture) {
	key := f.key()
	turn := f.start(key)
	commit := f.answer(turn, "one", keep(longLease))
	f.commit(commit)
	f.turn(key, "two")
	f.start(key)
	done := f.commit(commit)
	if done.Kept != nil {
		f.Fatalf("the repeat was given a lane that another holds: %+v", done)
	}
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "to two", "two"})
}

func turnUnknownSlot(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	turn := f.start(key)
	c := f.answer(turn, "two")
	c.Slot = "gone"
	_, err := f.CommitTurn(f.ctx, c)
	f.fails(err, store.ErrNotFound)
	f.state(models.InboundRunning, turn.Inbounds[0].ID)
	c.Slot = models.DefaultSlot
	f.commit(c)
}

func turnMessages(f *fixture) {
	key := f.key()
	one := f.turn(key, "one")
	f.add(key, "between")
	two := f.turn(key, "two")
	failed := failed(f, key)
	for id, want := range map[string][]string{one.ID: {"to one", "one"}, two.ID: {"to two", "two"}} {
		got, err := f.TurnMessages(f.ctx, id)
		f.ok(err)
		equal(f, "messages of the turn", contents(got), want)
	}
	for _, id := range []string{failed.Inbound.ID, "inb_unknown"} {
		_, err := f.TurnMessages(f.ctx, id)
		f.fails(err, store.ErrNotFound)
	}
}

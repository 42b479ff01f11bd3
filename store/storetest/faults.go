package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// maxStatements bounds the search for the last statement of an operation.
const maxStatements = 60

// runFaults lets every statement and every commit of the operations that change
// something fail: what is stored is then what was before, or what comes after,
// and the operation can be repeated.
func runFaults(t *testing.T, o Options) {
	if o.Faults == nil {
		return
	}
	var in Injector
	f := newFixture(t, o, o.Faults(t, &in))
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			g := *f
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout) // each operation has its own
			defer cancel()
			g.ctx, g.reporter = ctx, t
			checkFaults(&g, &in, op)
		})
	}
	t.Run("UsageIsAddedOnce", func(t *testing.T) {
		var in Injector
		f := newFixture(t, o, o.Faults(t, &in))
		in.arm(0, 0, 1) // the answer to the commit is lost
		f.ok(f.AddUsage(f.ctx, []store.UsageEntry{{Day: today, AgentID: "a", UsageCount: store.UsageCount{PromptTokens: 5, Turns: 1}}},
			[]store.Spending{{Budget: budget(store.BudgetAgent, "a"), Tokens: 5}}))
		in.disarm()
		equal(f, "by agent", f.totals(store.ByAgent), []string{"a 5+0 in 1, 0 failed"})
		equal(f, "spent", f.spent(budget(store.BudgetAgent, "a")), []store.Spent{{Tokens: 5}})
	})
	t.Run("NoLostWakeUpWithPauses", func(t *testing.T) {
		var in Injector
		f := newFixture(t, o, o.Faults(t, &in))
		in.delay(3 * time.Millisecond)
		hunt(f, 25)
		in.delay(0)
	})
}

// operation is something that is to happen as a whole. Prepare makes a scene for
// it and returns the operation itself.
type operation struct {
	name    string
	prepare func(f *fixture, s *scene) func() error
	// repeatable operations succeed again after they took place unnoticed.
	repeatable bool
	// chunked operations may fail after they took place: what follows is for others.
	chunked bool
}

// scene is a session with something of everything.
type scene struct {
	key        string
	waits      *models.Inbound
	failed     *store.AcceptRequest
	inbounds   []string
	deliveries []string
}

func newScene(f *fixture) *scene {
	s := &scene{key: f.key()}
	done := f.turn(s.key, "one")
	f.slot(s.key, "work", "note")
	f.slot(s.key, "aside", "old")
	f.reset(s.key, "aside")
	s.failed = failed(f, s.key)
	s.waits = f.waiting(s.key)
	s.inbounds = []string{done.ID, s.failed.Inbound.ID, s.waits.ID}
	return s
}

// run holds the scene's lane.
func (s *scene) run(f *fixture) *store.Turn {
	c, err := f.ClaimLane(f.ctx, claim(), s.key)
	f.ok(err)
	if c == nil {
		f.Fatalf("the lane is not due")
	}
	return f.begin(*c)
}

// look describes all that the scene's session has, without ids.
func (s *scene) look(f *fixture) string {
	f.Helper()
	var b strings.Builder
	session, err := f.Session(f.ctx, s.key)
	if err == nil {
		fmt.Fprintln(&b, session.Title, session.State, session.CurrentSlot, session.MessageCount, session.TotalTokenCount, session.CompactionCount)
	} else {
		f.fails(err, store.ErrNotFound)
	}
	var pending []*models.Inbound
	var slots []*models.ContextSlot
	f.change(s.key, func(tx store.SessionTx) (err error) {
		if pending, err = tx.Pending(); err == nil {
			slots, err = tx.Slots()
		}
		return err
	})
	fmt.Fprintln(&b, len(pending), "pending")
	for _, slot := range slots {
		fmt.Fprintln(&b, slot.ID, slot.Mode, slot.Current, slot.MessageCount, f.history(s.key, slot.ID))
		c := f.load(s.key, slot.ID)
		fmt.Fprintln(&b, contents(c.Messages), c.Summary != nil, c.Forms)
	}
	fmt.Fprintln(&b, f.kept(s.key))
	for _, id := range s.inbounds {
		in, err := f.Inbound(f.ctx, id)
		if err != nil {
			f.fails(err, store.ErrNotFound)
			in = &models.Inbound{}
		}
		fmt.Fprintln(&b, in.State, in.Code, in.Error, in.MergedInto != "", in.Reply != nil)
	}
	for _, id := range s.deliveries {
		d, err := f.Delivery(f.ctx, id)
		if err != nil {
			f.fails(err, store.ErrNotFound)
			d = &models.Delivery{}
		}
		fmt.Fprintln(&b, d.State, d.Text, d.Attempts, d.PlatformMessageID != "")
	}
	return b.String()
}

func checkFaults(f *fixture, in *Injector, op operation) {
	s := newScene(f)
	do := op.prepare(f, s)
	before := s.look(f)
	refused := func(what string) {
		f.Helper()
		if err := do(); !errors.Is(err, errInjected) {
			in.disarm()
			f.Fatalf("%s: error is %v", what, err)
		}
		if !in.disarm() {
			f.Fatalf("%s: nothing failed", what)
		}
		equal(f, what, s.look(f), before)
	}
	became := before
	for k := 1; ; k++ {
		if k > maxStatements {
			f.Fatalf("more than %d statements", maxStatements)
		}
		in.arm(k, 0, 0)
		err := do()
		if !in.disarm() {
			f.ok(err) // all statements went well: it has happened
			break
		}
		if !errors.Is(err, errInjected) {
			f.Fatalf("statement %d failed, error is %v", k, err)
		}
		if op.chunked && became == before {
			became = s.look(f)
		}
		equal(f, fmt.Sprintf("after failure of statement %d", k), s.look(f), became)
	}
	after := s.look(f)
	if became != before {
		equal(f, "after a failure that came too late", became, after)
	}
	if after == before {
		f.Fatalf("nothing happened:\n%s", after)
	}

	s = newScene(f)
	do = op.prepare(f, s)
	equal(f, "scene", s.look(f), before)
	in.arm(0, 1, 0)
	refused("after a commit that failed")
	in.arm(0, 0, 1)
	f.ok(do()) // the store finds out by itself
	in.disarm()
	equal(f, "after a commit whose answer was lost", s.look(f), after)

	s = newScene(f)
	do = op.prepare(f, s)
	in.arm(0, 0, 1000)
	err := do()
	if !in.disarm() {
		f.Fatalf("no commit")
	}
	if err != nil {
		f.fails(err, store.ErrUnavailable)
	}
	equal(f, "after commits whose answers were lost", s.look(f), after)
	if op.repeatable {
		f.ok(do())
		equal(f, "after a repetition", s.look(f), after)
	}
}

func operations() []operation {
	ops := []operation{
		{name: "Accept", prepare: prepareAccept, repeatable: true},
		{name: "AcceptOverCap", prepare: prepareAcceptOverCap, repeatable: true},
		{name: "AcceptInterrupt", prepare: prepareAcceptInterrupt, repeatable: true},
		{name: "AcceptAgain", prepare: prepareAcceptAgain},
		{name: "CommitTurn", prepare: prepareCommit, repeatable: true},
		{name: "CommitFirstTurn", prepare: prepareFirstCommit, repeatable: true},
		{name: "AppendMessages", prepare: prepareAppend},
		{name: "FinishDelivery", prepare: prepareFinish},
		{name: "ImportSession", prepare: prepareImport},
		{name: "IdleSessions", prepare: prepareIdle, repeatable: true, chunked: true},
		{name: "ExpireSessions", prepare: prepareExpire, repeatable: true, chunked: true},
	}
	for _, c := range append(changes(), contextChanges()...) {
		ops = append(ops, operation{name: "Change" + c.name, prepare: func(f *fixture, s *scene) func() error {
			change := c.prepare(f, s)
			return func() error { return f.ChangeSession(f.ctx, s.key, change) }
		}})
	}
	return append(ops, operation{name: "ChangeSessions", prepare: func(f *fixture, s *scene) func() error {
		keys := []string{f.key(), s.key}
		f.create(keys[0], "one")
		return func() error {
			return f.ChangeSessions(f.ctx, keys, func(_ string, tx store.SessionTx) error {
				return tx.Append(models.DefaultSlot, []*models.SessionMessage{f.said(models.RoleUser, "more")}, f.now)
			})
		}
	}})
}

func prepareAccept(f *fixture, s *scene) func() error {
	r := f.message(s.key, claimed(claim()))
	r.DedupKeys = append(r.DedupKeys, "event/"+r.Inbound.ID)
	r.Aliases = []store.ThreadAlias{{Channel: "feishu", Account: "main", Alias: s.key, Thread: "omt_1"}}
	s.inbounds = append(s.inbounds, r.Inbound.ID)
	return func() error { _, err := f.Accept(f.ctx, r); return err }
}

func prepareAcceptAgain(f *fixture, s *scene) func() error {
	f.finish(s.key, models.InboundCancelled, s.waits.ID)
	r := again(f, s.failed)
	r.Claim = &store.ClaimRequest{Owner: "replica-1", Lease: longLease}
	return func() error {
		a, err := f.Accept(f.ctx, r)
		if err == nil && a.Claim == nil {
			err = errors.New("the lane is claimed, and its claim is nobody's")
		}
		return err
	}
}

func prepareAcceptOverCap(f *fixture, s *scene) func() error {
	r := f.message(s.key, capped(1, false))
	d := NewDelivery(s.key, s.key, "dropped", f.now)
	r.Notice = func([]*models.Inbound) []*models.Delivery { return []*models.Delivery{d} }
	s.inbounds, s.deliveries = append(s.inbounds, r.Inbound.ID), append(s.deliveries, d.ID)
	return func() error { _, err := f.Accept(f.ctx, r); return err }
}

func prepareAcceptInterrupt(f *fixture, s *scene) func() error {
	s.run(f)
	r := f.message(s.key, interrupting)
	s.inbounds = append(s.inbounds, r.Inbound.ID)
	return func() error { _, err := f.Accept(f.ctx, r); return err }
}

func prepareCommit(f *fixture, s *scene) func() error {
	turn := s.run(f)
	second := f.waiting(s.key)
	parts := f.parts(turn, s.key, 2)
	s.inbounds, s.deliveries = append(s.inbounds, second.ID), append(s.deliveries, parts[0].ID, parts[1].ID)
	c := claim()
	commit := f.answer(turn, "two", keep(longLease), deliver(parts...), func(t *store.TurnCommit) {
		t.ClaimTarget, t.Forms = &c, []store.PrunedForm{{Seq: 2, Pruned: "soft", Content: "short"}}
	})
	return func() error { _, err := f.CommitTurn(f.ctx, commit); return err }
}

func prepareFirstCommit(f *fixture, s *scene) func() error {
	s.key = f.key()
	turn := f.start(s.key)
	s.inbounds = ids(turn.Inbounds)
	commit := f.answer(turn, "first")
	return func() error { _, err := f.CommitTurn(f.ctx, commit); return err }
}

func prepareAppend(f *fixture, s *scene) func() error {
	messages := []*models.SessionMessage{f.said(models.RoleUser, "two"), f.said(models.RoleAssistant, "three")}
	return func() error { return f.AppendMessages(f.ctx, s.key, messages) }
}

func prepareFinish(f *fixture, s *scene) func() error {
	one, two := NewDelivery(s.key, s.key, "one", f.now), NewDelivery(s.key, s.key, "two", f.now)
	_, err := f.Enqueue(f.ctx, []*models.Delivery{one, two}, store.Once{}, f.newSession(s.key)) // its text becomes history
	f.ok(err)
	s.deliveries = []string{one.ID, two.ID}
	claims, err := f.ClaimTargets(f.ctx, claim(), 1000)
	f.ok(err)
	for _, c := range claims {
		if d := f.next(c); d != nil && d.ID == one.ID {
			return func() error { _, err := f.FinishDelivery(f.ctx, c, f.sent(d)); return err }
		}
	}
	f.Fatalf("the target is not due")
	return nil
}

// changeOp is one operation of a session's transaction.
type changeOp struct {
	name    string
	prepare func(f *fixture, s *scene) func(tx store.SessionTx) error
}

func changes() []changeOp {
	simple := func(name string, change func(f *fixture, s *scene, tx store.SessionTx) error) changeOp {
		return changeOp{name, func(f *fixture, s *scene) func(tx store.SessionTx) error {
			return func(tx store.SessionTx) error { return change(f, s, tx) }
		}}
	}
	return []changeOp{
		simple("Update", func(f *fixture, _ *scene, tx store.SessionTx) error {
			s, err := tx.Session()
			if err != nil {
				return err
			}
			s.Title, s.State = "changed", models.SessionIdle
			return tx.Update(s, f.now)
		}),
		{"Create", func(f *fixture, s *scene) func(tx store.SessionTx) error {
			s.key = f.key()
			s.inbounds = nil
			return func(tx store.SessionTx) error { return tx.Create(f.newSession(s.key)) }
		}},
		simple("Reset", func(f *fixture, s *scene, tx store.SessionTx) error {
			if err := tx.Finish([]string{s.waits.ID}, store.Outcome{State: models.InboundSuperseded}, f.now); err != nil {
				return err
			}
			return tx.Reset(models.DefaultSlot, 0, f.now)
		}),
		simple("Restore", func(f *fixture, _ *scene, tx store.SessionTx) error { return tx.Restore("aside", 0, f.now) }),
		simple("Delete", func(f *fixture, _ *scene, tx store.SessionTx) error { return tx.Delete(f.now) }),
		simple("CreateSlot", func(f *fixture, _ *scene, tx store.SessionTx) error { return tx.CreateSlot(f.newSlot("new")) }),
		simple("UpdateSlot", func(f *fixture, _ *scene, tx store.SessionTx) error {
			slot := f.newSlot("work")
			slot.Mode = models.SlotReadonly
			return tx.UpdateSlot(slot)
		}),
		simple("DeriveSlot", func(f *fixture, _ *scene, tx store.SessionTx) error {
			slot := f.newSlot("copy")
			slot.Source = models.SlotSource{Kind: models.SlotDerived, ParentID: models.DefaultSlot, Strategy: models.DeriveFull}
			return tx.DeriveSlot(slot, models.DefaultSlot)
		}),
		simple("SwitchSlot", func(_ *fixture, _ *scene, tx store.SessionTx) error { return tx.SwitchSlot("work") }),
		simple("DeleteSlot", func(f *fixture, _ *scene, tx store.SessionTx) error { return tx.DeleteSlot("work", f.now) }),
		simple("UndoTurn", func(f *fixture, _ *scene, tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) }),
		simple("Finish", func(f *fixture, s *scene, tx store.SessionTx) error {
			return tx.Finish([]string{s.waits.ID}, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled}, f.now)
		}),
		simple("Requeue", func(f *fixture, s *scene, tx store.SessionTx) error { return tx.Requeue(s.failed.Inbound.ID, f.now) }),
		{"Append", func(f *fixture, _ *scene) func(tx store.SessionTx) error {
			messages := []*models.SessionMessage{f.said(models.RoleUser, "more")}
			return func(tx store.SessionTx) error { return tx.Append("work", messages, f.now) }
		}},
		{"Deliver", func(f *fixture, s *scene) func(tx store.SessionTx) error {
			d := NewDelivery(s.key, s.key, "notice", f.now)
			s.deliveries = []string{d.ID}
			return func(tx store.SessionTx) error { return tx.Deliver([]*models.Delivery{d}) }
		}},
	}
}

package gateway

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/gateway/lane"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// turnMargin is how much longer than its turn a person's turn slot is kept if nobody
// gives it back.
const turnMargin = time.Minute

// mayRun looks at what may keep a turn from running: that its sender may not use the
// bot any more, has too many turns running, or a budget is used up. Nil: it may run.
func (r *turn) mayRun(ctx context.Context, timeout time.Duration) *result {
	if refused := r.stillAdmitted(ctx); refused != nil {
		return refused
	}
	if waits := r.takeTurn(ctx, timeout); waits != nil {
		return waits
	}
	return r.checkBudgets(ctx)
}

// stillAdmitted refuses what somebody wrote who was denied while it waited, or whose
// failed message is tried again. A task is refused if its owner is denied by name.
func (r *turn) stillAdmitted(ctx context.Context) *result {
	m := r.env.Message
	if m.Sender.ID == "" || r.env.Operator != "" || r.chat.Access.Lenient() {
		return nil
	}
	who := authorOf(r.settings, r.head, m)
	admitted := []bool{!who.policy.Denies(who.ids...)}
	if r.env.Run == nil {
		var err error
		if admitted, err = r.g.heard(ctx, []author{who}); err != nil {
			return r.unreadable(ctx, err)
		}
	}
	if admitted[0] {
		return nil
	}
	r.g.metrics.Refused("access")
	if r.env.Run != nil {
		return failed(models.InboundFailed, models.CodeForbidden, "the owner of the task may not use this bot any more", "")
	}
	r.tellLater(refusedKey(r.head, m), r.g.now().Add(refusalLife), text.Say(r.lang, text.AccessDenied, m.Sender.ID, m.Chat.ID))
	return failed(models.InboundIgnored, models.CodeForbidden, "the sender may not use this bot any more", "")
}

// tellLater tells a turn's chat something once, beside the turn's own way.
func (r *turn) tellLater(key string, until time.Time, say string) {
	notices := r.g.notices(r.head, r.env, say)
	if len(notices) == 0 || r.g.told.knows(key, r.g.now()) {
		return
	}
	r.g.background.start(func(ctx context.Context) {
		if r.g.tellOnce(ctx, key, until, notices) {
			r.g.told.add(key, r.g.now())
		}
	})
}

func (r *turn) exempt() bool { return r.settings.exempt(r.head, r.env) }

// takeTurn takes one of the turns that a person may have running at once, on all
// replicas together. Without one the turn waits and is tried again in a moment. A slot
// belongs to the message: whoever runs it after a crash has it already.
func (r *turn) takeTurn(ctx context.Context, timeout time.Duration) *result {
	most := r.settings.Limits.Turns
	person := r.settings.use(r.head, r.env).Person
	if most <= 0 || person == "" || r.env.Run != nil || r.exempt() {
		return nil
	}
	ask := store.ClaimRequest{Owner: r.head.ID, Lease: timeout + turnMargin}
	for i := range most {
		name := fmt.Sprintf("turn/%x/%d", sha256.Sum256([]byte(person)), i)
		held, err := r.g.store.AcquireLease(ctx, name, ask)
		if err != nil {
			return r.unreadable(ctx, err)
		}
		if held {
			r.turnSlot = name
			return nil
		}
	}
	return &result{handBack: lane.ErrBusy}
}

// leaveTurn gives the slot of takeTurn back.
func (r *turn) leaveTurn(ctx context.Context) {
	if r.turnSlot == "" {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.g.cfg.Lease)
	defer cancel()
	if err := r.g.store.ReleaseLease(bounded, r.turnSlot, r.head.ID); err != nil {
		r.g.log.Warn("a person's turn could not be given back; it ends by itself", "inbound", r.head.ID, "error", err)
	}
}

// checkBudgets fails a turn whose budget is used up. It can be tried again.
func (r *turn) checkBudgets(ctx context.Context) *result {
	l := r.settings.Limits
	budgets := l.Budgets(r.settings.day(r.g.now()), r.settings.use(r.head, r.env))
	if len(budgets) == 0 {
		return nil
	}
	spent, err := r.g.store.Spent(ctx, budgets)
	if err != nil {
		return r.unreadable(ctx, err)
	}
	r.budgets = l.Standings(budgets, spent)
	b := limit.UsedUp(r.budgets)
	if b == nil || r.exempt() {
		return nil
	}
	outcome, say := r.g.overBudget(*b, r.lang)
	now := r.g.now().In(r.settings.location())
	key := fmt.Sprintf("budget\x00%d\x00%s\x00%s\x00%d\x00%s", b.Day, b.Kind, b.Subject, b.Total(), r.env.Message.Chat.ID)
	r.tellLater(key, limit.Tomorrow(now), say)
	return failed(outcome.State, outcome.Code, outcome.Error, "")
}

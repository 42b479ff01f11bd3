package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// ErrBudgetExceeded means that nothing is left of a budget for today.
var ErrBudgetExceeded = errors.New("gateway: today's budget is used up")

// RetryAfter is how long a message that a limit refused has to wait; zero for others.
func (g *Gateway) RetryAfter(code models.ErrorCode, at time.Time) time.Duration {
	now := g.Today()
	switch code {
	case models.CodeRateLimited:
		return max(0, limit.Window-now.Sub(at))
	case models.CodeBudgetExceeded:
		return limit.Tomorrow(now).Sub(now)
	}
	return 0
}

// allowance is what a command may know of the budgets that its sender's messages count
// against.
func (s *Settings) allowance(in *models.Inbound, env *envelope, now time.Time) command.Allowance {
	return command.Allowance{
		Limits: s.Limits, Day: s.day(now), Use: s.use(in, env), Exempt: s.exempt(in, env),
		Person: func(userID string) string { return s.person(in.Channel, in.Account, userID) },
	}
}

// Budget shows how a budget of today stands; [store.ErrInvalid] for a kind without a
// limit. The subject is a person (a name of identities, or channel/account/id), a
// session key, a chat (channel/account/chatId), an agent or a task.
func (g *Gateway) Budget(ctx context.Context, kind store.BudgetKind, subject string) (limit.Standing, error) {
	s, b, err := g.budget(kind, subject)
	if err != nil {
		return limit.Standing{}, err
	}
	spent, err := g.store.Spent(ctx, []store.Budget{b})
	if err != nil {
		return limit.Standing{}, err
	}
	return s.Limits.Standings([]store.Budget{b}, spent)[0], nil
}

// AllowMore sets what a budget has beyond its limit today: [limit.Lifted] lifts it, zero
// takes back what was allowed.
func (g *Gateway) AllowMore(ctx context.Context, kind store.BudgetKind, subject string, extra int64) (limit.Standing, error) {
	s, b, err := g.budget(kind, subject)
	if err != nil {
		return limit.Standing{}, err
	}
	spent, err := g.store.AllowMore(ctx, b, extra)
	if err != nil {
		return limit.Standing{}, err
	}
	g.log.Info("budget changed for today", "kind", kind, "subject", subject, "extra", extra)
	return s.Limits.Standings([]store.Budget{b}, []store.Spent{spent})[0], nil
}

func (g *Gateway) budget(kind store.BudgetKind, subject string) (*Settings, store.Budget, error) {
	s := g.settings.Load()
	if s.Limits.TokensPerDay[kind] <= 0 {
		return s, store.Budget{}, fmt.Errorf("%w: there is no limit per %s", store.ErrInvalid, kind)
	}
	return s, store.Budget{Day: s.day(g.now()), Kind: kind, Subject: subject}, nil
}

// exempt reports whether no limit stops a message: its sender is on the list, or an
// administrator.
func (s *Settings) exempt(in *models.Inbound, env *envelope) bool {
	return env.Admin || env.Operator != "" || s.Limits.Exempts(in.Channel, in.Account, env.Message.Sender.ID)
}

// overBudget is how a message ends whose budget is used up, and what its sender is told.
func (g *Gateway) overBudget(b limit.Standing, lang text.Lang) (o store.Outcome, say string) {
	g.metrics.Refused("budget_" + string(b.Kind))
	return store.Outcome{
		State: models.InboundFailed, Code: models.CodeBudgetExceeded,
		Error: fmt.Sprintf("today's budget of %d tokens of this %s is used up", b.Total(), b.Kind),
	}, text.Say(lang, text.BudgetUsedUp, b.Total(), text.Say(lang, command.BudgetOf[b.Kind]))
}

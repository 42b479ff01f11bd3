package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// usageBatch bounds the turns that are summed up in one transaction.
const usageBatch = 500

// location is the zone that days are counted in.
func (s *Settings) location() *time.Location {
	if s.Location != nil {
		return s.Location
	}
	return time.UTC
}

func (s *Settings) day(t time.Time) int { return store.DayOf(t.In(s.location())) }

// person names whoever has an account, the same for all accounts of one person.
func (s *Settings) person(channel, account, userID string) string {
	if userID == "" {
		return ""
	}
	if name, linked := s.Identities.Name(channel, account, userID); linked {
		return name
	}
	return channel + "/" + account + "/" + userID
}

// use is what a message counts against.
func (s *Settings) use(in *models.Inbound, env *envelope) limit.Use {
	m := env.Message
	u := limit.Use{Person: s.person(in.Channel, in.Account, m.Sender.ID), Session: in.SessionKey, Agent: env.AgentID}
	if m.Chat.ID != "" {
		u.Chat = in.Channel + "/" + in.Account + "/" + m.Chat.ID
	}
	if env.Run != nil {
		u.Task = env.Run.TaskID
	}
	return u
}

// used is what the provider said that a request cost; where it said nothing, what it
// must have been at least.
func used(response *agents.Response, asked int) models.Usage {
	if response.Usage != (models.Usage{}) {
		return response.Usage
	}
	u := models.Usage{PromptTokens: asked}
	for _, m := range response.Messages {
		if m.Role == models.RoleAssistant {
			u.CompletionTokens += tokens.Message(m, nil)
		}
	}
	return u
}

// account adds to a turn's commit what it cost, and to budgets that are limited. Only
// a turn that asked its agent cost anything.
func (r *turn) account(request *store.TurnCommit, res *result) {
	if r.asked == nil || res.outcome.State == models.InboundIgnored {
		return
	}
	model := r.agent.Model
	if r.model != "" {
		model = r.model
	}
	e := &store.UsageEntry{Day: r.settings.day(request.Now), AgentID: r.agent.ID, Model: model}
	if id := r.env.Message.Sender.ID; id != "" {
		e.User = r.head.Channel + "/" + r.head.Account + "/" + id
	}
	e.UsageCount = store.UsageCount{PromptTokens: int64(r.cost.PromptTokens), CompletionTokens: int64(r.cost.CompletionTokens), Turns: 1}
	if res.outcome.State != models.InboundDone {
		e.Errors = 1
	}
	request.Usage = e
	if total := r.spent(); total > 0 {
		for _, b := range r.budgets {
			request.Spend = append(request.Spend, store.Spending{Budget: b.Budget, Tokens: total})
		}
	}
}

func (r *turn) spent() int64 { return int64(r.cost.PromptTokens) + int64(r.cost.CompletionTokens) }

// warnings are what is to be said of budgets that are nearly used up.
func (r *turn) warnings() (says, keys []string) {
	for _, b := range r.budgets {
		if total := r.spent(); b.WarnAfter(total) {
			says = append(says, text.Say(r.lang, text.BudgetNearlyUsed, b.Percent(total), text.Say(r.lang, command.BudgetOf[b.Kind])))
			keys = append(keys, fmt.Sprintf("warned\x00%d\x00%s\x00%s\x00%d", b.Day, b.Kind, b.Subject, b.Total()))
		}
	}
	return says, keys
}

// warn tells the turn's chat, once a day, that a budget is nearly used up.
func (r *turn) warn() {
	says, keys := r.warnings()
	for i, say := range says {
		r.tellLater(keys[i], limit.Tomorrow(r.g.now().In(r.settings.location())), say)
	}
}

// warnCaller adds to an answer that is fetched what others are told by a notice: with
// the turn that it comes true in.
func (r *turn) warnCaller(reply *models.Reply) {
	if reply == nil || !r.env.Pulled {
		return
	}
	for _, b := range r.budgets {
		if b.WarnAfter(r.spent()) && !b.WarnAfter(0) {
			reply.Notices = append(reply.Notices, text.Say(r.lang, text.BudgetNearlyUsed, b.Percent(r.spent()), text.Say(r.lang, command.BudgetOf[b.Kind])))
		}
	}
}

// counted adds to the metrics what a turn cost.
func (r *turn) counted() {
	if r.asked != nil {
		r.g.metrics.Tokens(r.agent.ID, r.cost.PromptTokens, r.cost.CompletionTokens)
	}
}

// addUsage counts what a model cost besides the turns: for a summary, or for a call
// without a session. It counts against the budgets of what the entry names.
func (g *Gateway) addUsage(ctx context.Context, e store.UsageEntry, cost models.Usage) {
	if cost == (models.Usage{}) && e.Turns == 0 {
		return
	}
	s := g.settings.Load()
	e.Day, e.PromptTokens, e.CompletionTokens = s.day(g.now()), int64(cost.PromptTokens), int64(cost.CompletionTokens)
	var spending []store.Spending
	for _, b := range s.Limits.Budgets(e.Day, limit.Use{Session: e.SessionKey, Agent: e.AgentID}) {
		spending = append(spending, store.Spending{Budget: b, Tokens: e.PromptTokens + e.CompletionTokens})
	}
	g.metrics.Tokens(e.AgentID, cost.PromptTokens, cost.CompletionTokens)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Lease)
	defer cancel()
	if err := g.store.AddUsage(bounded, []store.UsageEntry{e}, spending); err != nil {
		g.log.Error("usage could not be counted", "session", e.SessionKey, "agent", e.AgentID, "error", err)
	}
}

// sumUsage adds what turns cost to the totals, until all are counted.
func (g *Gateway) sumUsage(ctx context.Context) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
		n, err := g.store.SumUsage(bounded, usageBatch)
		cancel()
		if err != nil || n < usageBatch {
			return err
		}
	}
}

// Usage sums what was used in a range of days, the turns that have just ended included.
func (g *Gateway) Usage(ctx context.Context, q store.UsageQuery) ([]store.UsageTotal, error) {
	if err := g.sumUsage(ctx); err != nil {
		return nil, err
	}
	return g.store.UsageTotals(ctx, q)
}

// Today is the day that it is in the configured zone.
func (g *Gateway) Today() time.Time { return g.now().In(g.settings.Load().location()) }

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
		Limits: s.Limits, Day: s.day(now), Use: s.use(in, env),
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

package gateway

import (
	"cmp"
	"context"
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

// costOf is what a request cost that was answered, or failed after some of the answer
// was heard. A failure before the answer began cost nothing that is known.
func costOf(response *agents.Response, err error, heard string, asked int) models.Usage {
	if err == nil && response != nil && len(response.Messages) > 0 {
		return used(response, asked)
	}
	if known := agents.UsageOf(err); known != (models.Usage{}) || heard == "" {
		return known
	}
	return used(&agents.Response{Messages: []*models.SessionMessage{{Role: models.RoleAssistant, Content: heard}}}, asked)
}

// usage is what the turn cost, as it is counted.
func (r *turn) usage(now time.Time) store.UsageEntry {
	return store.UsageEntry{
		Day: r.settings.day(now), User: userOf(r.head, r.env), AgentID: r.agent.ID, Model: cmp.Or(r.model, r.agent.Model),
		UsageCount: store.UsageCount{PromptTokens: int64(r.cost.PromptTokens), CompletionTokens: int64(r.cost.CompletionTokens)},
	}
}

// account adds to a turn's commit what it cost, and to budgets that are limited. Only
// a turn that asked its agent cost anything.
func (r *turn) account(request *store.TurnCommit, res *result) {
	if r.asked == nil || res.outcome.State == models.InboundIgnored {
		return
	}
	e := r.usage(request.Now)
	e.Turns = 1
	if res.outcome.State != models.InboundDone {
		e.Errors = 1
	}
	request.Usage = &e
	if total := r.spent(); total > 0 {
		for _, b := range r.budgets {
			request.Spend = append(request.Spend, store.Spending{Budget: b.Budget, Tokens: total})
		}
	}
}

// writeOff counts what a turn cost that is not stored: it was stopped, or lost its lane.
// One whose commit was not answered may have counted it already.
func (r *turn) writeOff() {
	if r.asked == nil || r.inDoubt {
		return
	}
	e := r.usage(r.g.now())
	e.SessionKey = r.head.SessionKey
	r.g.background.start(func(ctx context.Context) { r.g.addUsage(ctx, e, r.settings.use(r.head, r.env), r.cost) })
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
	if r.unsummarised != nil {
		reply.Notices = append(reply.Notices, text.Say(r.lang, text.CompactFailed, r.code()))
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

// asker is a person who asked for something that costs besides the turns; empty: nobody.
type asker struct {
	use  limit.Use
	user string // channel/account/id
}

func (s *Settings) asker(in *models.Inbound, env *envelope) asker {
	return asker{use: s.use(in, env), user: userOf(in, env)}
}

func userOf(in *models.Inbound, env *envelope) string {
	if env.Message.Sender.ID == "" {
		return ""
	}
	return in.Channel + "/" + in.Account + "/" + env.Message.Sender.ID
}

// addUsage counts what a model cost besides the turns that were stored: for a summary
// that came to nothing, for a call without a session, for a turn that was not stored.
func (g *Gateway) addUsage(ctx context.Context, e store.UsageEntry, use limit.Use, cost models.Usage) {
	if cost == (models.Usage{}) && e.Turns == 0 {
		return
	}
	g.metrics.Tokens(e.AgentID, cost.PromptTokens, cost.CompletionTokens)
	e, spending := g.charged(e, use, cost)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Lease)
	defer cancel()
	if err := g.store.AddUsage(bounded, []store.UsageEntry{e}, spending); err != nil {
		g.log.Error("usage could not be counted", "session", e.SessionKey, "agent", e.AgentID, "error", err)
	}
}

// charged is what a model cost as it is counted, and what it takes from budgets.
func (g *Gateway) charged(e store.UsageEntry, use limit.Use, cost models.Usage) (store.UsageEntry, []store.Spending) {
	s := g.settings.Load()
	e.Day, e.PromptTokens, e.CompletionTokens = s.day(g.now()), int64(cost.PromptTokens), int64(cost.CompletionTokens)
	var spending []store.Spending
	for _, b := range s.Limits.Budgets(e.Day, use) {
		spending = append(spending, store.Spending{Budget: b, Tokens: e.PromptTokens + e.CompletionTokens})
	}
	return e, spending
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

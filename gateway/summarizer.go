package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// compactionTimeout bounds one summary outside of a turn. Each of its requests is
// bounded by its agent's own timeout as well.
const compactionTimeout = 5 * time.Minute

// errNoSummarizer means that the agent which is to summarise is not configured.
var errNoSummarizer = errors.New("gateway: no such agent to summarise with")

// errBusy means that the slot is being summarised already.
var errBusy = errors.New("gateway: the slot is being summarised already")

// summary is what a model is asked for about a slot, and what becomes of its cost.
type summary struct {
	compact.Request

	// pay counts a cost in the transaction that stores what it was for.
	pay func(tx store.SessionTx, cost models.Usage) error
}

// summarised lets a model work on a slot's summary, once at a time, within a deadline
// and until somebody stops it, and counts what it cost unless work has paid for it.
// Failures make turns and the job pause.
func (g *Gateway) summarised(ctx context.Context, s *Settings, session *models.Session, slot string, by asker,
	work func(ctx context.Context, r summary) (cost models.Usage, paid bool, err error),
) error {
	name := cmp.Or(s.Compaction.Agent, session.AgentID)
	agent := s.Agents[name]
	if agent.Agent == nil {
		return fmt.Errorf("%w: %q", errNoSummarizer, name)
	}
	ctx, cancel := context.WithTimeout(ctx, compactionTimeout)
	defer cancel()
	id := slotID{session.Key, slot}
	ctx, end, busy := g.summaries.begin(ctx, id)
	if busy != nil {
		return errBusy
	}
	defer end()
	ctx, unwatch := g.whileUnchanged(ctx, id)
	defer unwatch()
	by.use.Session, by.use.Agent = session.Key, agent.ID
	model := chosenModel(agent, session)
	entry := store.UsageEntry{SessionKey: session.Key, User: by.user, AgentID: agent.ID, Model: cmp.Or(model, agent.Model)}
	cost, paid, err := work(ctx, summary{
		compact.Request{Key: session.Key, Slot: slot, Model: g.summarizer(agent, session, slot, model), Window: agent.ContextWindow},
		func(tx store.SessionTx, cost models.Usage) error { return tx.AddUsage(g.charged(entry, by.use, cost)) },
	})
	if paid {
		g.metrics.Tokens(agent.ID, cost.PromptTokens, cost.CompletionTokens)
	} else {
		g.addUsage(ctx, entry, by.use, cost)
	}
	switch cause := context.Cause(ctx); {
	case err != nil && (errors.Is(cause, errSummaryStopped) || errors.Is(cause, errSummaryVoid)):
		return fmt.Errorf("%w: %w", cause, err)
	case errors.Is(err, store.ErrUnavailable): // which says nothing of the next one
	case err == nil || !errors.Is(ctx.Err(), context.Canceled):
		g.summaries.settle(id, err, g.now())
	}
	return err
}

// chosenModel is the model that a session chose, which is that of its own agent; empty:
// the agent's.
func chosenModel(agent Agent, session *models.Session) string {
	if agent.ID != session.AgentID {
		return ""
	}
	return session.Model
}

// summarizer asks an agent as a model: without tools, and without a person who waits.
func (g *Gateway) summarizer(agent Agent, session *models.Session, slot, model string) compact.Model {
	return func(ctx context.Context, ask compact.Ask) (compact.Answer, error) {
		request := &agents.Request{
			SessionKey: session.Key, Slot: slot, AgentID: agent.ID, Channel: session.Channel, Account: session.Account,
			Text: ask.Text, Model: model,
			Messages: []*models.SessionMessage{
				{Role: models.RoleSystem, Content: ask.System}, {Role: models.RoleUser, Content: ask.Text},
			},
		}
		var response *agents.Response
		err := error(&agents.Error{Kind: agents.Permanent, Err: errNoAnswer})
		g.crash(CrashInSummary)
		g.safely("agent "+agent.ID, func() { response, err = agent.Agent.Respond(ctx, request, func(agents.Event) {}) })
		switch {
		case err != nil && agents.KindOf(err) == agents.Overflow:
			return compact.Answer{Usage: agents.UsageOf(err)}, fmt.Errorf("%w: %w", compact.ErrOverflow, err)
		case err != nil:
			return compact.Answer{Usage: agents.UsageOf(err)}, err
		case response == nil || len(response.Messages) == 0:
			return compact.Answer{}, nil
		}
		return compact.Answer{Text: response.Final().Content, Usage: used(response, tokensOf(request.Messages))}, nil
	}
}

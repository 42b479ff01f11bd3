package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// Complete asks an agent without a session: nothing is stored, and the end of ctx
// cancels it. The agent's system prompt comes first unless the caller sent one. What
// cannot fit the agent's window is refused before the model is asked: [agents.Overflow].
func (g *Gateway) Complete(ctx context.Context, agentID string, messages []*models.SessionMessage, stream bool, emit func(agents.Event)) (*agents.Response, error) {
	s := g.settings.Load()
	agent, ok := s.Agents[agentID]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknownAccount, agentID)
	}
	if agent.SystemPrompt != "" && (len(messages) == 0 || messages[0].Role != models.RoleSystem) {
		prompt := window.Template(agent.SystemPrompt, window.Values{Now: g.promptTime(s)})
		messages = append([]*models.SessionMessage{{Role: models.RoleSystem, Content: prompt}}, messages...)
	}
	messages, err := s.Words.asked(messages)
	if err != nil {
		return nil, fmt.Errorf("complete: %w", err)
	}
	if err := g.checkAgentBudget(ctx, s, agentID); err != nil {
		return nil, fmt.Errorf("complete: %w", err)
	}
	bounded, cancel := withTurnTimeout(ctx, agent.Timeout)
	defer cancel()
	if agent.Images {
		messages = g.withImages(bounded, messages)
	}
	if free := agent.ContextWindow - answerRoom(&agent); agent.ContextWindow > 0 && tokensOf(messages) > free {
		return nil, fmt.Errorf("complete: %w", &agents.Error{Kind: agents.Overflow, Err: fmt.Errorf("the messages are more than %d tokens", free)})
	}
	shown := s.Words.show(emit)
	var heard strings.Builder
	response, err := agent.Agent.Respond(bounded, &agents.Request{
		AgentID: agentID, Messages: messages, Stream: stream, MaxTokens: agent.MaxTokens,
	}, func(e agents.Event) {
		heard.WriteString(e.Delta)
		shown.event(e)
	})
	if err == nil && (response == nil || len(response.Messages) == 0) {
		err = &agents.Error{Kind: agents.Permanent, Err: errNoAnswer}
	}
	entry := store.UsageEntry{AgentID: agentID, Model: agent.Model}
	if err == nil {
		entry.Turns = 1
	}
	// It is nobody's, and leaves no trace but these numbers.
	g.addUsage(ctx, entry, limit.Use{Agent: agentID}, costOf(response, err, heard.String(), tokensOf(messages)))
	if err != nil {
		return nil, fmt.Errorf("complete: %w", err)
	}
	if s.Words.answering(response.Messages) {
		g.metrics.Refused("word_out")
		return nil, fmt.Errorf("complete: %w", ErrWordRefused)
	}
	shown.end()
	return response, nil
}

func tokensOf(messages []*models.SessionMessage) (n int) {
	for _, m := range messages {
		n += tokens.Message(m, nil)
	}
	return n
}

// checkAgentBudget returns [ErrBudgetExceeded] for an agent whose budget is used up.
func (g *Gateway) checkAgentBudget(ctx context.Context, s *Settings, agentID string) error {
	used, err := g.exceeded(ctx, s, limit.Use{Agent: agentID})
	if used != nil {
		g.metrics.Refused("budget_" + string(used.Kind))
		return ErrBudgetExceeded
	}
	return err
}

// exceeded returns a budget that is used up; nil: none is.
func (g *Gateway) exceeded(ctx context.Context, s *Settings, use limit.Use) (*limit.Standing, error) {
	budgets := s.Limits.Budgets(s.day(g.now()), use)
	if len(budgets) == 0 {
		return nil, nil
	}
	spent, err := g.store.Spent(ctx, budgets)
	if err != nil {
		return nil, err
	}
	return limit.UsedUp(s.Limits.Standings(budgets, spent)), nil
}

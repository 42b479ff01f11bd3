package gateway

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
)

// Complete asks an agent without a session: nothing is stored, and the end of ctx
// cancels it. The agent's system prompt comes first unless the caller sent one.
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
	bounded, cancel := context.WithTimeoutCause(ctx, agent.Timeout, errTurnTimeout)
	defer cancel()
	response, err := agent.Agent.Respond(bounded, &agents.Request{
		AgentID: agentID, Messages: messages, Stream: stream, MaxTokens: agent.MaxTokens,
	}, emit)
	if err != nil {
		return nil, fmt.Errorf("complete: %w", err)
	}
	if response == nil || len(response.Messages) == 0 {
		return nil, fmt.Errorf("complete: %w", &agents.Error{Kind: agents.Permanent, Err: errNoAnswer})
	}
	return response, nil
}

package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// ContextView is what the next turn of a session would send, before its message.
type ContextView struct {
	Slot     string           `json:"slot"`
	Tokens   int              `json:"tokens"`
	Limit    int              `json:"limit"`
	Messages []ContextMessage `json:"messages"`
	Omitted  ContextOmitted   `json:"omitted"`
}

// ContextMessage is one message of a [ContextView].
type ContextMessage struct {
	Role        models.Role       `json:"role"`
	Content     string            `json:"content"`
	ToolCalls   []models.ToolCall `json:"toolCalls"`
	ToolCallID  string            `json:"toolCallId"`
	Tokens      int               `json:"tokens"`
	Seq         int64             `json:"seq"`
	Pruned      window.Pruned     `json:"pruned"`
	IsCompacted bool              `json:"isCompacted"`
}

// ContextOmitted counts what the limits cut off.
type ContextOmitted struct {
	Messages int `json:"messages"`
	Tokens   int `json:"tokens"`
}

// Context returns what the next turn of a slot would send; [store.ErrNotFound]
// for an unknown slot.
func (g *Gateway) Context(ctx context.Context, key, slot string) (*ContextView, error) {
	s := g.settings.Load()
	stored, err := g.loadContext(ctx, s, key, slot)
	if err != nil {
		return nil, err
	}
	if stored.Session == nil || stored.Slot == nil {
		return nil, store.ErrNotFound
	}
	agent := s.Agents[stored.Session.AgentID]
	chat, _ := s.Chat(stored.Session.Channel, stored.Session.Account, "")
	in := g.windowInput(s, &agent, chat, stored, nil)
	if in.Observed, err = g.observedSince(ctx, s, key, slot, stored.ObservedSeq); err != nil {
		return nil, err
	}
	out, err := window.Build(in)
	if err != nil {
		return nil, err
	}
	view := &ContextView{
		Slot: slot, Tokens: out.Tokens, Limit: in.Limits.MaxTokens, Messages: make([]ContextMessage, len(out.Messages)),
		Omitted: ContextOmitted{out.Omitted.Messages, out.Omitted.Tokens},
	}
	for i, m := range out.Messages {
		calls := m.Message.ToolCalls
		if calls == nil {
			calls = []models.ToolCall{}
		}
		view.Messages[i] = ContextMessage{
			Role: m.Message.Role, Content: m.Message.Content, ToolCalls: calls, ToolCallID: m.Message.ToolCallID,
			Tokens: m.Tokens, Seq: m.Message.Seq, Pruned: m.Pruned, IsCompacted: m.Message.IsCompacted,
		}
	}
	return view, nil
}

// observedSince returns the group talk that the next turn would take in.
func (g *Gateway) observedSince(ctx context.Context, s *Settings, key, slot string, after int64) ([]*models.SessionMessage, error) {
	next := &turn{g: g, settings: s, head: &models.Inbound{Slot: slot}, env: &envelope{Background: key}}
	return next.observed(ctx, after)
}

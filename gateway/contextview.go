package gateway

import (
	"cmp"
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
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
	Tools    ContextTools     `json:"tools"`
}

// ContextMessage is one message of a [ContextView].
type ContextMessage struct {
	Role        models.Role       `json:"role"`
	Content     string            `json:"content"`
	ToolCalls   []models.ToolCall `json:"toolCalls"`
	ToolCallID  string            `json:"toolCallId"`
	Tokens      int               `json:"tokens"`
	Seq         int64             `json:"seq"`
	Pruned      prune.Pruned      `json:"pruned"`
	IsCompacted bool              `json:"isCompacted"`
}

// ContextOmitted counts what the limits cut off, and tool calls that pruning leaves out.
type ContextOmitted struct {
	Messages int `json:"messages"`
	Tokens   int `json:"tokens"`
}

// ContextTools is what the model is offered beside the messages.
type ContextTools struct {
	Count  int `json:"count"`
	Tokens int `json:"tokens"`
	// Left are the names of tools for which there is no room.
	Left []string `json:"left"`
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
	next, err := g.nextTurn(ctx, s, stored.Session, slot)
	if err != nil {
		return nil, err
	}
	in := g.windowInput(s, &next.agent, next.chat, stored, next.env)
	if in.Observed, err = next.observed(ctx, stored.ObservedSeq); err != nil {
		return nil, err
	}
	offered := g.offer(ctx, &next.agent, stored.Slot)
	in.Limits.Tools = offered.tokens
	out, err := window.Build(in)
	if err != nil {
		return nil, err
	}
	view := &ContextView{
		Slot: slot, Tokens: out.Tokens, Limit: out.Limit, Messages: make([]ContextMessage, len(out.Messages)),
		Omitted: ContextOmitted{out.Omitted.Messages, out.Omitted.Tokens},
		Tools:   ContextTools{Count: offered.count, Tokens: offered.tokens, Left: append([]string{}, offered.left...)},
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

// nextTurn is the turn of a session's next message, as far as it is known: that it
// comes from where the latest one came from.
func (g *Gateway) nextTurn(ctx context.Context, s *Settings, session *models.Session, slot string) (*turn, error) {
	next := &turn{g: g, settings: s, head: &models.Inbound{SessionKey: session.Key, Slot: slot}}
	place, known := placeOfKey(session.Key)
	next.env = unheard(session, place, known)
	latest, err := g.store.LatestMessage(ctx, session.Key)
	switch {
	case errors.Is(err, store.ErrNotFound): // its messages are not kept any more, or it was imported
	case err != nil:
		return nil, err
	default:
		if env, err := decodeEnvelope(latest); err == nil {
			next.env = env
		}
	}
	next.agent = s.Agents[next.env.AgentID]
	if !known {
		place = key.Place{Channel: session.Channel, Account: session.Account, ChatID: next.env.Message.Chat.ID}
	}
	next.chat, _ = s.Chat(place.Channel, cmp.Or(place.Account, session.Account), place.ChatID)
	return next, nil
}

// placeOfKey is the group or thread that a session's key names, if it names one.
func placeOfKey(sessionKey string) (key.Place, bool) {
	k, err := key.Parse(sessionKey)
	if err != nil {
		return key.Place{}, false
	}
	return k.Place()
}

// unheard is a message for a session of which none is kept: what its key says of it.
func unheard(session *models.Session, place key.Place, known bool) *envelope {
	env := &envelope{AgentID: session.AgentID, Background: session.Key, Message: &adapters.Message{}}
	env.Message.Chat.Type = adapters.Direct
	if known {
		env.Message.Chat = adapters.Chat{ID: place.ChatID, Type: adapters.Group}
	}
	if k, err := key.Parse(session.Key); err == nil {
		env.belongTo(k)
	}
	return env
}

package gateway

import (
	"fmt"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// chatSession names the session that a message to the target belongs to: the one
// that a person's message from there would be part of. Where each member of a group
// has a session of their own it is the group's, in whose lane their background is kept.
func (g *Gateway) chatSession(channel, account string, t models.Target) (*models.Session, error) {
	r, err := g.keyRequest(channel, account, t)
	if err != nil {
		return nil, err
	}
	k, err := key.DeriveBackground(r)
	if err != nil {
		return nil, err
	}
	return &models.Session{
		Key: k.String(), AgentID: k.AgentID, Channel: channel, Account: account, Scope: k.Scope, ScopeID: k.ScopeID,
		State: models.SessionActive, CurrentSlot: models.DefaultSlot,
	}, nil
}

func (g *Gateway) keyRequest(channel, account string, t models.Target) (key.Request, error) {
	s := g.settings.Load()
	chat, ok := s.Chat(channel, account, t.ChatID)
	if !ok {
		return key.Request{}, fmt.Errorf("%w: %s/%s", ErrUnknownAccount, channel, account)
	}
	return key.Request{
		AgentID: chat.Agent, Channel: channel, Account: account, Direct: t.Direct, ChatID: t.ChatID, UserID: t.UserID, ThreadID: t.ThreadID,
		Scopes: chat.Scopes, IsolateMembers: chat.IsolateMembers, Identities: s.Identities,
	}, nil
}

// membersApart reports whether each member of the target's chat has a session of
// their own: what is sent there is then background of all of them.
func (g *Gateway) membersApart(channel, account string, t models.Target) bool {
	r, err := g.keyRequest(channel, account, t)
	if err != nil || !r.IsolateMembers || r.Direct {
		return false
	}
	r.UserID = "somebody"
	k, err := key.Derive(r)
	return err == nil && k.Background() != k
}

// asBackground makes texts background of the group they are sent to, once they are
// delivered, as if they had been observed there.
func asBackground(deliveries []*models.Delivery) error {
	for _, d := range deliveries {
		env := envelope{Own: true, Message: &adapters.Message{
			Chat: adapters.Chat{ID: d.Target.ChatID, Type: adapters.Group, ThreadID: d.Target.ThreadID}, Text: d.Text, SentAt: d.CreatedAt,
		}}
		payload, err := env.encode()
		if err != nil {
			return err
		}
		d.Observed = payload
	}
	return nil
}

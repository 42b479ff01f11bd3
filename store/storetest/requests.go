package storetest

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// This file makes what a gateway hands to a store, for the suite and for an
// implementation's own tests and benchmarks.

// NewMessage makes a request to accept a message of a session, with ids of its own.
func NewMessage(key string, now time.Time) *store.AcceptRequest {
	id := models.NewID("inb")
	return &store.AcceptRequest{
		Inbound: models.Inbound{
			ID: id, SessionKey: key, Channel: "api", Account: "default",
			PlatformMessageID: "pm-" + id, Kind: models.KindMessage, SenderID: "lin",
			ReceivedAt: now, Payload: []byte(`{"text":"` + id + `"}`),
		},
		DedupKeys:   []string{"message/" + id},
		Fingerprint: []byte("fingerprint of " + id),
	}
}

// NewSessionMessage makes a message of a conversation; it counts a token per byte.
func NewSessionMessage(role models.Role, content string, now time.Time) *models.SessionMessage {
	return &models.SessionMessage{
		ID: models.NewMessageID(now), Role: role, Content: content, TokenCount: len(content), CreatedAt: now,
	}
}

// NewSession describes a session.
func NewSession(key string, now time.Time) *models.Session {
	return &models.Session{
		Key: key, AgentID: "assistant", Channel: "api", Account: "default",
		Scope: models.ScopePerPeer, ScopeID: "api/default/peer", State: models.SessionActive,
		CurrentSlot: models.DefaultSlot, CreatedAt: now, LastActivityAt: now, UpdatedAt: now,
	}
}

// NewAnswer makes the commit of a turn that answers its message with text: two
// messages, "to " + text and text.
func NewAnswer(turn *store.Turn, text string, now time.Time) *store.TurnCommit {
	first := turn.Inbounds[0]
	reply := NewSessionMessage(models.RoleAssistant, text, now)
	return &store.TurnCommit{
		Claim: turn.Claim, Session: *NewSession(first.SessionKey, now), Inbounds: turn.Inbounds,
		Outcome: store.Outcome{
			State: models.InboundDone, FinishReason: "stop",
			Reply: &models.Reply{MessageID: reply.ID, Role: models.RoleAssistant, Content: text},
		},
		Slot:     first.Slot,
		Messages: []*models.SessionMessage{NewSessionMessage(models.RoleUser, "to "+text, now), reply},
		UserAt:   now, ModelAt: now, Now: now,
	}
}

// NewDelivery makes a push to a group.
func NewDelivery(key, chat, text string, now time.Time) *models.Delivery {
	return &models.Delivery{
		ID: models.NewID("dlv"), SessionKey: key, Channel: "feishu", Account: "main",
		Target: models.Target{ChatID: chat}, Text: text, State: models.DeliveryPending,
		CreatedAt: now, Kind: models.DeliveryPush, Part: 1, Parts: 1,
	}
}

// NewParts makes the deliveries of a turn's answer.
func NewParts(turn *store.Turn, chat string, n int, now time.Time) []*models.Delivery {
	first := turn.Inbounds[0]
	out := make([]*models.Delivery, n)
	for i := range out {
		d := NewDelivery(first.SessionKey, chat, fmt.Sprintf("part %d", i+1), now)
		d.InboundID, d.Kind, d.Part, d.Parts = first.ID, models.DeliveryAnswer, i+1, n
		d.Target.UserID, d.Target.ReplyTo, d.Target.Ref = "ou_1", first.PlatformMessageID, []byte{0, 1, 0xff}
		out[i] = d
	}
	return out
}

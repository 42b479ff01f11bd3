package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// envelope is what an inbound row's payload holds: the message and everything
// that was settled when it was accepted.
type envelope struct {
	Message *adapters.Message   `json:"message"`
	AgentID string              `json:"agentId"`
	Scope   models.Scope        `json:"scope"`
	ScopeID string              `json:"scopeId"`
	Command *command.Invocation `json:"command,omitempty"`
	// Slot is the context slot that the caller chose; empty: whichever is current.
	Slot string `json:"slot,omitempty"`
	// Background is the key whose observed talk the turn takes in.
	Background string `json:"background,omitempty"`
	// Shared is set if several people share the session.
	Shared bool `json:"shared,omitempty"`
	// Admin is set if the sender was an administrator when the message was accepted.
	Admin bool `json:"admin,omitempty"`
	// TooOld is set if the message came too late to be answered.
	TooOld bool `json:"tooOld,omitempty"`
	// Pulled is set if the answer is fetched by whoever waits for it, not sent.
	Pulled bool `json:"pulled,omitempty"`
	// Pressed is set if the message is a pressed button: nothing of the platform's can be
	// replied to.
	Pressed bool `json:"pressed,omitempty"`
	// Operator is who says the message where that is the operator; else empty.
	Operator string `json:"operator,omitempty"`
	// Decides is the code of the call that the sender may decide on with this command.
	Decides string `json:"decides,omitempty"`
	// Decided is set once the message decided on a call, which its turn begins with.
	Decided *decision `json:"decided,omitempty"`
	// Own is set if the bot itself said it: it was pushed into the chat.
	Own bool `json:"own,omitempty"`
	// Trace is the place in a trace that the message's turn continues, as a traceparent.
	Trace string `json:"trace,omitempty"`
	// Run is set if the message is the run of a task.
	Run *taskRun `json:"run,omitempty"`
}

func (e *envelope) encode() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return b, nil
}

const (
	// maxEscaped is how much text fits a payload however it is escaped: up to six bytes
	// stand for one.
	maxEscaped = models.MaxContent / 8
	// maxPayload leaves room for what is settled about a message besides.
	maxPayload = models.MaxContent - 64<<10
)

// fits reports whether the message can be stored.
func (e *envelope) fits() bool {
	if len(e.Message.Text) <= maxEscaped/2 && len(e.Message.Raw) <= maxEscaped/2 {
		return true
	}
	payload, err := e.encode()
	return err == nil && len(payload) <= maxPayload
}

func decodeEnvelope(in *models.Inbound) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(in.Payload, &e); err != nil {
		return nil, fmt.Errorf("decode message %s: %w", in.ID, err)
	}
	if e.Message == nil {
		return nil, fmt.Errorf("decode message %s: payload holds no message", in.ID)
	}
	if k, err := key.Parse(in.SessionKey); err == nil && e.Background != "" && in.Kind != models.KindObserved {
		e.belongTo(k) // its session may have been moved since
	}
	return &e, nil
}

// belongTo settles what follows from the session that the message is for.
func (e *envelope) belongTo(k key.Key) {
	background := k.Background()
	e.AgentID, e.Scope, e.ScopeID, e.Background = k.AgentID, k.Scope, k.ScopeID, background.String()
	e.Shared = k.Scope == models.ScopeMain || !e.direct() && k == background
}

// unreadEnvelope stands for one that cannot be read: nobody can be told.
func unreadEnvelope() *envelope { return &envelope{Message: &adapters.Message{}, Pulled: true} }

func (e *envelope) direct() bool { return e.Message.Chat.Type == adapters.Direct }

// target is where answers to the message go, fixed from here on.
func (e *envelope) target() models.Target {
	if e.Run != nil {
		return e.Run.Target.model()
	}
	m := e.Message
	target := models.Target{
		ChatID: m.Chat.ID, UserID: m.Sender.ID, ThreadID: m.Chat.ThreadID,
		ReplyTo: m.ID, Direct: e.direct(), Ref: m.Ref,
	}
	if e.Pressed {
		target.ReplyTo = ""
	}
	return target
}

// session names the session of the message, as it would be created.
func (e *envelope) session(in *models.Inbound) models.Session {
	return models.Session{
		Key: in.SessionKey, AgentID: e.AgentID, Channel: in.Channel, Account: in.Account,
		Scope: e.Scope, ScopeID: e.ScopeID, State: models.SessionActive, CurrentSlot: models.DefaultSlot,
	}
}

// samePlace reports whether two messages may be answered together: they were
// written in one chat and thread, with the same rights.
func samePlace(before, next *models.Inbound) bool {
	a, errA := decodeEnvelope(before)
	b, errB := decodeEnvelope(next)
	return errA == nil && errB == nil && oneChat(before, next, a, b) && a.Admin == b.Admin && a.AgentID == b.AgentID &&
		a.Decided == nil && b.Decided == nil
}

// sameChat reports whether two messages were written in one chat and thread.
func sameChat(one, other *models.Inbound) bool {
	a, errA := decodeEnvelope(one)
	b, errB := decodeEnvelope(other)
	return errA == nil && errB == nil && oneChat(one, other, a, b)
}

func oneChat(one, other *models.Inbound, a, b *envelope) bool {
	return one.Channel == other.Channel && one.Account == other.Account &&
		a.Message.Chat.ID == b.Message.Chat.ID && a.Message.Chat.ThreadID == b.Message.Chat.ThreadID
}

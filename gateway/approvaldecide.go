package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// What the buttons below a question for approval report, before the code.
const (
	approveAction = "approve:"
	denyAction    = "deny:"
)

// byOperator is who decided, where that was done over the admin API.
const byOperator = "admin"

// ErrDecided means that a call was decided on before, or that its time is over.
var ErrDecided = errors.New("gateway: the call is decided, or has expired")

// routeDecision sends a decision to the session of its call, if its sender may decide:
// whoever asked, an administrator of the chat it was made in, or whom the session belongs
// to alone.
func (a *acceptance) routeDecision(ctx context.Context, env *envelope, own key.Key) error {
	if env.Command == nil {
		return nil
	}
	code := command.DecidedCode(*env.Command)
	if code == "" {
		return nil
	}
	call, err := a.g.store.Approval(ctx, code)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	place, err := placeOf(call)
	if err != nil {
		return err
	}
	here, sender := call.Channel == a.in.Channel && call.Account == a.in.Account, a.in.Message.Sender
	asked := here && call.SenderID == sender.ID && sender.ID != ""
	chat, _ := a.settings.Chat(call.Channel, call.Account, place.Message.Chat.ID)
	admin := a.in.Operator != "" || here && chat.Access.IsAdmin(append([]string{sender.ID}, sender.AltIDs...)...)
	if !asked && !admin && !(own.String() == call.SessionKey && !env.Shared) {
		return nil
	}
	k, err := key.Parse(call.SessionKey)
	if err != nil {
		return fmt.Errorf("approval %s: %w", code, err)
	}
	a.routed, env.Decides, env.AgentID = &k, code, call.AgentID
	return nil
}

// pressed handles a button of a card. One that decides on a call says the same as
// the command.
func (s *sink) pressed(ctx context.Context, e *adapters.Event) error {
	var code, said string
	if rest, ok := strings.CutPrefix(e.Value, approveAction); ok {
		code, said = rest, "/approve "+rest
	} else if rest, ok := strings.CutPrefix(e.Value, denyAction); ok {
		code, said = rest, "/deny "+rest
	} else {
		s.g.log.Info("platform event", "channel", s.adapter.Channel(), "account", s.adapter.Account(), "kind", e.Kind, "message", e.MessageID)
		return nil
	}
	call, err := s.g.store.Approval(ctx, code)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it is so old that nothing is known of it
	}
	if err != nil {
		return err
	}
	place, err := placeOf(call)
	if err != nil {
		return err
	}
	return s.take(ctx, &Incoming{
		Channel: s.adapter.Channel(), Account: s.adapter.Account(), Pressed: true,
		Message: &adapters.Message{
			ID: "press:" + e.ID, EventID: e.ID, Chat: place.Message.Chat, Sender: e.Sender, Mentioned: true, Text: said,
			SentAt: e.At, Ref: place.Message.Ref,
		},
	})
}

func placeOf(call *models.Approval) (*envelope, error) {
	return decodeEnvelope(&models.Inbound{ID: call.InboundID, SessionKey: call.SessionKey, Payload: call.Payload})
}

// promote makes the message of a command that decided on a call a turn.
func promote(tx store.SessionTx, in *models.Inbound, env *envelope, d *command.Decided, lang text.Lang) error {
	turn, err := decided(env, d, lang)
	if err != nil {
		return err
	}
	payload, err := turn.encode()
	if err != nil {
		return err
	}
	return tx.Promote(in.ID, d.Call.Slot, payload)
}

// decided is the envelope of a message that decided on a call, for the turn that it
// becomes: the words that its sender said so with, and where the answer goes.
func decided(env *envelope, d *command.Decided, lang text.Lang) (*envelope, error) {
	place, err := placeOf(d.Call)
	if err != nil {
		return nil, err
	}
	words := text.ApprovedWords
	if d.Denied {
		words = text.DeniedWords
	}
	turn := *env
	message := *env.Message
	message.Text, message.Quote, message.Attachments, message.Raw = text.Say(lang, words, d.Call.Tool), nil, nil, nil
	turn.Message, turn.Command = &message, nil
	turn.Decided = &decision{Code: d.Call.Code, Denied: d.Denied, By: d.By}
	if place.Decided != nil {
		turn.Decided.Chat, turn.Decided.Background = place.Decided.Chat, place.Decided.Background
	}
	return &turn, nil
}

// Decide approves or denies a call for the operator. The call then runs as if it had
// been decided on in its chat. [store.ErrNotFound] for an unknown code, [ErrDecided] if
// it is too late.
func (g *Gateway) Decide(ctx context.Context, code string, approve bool) (*models.Approval, error) {
	call, err := g.store.Approval(ctx, code)
	if err != nil {
		return nil, err
	}
	place, err := placeOf(call)
	if err != nil {
		return nil, err
	}
	k, err := key.Parse(call.SessionKey)
	if err != nil {
		return nil, err
	}
	said := "/approve " + code
	if !approve {
		said = "/deny " + code
	}
	m := *place.Message
	m.ID, m.Text, m.SentAt = models.NewID("decision"), said, g.now()
	accepted, err := g.Accept(ctx, &Incoming{
		Channel: call.Channel, Account: call.Account, AgentID: call.AgentID, Key: &k, Message: &m, Pulled: place.Pulled,
		Pressed: true, Operator: byOperator,
	})
	if err != nil {
		return nil, err
	}
	if err := g.runCommands(ctx, accepted.Inbound); err != nil {
		return nil, err
	}
	call, err = g.store.Approval(ctx, code)
	if err == nil && call.DecidedIn != accepted.Inbound.ID {
		err = ErrDecided
	}
	return call, err
}

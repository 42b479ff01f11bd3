package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/chatkeep/chatkeep/agents/builtin"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/command"
)

// turnChats lets the tools of a turn send messages and keep tasks. The gateway, whose agents have the
// tools, is there a moment later than they are.
type turnChats struct {
	gateway atomic.Pointer[gateway.Gateway]
	log     *slog.Logger
}

var errNotSent = errors.New("the message cannot be sent now")

// SendFromTurn stores a message for sending. Its error is written for the model.
func (c *turnChats) SendFromTurn(ctx context.Context, inboundID, chat, text, key string) error {
	g := c.gateway.Load()
	if g == nil {
		return errNotSent
	}
	err := g.SendFromTurn(ctx, gateway.TurnMessage{InboundID: inboundID, Chat: chat, Text: text, Key: key})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gateway.ErrTurnOver):
		return errTurnOver
	case errors.Is(err, gateway.ErrNoChat), errors.Is(err, gateway.ErrUnknownAccount):
		return errors.New("there is no chat to send to: only what is answered reaches whoever asked")
	case errors.Is(err, gateway.ErrWordRefused):
		return errors.New("the message holds a word that is not allowed here")
	case ctx.Err() == nil:
		c.log.ErrorContext(ctx, "message of a tool cannot be sent", "inbound", inboundID, "error", err)
	}
	return errNotSent
}

// TaskFromTurn does something about the tasks of a turn's chat. Its error is written for
// the model.
func (c *turnChats) TaskFromTurn(ctx context.Context, inboundID string, call builtin.TaskCall, key string) (string, error) {
	failed := errors.New("the tasks cannot be reached now")
	g := c.gateway.Load()
	if g == nil {
		return "", failed
	}
	say, ok, err := g.TaskFromTurn(ctx, inboundID, command.TaskRequest{Action: call.Action, When: call.When, Prompt: call.Prompt, ID: call.ID, Key: key})
	switch {
	case err == nil && !ok:
		return "", errors.New(say)
	case err == nil:
		return say, nil
	case errors.Is(err, gateway.ErrTurnOver):
		return "", errTurnOver
	case ctx.Err() == nil:
		c.log.ErrorContext(ctx, "task of a tool cannot be kept", "inbound", inboundID, "error", err)
	}
	return "", failed
}

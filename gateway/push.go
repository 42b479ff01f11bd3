package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// Push is a message from outside that is sent into a chat.
type Push struct {
	Channel string
	Account string
	Target  models.Target
	Text    string
	// IdempotencyKey makes a repeat be sent once; with another target or text it is
	// [store.ErrConflict]. Empty: every push is another one.
	IdempotencyKey string
	// Remember makes the text part of the chat's session once it is delivered.
	Remember bool
}

// Push stores a message for sending and returns the ids of its pieces. A text longer
// than a message may be is [store.ErrTooLarge].
func (g *Gateway) Push(ctx context.Context, m Push) ([]string, error) {
	if m.Channel == key.ChannelTask || g.sender(m.Channel, m.Account) == nil {
		return nil, fmt.Errorf("%w: %s/%s", ErrUnknownAccount, m.Channel, m.Account)
	}
	p := outgoing{channel: m.Channel, account: m.Account, target: m.Target, text: m.Text}
	if limit := g.settings.Load().inboundBytes(); len(m.Text) > limit {
		return nil, fmt.Errorf("push: %w: a message of %d bytes, at most %d are allowed", store.ErrTooLarge, len(m.Text), limit)
	}
	if m.IdempotencyKey != "" {
		said := []string{m.Channel, m.Account, m.Target.ChatID, m.Target.UserID, m.Target.ThreadID, m.Text}
		p.once = store.Once{Key: "push\x00" + m.IdempotencyKey, Fingerprint: strings.Join(said, "\x00")}
	}
	if err := g.knownChat(ctx, &p); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	if m.Remember {
		if err := g.remember(&p); err != nil {
			return nil, fmt.Errorf("push: %w", err)
		}
	}
	ids, err := g.send(ctx, &p)
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	return ids, nil
}

// knownChat makes the target that of a direct chat if its chat is known to be one: a
// chat id alone does not tell.
func (g *Gateway) knownChat(ctx context.Context, p *outgoing) error {
	if p.target.ChatID == "" || p.target.Direct || p.target.ThreadID != "" {
		return nil
	}
	known, err := g.store.AnsweredTarget(ctx, p.channel, p.account, p.target.ChatID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case known.Direct:
		p.target.Direct, p.target.UserID = true, known.UserID
	}
	return nil
}

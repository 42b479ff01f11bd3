package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// Errors of a message that a tool sends.
var (
	// ErrTurnOver means that the turn was stopped, or its session deleted.
	ErrTurnOver = errors.New("gateway: the turn is over")
	// ErrNoChat means that the turn does not answer in a chat.
	ErrNoChat = errors.New("gateway: the turn has no chat to send to")
)

// TurnMessage is a message that a tool sends while its turn runs.
type TurnMessage struct {
	// InboundID is the message that the turn answers.
	InboundID string
	// Chat is channel/account/chatId; empty: where the turn answers.
	Chat string
	Text string
	// Key makes a repeat be sent once.
	Key string
}

// SendFromTurn stores a message for sending, as [Gateway.Push] does: it is remembered
// in the chat's session, here the turn's own, once it is delivered.
func (g *Gateway) SendFromTurn(ctx context.Context, m TurnMessage) error {
	in, err := g.store.Inbound(ctx, m.InboundID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && in.State != models.InboundRunning:
		return ErrTurnOver
	case err != nil:
		return err
	}
	said, refused := g.settings.Load().Words.Out.Apply(m.Text)
	if refused {
		return ErrWordRefused
	}
	p := outgoing{once: store.Once{Key: "tool\x00" + m.Key}, text: said}
	if m.Chat != "" {
		err = g.toChat(ctx, &p, m.Chat)
	} else {
		err = g.toOwnChat(&p, in)
	}
	if err != nil {
		return fmt.Errorf("send from turn: %w", err)
	}
	_, err = g.send(ctx, &p)
	return err
}

// outgoing is a message on its way into a chat, by nobody's turn.
type outgoing struct {
	channel, account string
	target           models.Target
	text             string
	once             store.Once
	// session is where the text is remembered once it is delivered; nil: nowhere.
	// background makes it background of the chat instead.
	session    *models.Session
	background bool
}

// toChat addresses a chat by its name.
func (g *Gateway) toChat(ctx context.Context, p *outgoing, name string) error {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) != 3 {
		return fmt.Errorf("%w: %s", ErrUnknownAccount, name)
	}
	p.channel, p.account, p.target = parts[0], parts[1], models.Target{ChatID: parts[2]}
	if err := g.knownChat(ctx, p); err != nil {
		return err
	}
	return g.remember(p)
}

// remember settles where the message will be remembered: where a person's message
// from its target would be.
func (g *Gateway) remember(p *outgoing) error {
	session, err := g.chatSession(p.channel, p.account, p.target)
	if err != nil {
		return err
	}
	p.session, p.background = session, g.membersApart(p.channel, p.account, p.target)
	return nil
}

// toOwnChat addresses the chat that a turn answers in; what it is told becomes part of
// the turn's own session, or of its chat's background.
func (g *Gateway) toOwnChat(p *outgoing, in *models.Inbound) error {
	env, err := decodeEnvelope(in)
	if err != nil {
		return err
	}
	p.channel, p.account, p.target = in.Channel, in.Account, env.target()
	p.target.ReplyTo = ""
	if run := env.Run; run != nil {
		p.session, p.background = run.Chat, run.Background
		if run.Chat == nil {
			return ErrNoChat
		}
		return nil
	}
	if d := env.Decided; d != nil && d.Chat != nil { // of a task, as its answer does
		p.session, p.background = d.Chat, d.Background
		return nil
	}
	k, err := key.Parse(in.SessionKey)
	if err != nil {
		return err
	}
	chat, session := k.Background(), env.session(in)
	p.background = chat != k
	session.Key, session.ScopeID = chat.String(), chat.ScopeID
	p.session = &session
	return nil
}

// send stores a message for sending and returns the ids of its pieces; of a repeat
// the first one's alone.
func (g *Gateway) send(ctx context.Context, p *outgoing) ([]string, error) {
	adapter := g.sender(p.channel, p.account)
	if adapter == nil || p.channel == key.ChannelTask {
		return nil, fmt.Errorf("%w: %s/%s", ErrUnknownAccount, p.channel, p.account)
	}
	proto := models.Delivery{
		Channel: p.channel, Account: p.account, Target: p.target,
		State: models.DeliveryPending, Kind: models.DeliveryPush, CreatedAt: g.now(), Trace: tracing.Carried(ctx),
	}
	if p.session != nil {
		proto.SessionKey = p.session.Key
	}
	all := pieces(proto, adapter.Render(adapters.Answer{Text: p.text, Target: p.target, Kind: models.DeliveryPush})...)
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the text is empty", store.ErrInvalid)
	}
	if p.session != nil && p.background {
		if err := asBackground(all); err != nil {
			return nil, err
		}
	}
	fresh, err := g.store.Enqueue(ctx, all, p.once, p.session)
	if err != nil {
		return nil, err
	}
	if fresh {
		g.queued(all)
	} else {
		all = all[:1]
	}
	ids := make([]string, len(all))
	for i, d := range all {
		ids[i] = d.ID
	}
	return ids, nil
}

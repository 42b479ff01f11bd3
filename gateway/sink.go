package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// sink feeds one account's events into the gateway.
type sink struct {
	g       *Gateway
	adapter adapters.Adapter
}

// Accept stores a message of the platform. One that can never be stored is logged and
// dropped: the platform would only send it again.
func (s *sink) Accept(ctx context.Context, m *adapters.Message) error {
	return s.take(ctx, &Incoming{Channel: s.adapter.Channel(), Account: s.adapter.Account(), Message: m})
}

func (s *sink) take(ctx context.Context, in *Incoming) error {
	_, err := s.g.Accept(ctx, in)
	for _, hopeless := range []error{key.ErrInvalid, store.ErrInvalid, store.ErrTooLarge, ErrUnknownAccount} {
		if errors.Is(err, hopeless) {
			s.g.log.Error("message cannot be accepted", "channel", s.adapter.Channel(), "account", s.adapter.Account(), "message", in.Message.ID, "error", err)
			return nil
		}
	}
	return err
}

// Notify handles what happened besides messages. Each case is one transaction, or
// safe to repeat: the platform sends an event again if we fail.
func (s *sink) Notify(ctx context.Context, e *adapters.Event) error {
	channel, account := s.adapter.Channel(), s.adapter.Account()
	switch e.Kind {
	case adapters.Recalled:
		return s.g.recall(ctx, MessageKey(channel, account, e.MessageID))
	case adapters.ActionStop:
		return s.g.stopByButton(ctx, channel, account, e)
	case adapters.BotAdded:
		return s.welcome(ctx, e)
	case adapters.BotRemoved, adapters.ChatGone:
		_, err := s.g.store.CloseTarget(ctx, channel, account, models.Target{ChatID: e.Chat.ID}, string(e.Kind), s.g.now())
		return err
	case adapters.QuotaNotice:
		s.g.log.Error("the platform says that a quota is used up", "channel", channel, "account", account, "notice", e.Value)
	case adapters.ChatEntered:
		return s.greet(ctx, e)
	case adapters.ActionButton:
		return s.pressed(ctx, e)
	case adapters.Reacted, adapters.Unreacted:
		s.g.log.Info("platform event", "channel", channel, "account", account, "kind", e.Kind, "message", e.MessageID)
	}
	return nil
}

// welcome greets a chat that the bot was added to, once per event.
func (s *sink) welcome(ctx context.Context, e *adapters.Event) error {
	chat, ok := s.g.settings.Load().Chat(s.adapter.Channel(), s.adapter.Account(), e.Chat.ID)
	if !ok {
		return nil
	}
	if welcome, err := s.mayUse(ctx, chat, e, false); !welcome {
		return err
	}
	target := models.Target{ChatID: e.Chat.ID}
	say := text.Say(text.Choose(chat.Language, e.Chat.Name), text.Welcome)
	proto := models.Delivery{
		Channel: s.adapter.Channel(), Account: s.adapter.Account(), Target: target,
		State: models.DeliveryPending, Kind: models.DeliveryNotice, CreatedAt: s.g.now(),
	}
	texts := s.adapter.Render(adapters.Answer{Text: say, Target: target, Kind: models.DeliveryNotice})
	dedup := "welcome\x00" + proto.Channel + "\x00" + proto.Account + "\x00" + e.ID
	said := pieces(proto, texts...)
	fresh, err := s.g.store.Enqueue(ctx, said, store.Once{Key: dedup}, nil)
	if fresh {
		s.g.queued(said)
	}
	return err
}

// mayUse reports whether the sender of an event may use the bot in its chat: who may
// not is not invited to.
func (s *sink) mayUse(ctx context.Context, chat ChatSettings, e *adapters.Event, direct bool) (bool, error) {
	users := append([]string{e.Sender.ID}, e.Sender.AltIDs...)
	verdict, err := s.g.admit(ctx, chat.Access, s.adapter.Channel(), s.adapter.Account(), direct, e.Chat.ID, users)
	return verdict == access.Allowed, err
}

// greet welcomes somebody who opened the chat with the bot for the first time. The
// session that is made with the greeting is what remembers that it was said.
func (s *sink) greet(ctx context.Context, e *adapters.Event) error {
	target := models.Target{ChatID: e.Chat.ID, UserID: e.Sender.ID, Direct: true}
	session, err := s.g.chatSession(s.adapter.Channel(), s.adapter.Account(), target)
	if err != nil {
		return err
	}
	chat, _ := s.g.settings.Load().Chat(s.adapter.Channel(), s.adapter.Account(), e.Chat.ID)
	if welcome, err := s.mayUse(ctx, chat, e, true); !welcome {
		return err
	}
	say := text.Say(text.Choose(chat.Language, e.Sender.Name), text.WelcomeDirect)
	proto := models.Delivery{
		SessionKey: session.Key, Channel: s.adapter.Channel(), Account: s.adapter.Account(), Target: target,
		State: models.DeliveryPending, Kind: models.DeliveryNotice, CreatedAt: s.g.now(),
	}
	texts := s.adapter.Render(adapters.Answer{Text: say, Target: target, Kind: models.DeliveryNotice})
	var said []*models.Delivery
	err = s.g.store.ChangeSession(ctx, session.Key, func(tx store.SessionTx) error {
		said = nil
		if _, err := tx.Session(); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		session.CreatedAt = s.g.now()
		if err := tx.Create(session); err != nil {
			return err
		}
		said = pieces(proto, texts...)
		return tx.Deliver(said)
	})
	if err == nil {
		s.g.queued(said)
	}
	return err
}

// recall takes a message back: it is dropped if it waits or is background, stopped if
// it runs, and refused if it comes later.
func (g *Gateway) recall(ctx context.Context, dedupKey string) error {
	recalledFirst, err := g.store.Tombstone(ctx, dedupKey)
	if err != nil || recalledFirst {
		return err
	}
	in, err := g.store.FindInbound(ctx, dedupKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	done := *in
	done.State, done.Code, done.Error = models.InboundCancelled, models.CodeCancelled, "the message was recalled"
	var again []string
	err = g.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) error {
		again = nil
		outcome := store.Outcome{State: done.State, Code: done.Code, Error: done.Error, Erase: true}
		if err := tx.Finish([]string{in.ID}, outcome, g.now()); err != nil {
			return err
		}
		pending, err := tx.Pending()
		if err != nil {
			return err
		}
		for _, p := range pending {
			if p.State != models.InboundRunning || !slices.Contains(p.Replaces, in.ID) {
				continue
			}
			again = append(again, p.ID) // its agent was told the text, and is asked anew without it
			if err := tx.Rebind([]string{p.ID}, p.Slot); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // it was answered already
	}
	if err != nil {
		return err
	}
	g.ended([]*models.Inbound{&done})
	g.pool.Stop(again...)
	g.pool.Nudge()
	g.outbox.nudge()
	return nil
}

// stopByButton ends a turn on behalf of somebody who pressed Stop on its card.
func (g *Gateway) stopByButton(ctx context.Context, channel, account string, e *adapters.Event) error {
	in, err := g.store.Inbound(ctx, e.InboundID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	chat, ok := g.settings.Load().Chat(channel, account, e.Chat.ID)
	users := append([]string{e.Sender.ID}, e.Sender.AltIDs...)
	if !ok || in.Channel != channel || in.Account != account || in.SenderID != e.Sender.ID && !chat.Access.IsAdmin(users...) {
		return nil // cards are visible to the whole group; only the asker and administrators may stop
	}
	return g.finishIfPending(ctx, in, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled, Error: "stopped by the user"})
}

// finishIfPending gives a message an outcome if it has none yet.
func (g *Gateway) finishIfPending(ctx context.Context, in *models.Inbound, o store.Outcome) error {
	err := g.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) error {
		return tx.Finish([]string{in.ID}, o, g.now())
	})
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	done := *in
	done.State, done.Code, done.Error = o.State, o.Code, o.Error
	g.ended([]*models.Inbound{&done})
	g.outbox.nudge()
	return nil
}

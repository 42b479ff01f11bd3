package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// Change is what an operation on a session did, or would do.
type Change struct {
	// Changed counts what was changed, Skipped what was left alone.
	Changed int  `json:"changed"`
	Skipped int  `json:"skipped"`
	DryRun  bool `json:"dryRun"`
}

// errDryRun rolls a transaction back after it has counted.
var errDryRun = errors.New("gateway: dry run")

// change runs an operation on a session, and undoes it if it was only to be counted.
// The messages that it ended are told.
func (g *Gateway) change(ctx context.Context, key string, dryRun bool, do func(tx store.SessionTx, c *Change) ([]*models.Inbound, error)) (Change, error) {
	var c Change
	var ended []*models.Inbound
	err := g.store.ChangeSession(ctx, key, func(tx store.SessionTx) (err error) {
		c = Change{DryRun: dryRun}
		if ended, err = do(tx, &c); err != nil {
			return err
		}
		if dryRun {
			return errDryRun
		}
		return nil
	})
	if errors.Is(err, errDryRun) {
		return c, nil
	}
	if err != nil {
		return Change{}, err
	}
	g.ended(ended)
	g.outbox.nudge()
	return c, nil
}

// Cancel ends everything that runs or waits in a session.
func (g *Gateway) Cancel(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		pending, err := tx.Pending()
		if err != nil {
			return nil, err
		}
		if len(pending) == 0 {
			_, err := tx.Session() // nothing to do, unless there is no such session
			return nil, err
		}
		c.Changed = len(pending)
		return pending, g.finishAll(tx, pending, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled, Error: "cancelled by an administrator"})
	})
}

// Reset starts an empty context in the current slot; what was there can be
// restored for a while. Changed counts the messages set aside.
func (g *Gateway) Reset(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		if _, err := tx.Session(); err != nil {
			return nil, err
		}
		slots, err := tx.Slots()
		if err != nil {
			return nil, err
		}
		for _, s := range slots {
			if s.ID != tx.CurrentSlot() {
				continue
			}
			if s.Mode == models.SlotReadonly {
				return nil, fmt.Errorf("%w: %q cannot be emptied", slot.ErrReadonly, s.ID)
			}
			c.Changed = s.MessageCount
		}
		pending, err := g.supersedePending(tx, "the session was reset")
		if err != nil {
			return nil, err
		}
		observed, err := lastObserved(tx, key)
		if err != nil {
			return nil, err
		}
		return pending, tx.Reset(tx.CurrentSlot(), observed, g.now())
	})
}

// Restore brings back what the latest reset of the current slot set aside.
func (g *Gateway) Restore(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		if _, err := tx.Session(); err != nil {
			return nil, err
		}
		pending, err := g.supersedePending(tx, "an earlier context was restored")
		if err != nil {
			return nil, err
		}
		observed, err := lastObserved(tx, key)
		if err != nil {
			return nil, err
		}
		c.Changed = 1
		err = tx.Restore(tx.CurrentSlot(), observed, g.now())
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("%w: no reset to bring back", store.ErrConflict)
		}
		return pending, err
	})
}

// lastObserved is the newest place in the lane that holds the background of a session.
func lastObserved(tx store.SessionTx, session string) (int64, error) {
	k, err := key.Parse(session)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return tx.LastPlace(k.Background().String())
}

// Activate makes an idle or archived session active.
func (g *Gateway) Activate(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		s, err := tx.Session()
		if err != nil {
			return nil, err
		}
		if s.State == models.SessionActive {
			c.Skipped = 1
			return nil, nil
		}
		c.Changed, s.State = 1, models.SessionActive
		return nil, tx.Update(s, g.now())
	})
}

// Delete makes a session unreadable at once; a job erases it.
func (g *Gateway) Delete(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		pending, err := tx.Pending()
		if err != nil {
			return nil, err
		}
		s, err := tx.Session()
		switch {
		case err == nil:
			c.Changed = s.MessageCount
		case errors.Is(err, store.ErrNotFound) && len(pending) > 0: // its first turn has not committed
		default:
			return nil, err
		}
		for _, in := range pending {
			in.State, in.Code = models.InboundSuperseded, models.CodeSuperseded
		}
		return pending, tx.Delete(g.now())
	})
}

func (g *Gateway) supersedePending(tx store.SessionTx, why string) ([]*models.Inbound, error) {
	pending, err := tx.Pending()
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	return pending, g.finishAll(tx, pending, store.Outcome{State: models.InboundSuperseded, Code: models.CodeSuperseded, Error: why})
}

// finishAll gives messages their outcome, in the store and in place.
func (g *Gateway) finishAll(tx store.SessionTx, messages []*models.Inbound, o store.Outcome) error {
	ids := make([]string, len(messages))
	for i, in := range messages {
		ids[i] = in.ID
		in.State, in.Code, in.Error = o.State, o.Code, o.Error
	}
	return tx.Finish(ids, o, g.now())
}

// Patch changes a session's settings.
func (g *Gateway) Patch(ctx context.Context, key string, apply func(*models.Session)) (*models.Session, error) {
	var patched *models.Session
	err := g.store.ChangeSession(ctx, key, func(tx store.SessionTx) error {
		s, err := tx.Session()
		if err != nil {
			return err
		}
		apply(s)
		patched = s
		return tx.Update(s, g.now())
	})
	return patched, err
}

// Retry makes a failed, dead or cancelled message run again.
func (g *Gateway) Retry(ctx context.Context, inboundID string) (*models.Inbound, error) {
	in, err := g.store.Inbound(ctx, inboundID)
	if err != nil {
		return nil, err
	}
	err = g.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) error { return tx.Requeue(inboundID, g.now()) })
	if err != nil {
		return nil, fmt.Errorf("retry message: %w", err)
	}
	g.hub.Reopened(inboundID)
	g.pool.Nudge()
	return g.store.Inbound(ctx, inboundID)
}

// RetryDelivery makes a failed or dead delivery pending again.
func (g *Gateway) RetryDelivery(ctx context.Context, id string) (*models.Delivery, error) {
	d, err := g.store.RetryDelivery(ctx, id, g.now())
	if err != nil {
		return nil, fmt.Errorf("retry delivery: %w", err)
	}
	g.outbox.nudge()
	return d, nil
}

// Push is a message from outside that is sent into a chat.
type Push struct {
	Channel        string
	Account        string
	Target         models.Target
	Text           string
	IdempotencyKey string
	// Remember makes the text part of the chat's session once it is delivered.
	Remember bool
}

// Push stores a message for sending and returns the ids of its pieces.
func (g *Gateway) Push(ctx context.Context, p Push) ([]string, error) {
	adapter := g.sender(p.Channel, p.Account)
	if adapter == nil || p.Channel == key.ChannelTask {
		return nil, fmt.Errorf("%w: %s/%s", ErrUnknownAccount, p.Channel, p.Account)
	}
	if err := g.knownChat(ctx, &p); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	proto := models.Delivery{
		Channel: p.Channel, Account: p.Account, Target: p.Target,
		State: models.DeliveryPending, Kind: models.DeliveryPush, CreatedAt: g.now(),
	}
	var session *models.Session
	if p.Remember {
		var err error
		if session, err = g.chatSession(p.Channel, p.Account, p.Target); err != nil {
			return nil, err
		}
		proto.SessionKey = session.Key
	}
	all := pieces(proto, adapter.Render(adapters.Answer{Text: p.Text, Target: p.Target, Kind: models.DeliveryPush})...)
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the text is empty", store.ErrInvalid)
	}
	dedup := ""
	if p.IdempotencyKey != "" {
		dedup = "push\x00" + p.Channel + "\x00" + p.Account + "\x00" + p.IdempotencyKey
	}
	fresh, err := g.store.Enqueue(ctx, all, dedup, session)
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	if !fresh {
		all = all[:1] // the first delivery of the first push
	}
	g.outbox.nudge()
	ids := make([]string, len(all))
	for i, d := range all {
		ids[i] = d.ID
	}
	return ids, nil
}

// knownChat makes the target that of a direct chat if its chat is known to be one: a
// chat id alone does not tell.
func (g *Gateway) knownChat(ctx context.Context, p *Push) error {
	if p.Target.ChatID == "" || p.Target.Direct || p.Target.ThreadID != "" {
		return nil
	}
	known, err := g.store.AnsweredTarget(ctx, p.Channel, p.Account, p.Target.ChatID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case known.Direct:
		p.Target.Direct, p.Target.UserID = true, known.UserID
	}
	return nil
}

// chatSession names the session that a message to the target belongs to: the one
// that a person's message from there would be part of.
func (g *Gateway) chatSession(channel, account string, t models.Target) (*models.Session, error) {
	s := g.settings.Load()
	chat, ok := s.Chat(channel, account, t.ChatID)
	if !ok {
		return nil, fmt.Errorf("%w: %s/%s", ErrUnknownAccount, channel, account)
	}
	k, err := key.DeriveBackground(key.Request{
		AgentID: chat.Agent, Channel: channel, Account: account, Direct: t.Direct,
		ChatID: t.ChatID, UserID: t.UserID, ThreadID: t.ThreadID, Scopes: chat.Scopes, Identities: s.Identities,
	})
	if err != nil {
		return nil, err
	}
	return &models.Session{
		Key: k.String(), AgentID: k.AgentID, Channel: channel, Account: account, Scope: k.Scope, ScopeID: k.ScopeID,
		State: models.SessionActive, CurrentSlot: models.DefaultSlot,
	}, nil
}

package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/gateway/command"
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
	// Reason says why something was left alone.
	Reason string `json:"reason,omitempty"`
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

// changeAll is change for what leaves nothing that is worth a summary which is being
// made: elsewhere that is noticed within a second.
func (g *Gateway) changeAll(ctx context.Context, key string, dryRun bool, do func(tx store.SessionTx, c *Change) ([]*models.Inbound, error)) (Change, error) {
	c, err := g.change(ctx, key, dryRun, do)
	if err == nil && !dryRun {
		g.summaries.stop(key, "")
	}
	return c, err
}

// Cancel ends everything that runs or waits in a session, a summary too.
func (g *Gateway) Cancel(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.changeAll(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		pending, err := tx.Pending()
		if err != nil {
			return nil, err
		}
		if err := tx.StopSummaries(); err != nil { // also those that nobody asked for in a chat
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
	var current string
	c, err := g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		if _, err := tx.Session(); err != nil {
			return nil, err
		}
		slots, err := tx.Slots()
		if err != nil {
			return nil, err
		}
		current = tx.CurrentSlot()
		for _, s := range slots {
			if s.ID != current {
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
		return pending, tx.Reset(current, observed, g.now())
	})
	if err == nil && !dryRun {
		g.summaries.stop(key, current)
	}
	return c, err
}

// Restore brings back what the latest reset set aside, in the slot that was reset.
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
		err = tx.Restore("", observed, g.now())
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
			c.Skipped, c.Reason = 1, "active already"
			return nil, nil
		}
		c.Changed, s.State = 1, models.SessionActive
		return nil, tx.Update(s, g.now())
	})
}

// Delete makes a session unreadable at once; a job erases it.
func (g *Gateway) Delete(ctx context.Context, key string, dryRun bool) (Change, error) {
	c, err := g.changeAll(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
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
		if err := tx.Delete(g.now()); err != nil {
			return nil, err
		}
		g.crash(CrashBeforeDelete)
		return pending, nil
	})
	if err == nil {
		g.crash(CrashAfterDelete)
	}
	return c, err
}

func (g *Gateway) supersedePending(tx store.SessionTx, why string) ([]*models.Inbound, error) {
	pending, err := tx.Pending()
	pending = command.Ending(pending, tx.CurrentSlot())
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
	if err := tx.Finish(ids, o, g.now()); err != nil {
		return err
	}
	return tx.Deliver(g.stoppedSummaries(messages))
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
	g.waitsAgain(inboundID, in.SessionKey)
	g.pool.Nudge()
	return g.store.Inbound(ctx, inboundID)
}

// RetryDelivery makes a failed or dead delivery pending again.
func (g *Gateway) RetryDelivery(ctx context.Context, id string) (*models.Delivery, error) {
	d, err := g.store.RetryDelivery(ctx, id, g.now())
	if err != nil {
		return nil, fmt.Errorf("retry delivery: %w", err)
	}
	g.queued([]*models.Delivery{d})
	return d, nil
}

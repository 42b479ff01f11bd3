package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

// summaryPoll is how often a summary looks whether it was ended elsewhere.
const summaryPoll = time.Second

// errSummaryVoid is the cause of a summary's end whose slot was changed, or whose
// session's summaries were stopped, on whichever replica: it could not be stored any more.
var errSummaryVoid = errors.New("gateway: the summary is void")

// whileUnchanged returns a context that ends once a slot is no longer what it was.
func (g *Gateway) whileUnchanged(ctx context.Context, id slotID) (_ context.Context, end func()) {
	began, err := g.store.Generation(ctx, id.key, id.slot)
	if err != nil {
		return ctx, func() {} // whoever reads the slot next finds out as well
	}
	return g.watched(ctx, summaryPoll, func(ctx context.Context) error {
		now, err := g.store.Generation(ctx, id.key, id.slot)
		if errors.Is(err, store.ErrNotFound) || err == nil && now != began {
			return errSummaryVoid
		}
		return nil // where the database is away, the commit finds out
	})
}

// whileWanted returns a context that ends once a deferred command has its outcome, and
// keeps it from being taken over until then.
func (g *Gateway) whileWanted(ctx context.Context, inboundID string) (_ context.Context, end func()) {
	return g.watched(ctx, min(summaryPoll, g.cfg.Lease/3), func(ctx context.Context) error {
		if errors.Is(g.store.RenewCommand(ctx, inboundID, g.cfg.Lease), store.ErrNotFound) {
			return errSummaryStopped
		}
		return nil
	})
}

// watched returns a context that ends with what look returns, which is called again and
// again until end is.
func (g *Gateway) watched(ctx context.Context, every time.Duration, look func(context.Context) error) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var loop sync.WaitGroup
	loop.Go(func() {
		for clock.Sleep(ctx, g.clock, every) == nil {
			bounded, done := context.WithTimeout(ctx, g.cfg.Lease)
			over := look(bounded)
			done()
			if over != nil {
				cancel(over)
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		loop.Wait()
	}
}

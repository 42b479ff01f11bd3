package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// deferredCommands are the commands whose summaries are made, or wait, here.
type deferredCommands struct {
	mu   sync.Mutex
	held map[string]context.CancelCauseFunc
}

func (d *deferredCommands) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.held))
}

// whileWanted returns a context that ends once a deferred command has its outcome or is
// another replica's, and keeps it from being taken over until then. It reports false if
// somebody here is at it already.
func (g *Gateway) whileWanted(ctx context.Context, inboundID string) (_ context.Context, end func(), ok bool) {
	d := &g.deferred
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[inboundID] != nil {
		return ctx, nil, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	d.held[inboundID] = cancel
	return ctx, func() {
		cancel(nil)
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.held, inboundID)
	}, true
}

// keepDeferred renews the leases of all deferred commands together, however many wait.
func (g *Gateway) keepDeferred(ctx context.Context) {
	for clock.Sleep(ctx, g.clock, min(summaryPoll, g.cfg.Lease/3)) == nil {
		ids := g.deferred.ids()
		if len(ids) == 0 {
			continue
		}
		bounded, done := context.WithTimeout(ctx, g.cfg.Lease)
		held, err := g.store.RenewCommands(bounded, ids, g.pool.ClaimRequest())
		done()
		if err != nil {
			continue // the commit finds out whether it still may
		}
		g.deferred.keep(ids, held)
	}
}

// keep ends the work on those of the commands that are not held any more.
func (d *deferredCommands) keep(ids, held []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if cancel := d.held[id]; cancel != nil && !slices.Contains(held, id) {
			cancel(errSummaryStopped)
		}
	}
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

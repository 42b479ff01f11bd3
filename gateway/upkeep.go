package gateway

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// upkeepEvery is how often one replica sweeps what is no longer kept and looks
	// for lanes that a fault left asleep.
	upkeepEvery = 30 * time.Second
	// upkeepTimeout bounds one statement of it.
	upkeepTimeout = 20 * time.Second
	// sweepBatch bounds the rows that one statement removes.
	sweepBatch = 500
	upkeepName = "upkeep"
)

// upkeep does what one replica has to do now and then, until ctx ends: the one that
// holds the lease and renews it in between.
func (g *Gateway) upkeep(ctx context.Context) {
	last := g.now()
	for clock.Sleep(ctx, g.clock, g.cfg.Lease/2) == nil {
		bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
		held, err := g.store.AcquireLease(bounded, upkeepName, g.pool.ClaimRequest())
		cancel()
		switch {
		case err != nil && ctx.Err() == nil:
			g.log.Error("upkeep lease could not be taken", "error", err)
		case held && g.now().Sub(last) >= upkeepEvery:
			last = g.now()
			g.wake(ctx)
			g.sweep(ctx)
		}
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), upkeepTimeout)
	defer cancel()
	if err := g.store.ReleaseLease(bounded, upkeepName, g.cfg.Owner); err != nil {
		g.log.Warn("upkeep lease could not be released", "error", err)
	}
}

func (g *Gateway) wake(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	n, err := g.store.WakeLanes(bounded)
	switch {
	case err != nil && ctx.Err() == nil:
		g.log.Error("sleeping lanes could not be looked for", "error", err)
	case n > 0:
		g.log.Error("lanes were asleep with messages waiting; they are awake now", "count", n)
		g.pool.Nudge()
	}
}

// sweep removes what is no longer kept, in batches, as long as there is more.
func (g *Gateway) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
		swept, err := g.store.Sweep(bounded, g.now(), g.settings.Load().Retention, sweepBatch)
		erased := true
		if err == nil {
			erased, err = g.store.EraseDeleted(bounded, sweepBatch)
		}
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				g.log.Error("sweep failed", "error", err)
			}
			return
		}
		most := max(swept.Inbound, swept.Deliveries, swept.Dedup, swept.Aliases, swept.Previews, swept.Messages)
		if most < sweepBatch && erased {
			return
		}
	}
}

package gateway

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// leaderName is the lease of what one replica does: upkeep, jobs, tasks.
	leaderName = "leader"
	// upkeepEvery is how often it sweeps what is no longer kept and looks for lanes that
	// a fault left asleep, and the longest that one sweep takes.
	upkeepEvery = 30 * time.Second
	// upkeepTimeout bounds one statement of it.
	upkeepTimeout = 20 * time.Second
	// sweepBatch bounds the rows that one statement removes.
	sweepBatch = 500
)

// upkeep does what has to be done now and then, until ctx ends.
func (g *Gateway) upkeep(ctx context.Context) {
	for clock.Sleep(ctx, g.clock, upkeepEvery) == nil {
		g.safely("upkeep", func() {
			g.wake(ctx)
			if err := g.sumUsage(ctx); err != nil && ctx.Err() == nil {
				g.log.Error("what turns cost could not be summed up", "error", err)
			}
			g.sweep(ctx)
		})
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

// sweep removes what is no longer kept, in batches, as long as there is more and time.
func (g *Gateway) sweep(ctx context.Context) {
	for began := g.now(); ctx.Err() == nil && g.now().Sub(began) < upkeepEvery; {
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
		if swept.Most() < sweepBatch && erased {
			return
		}
	}
}

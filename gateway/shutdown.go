package gateway

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// leastShutdown is what a shutdown may take whatever the grace: handing back and
// marking are a few statements.
const leastShutdown = 5 * time.Second

// shutdown ends the phases of a stop in their order, all of them by one deadline.
type shutdown struct {
	g *Gateway
	// turns ends when running turns are cut, sends when deliveries are, over when
	// nothing is waited for any more.
	turns, sends, over context.Context //nolint:containedctx // the deadlines of one stop
	cancel             context.CancelFunc
}

// beginShutdown starts the clock: of the grace, turns have all but a quarter (at most
// five seconds), and deliveries half of what is left.
func (g *Gateway) beginShutdown() *shutdown {
	grace := g.cfg.Grace
	reserve := min(grace/4, leastShutdown)
	base, cancel := context.WithCancel(context.Background())
	s := &shutdown{g: g, cancel: cancel}
	s.turns = g.after(base, grace-reserve)
	s.over = g.after(base, max(grace, leastShutdown))
	s.sends = g.after(base, max(grace, leastShutdown)-max(reserve, leastShutdown/4)/2)
	go func() {
		<-s.turns.Done()
		g.pool.Cut()
	}()
	return s
}

// after returns a context that ends after d, by the gateway's clock, or with base.
func (g *Gateway) after(base context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithCancel(base)
	go func() {
		defer cancel()
		_ = clock.Sleep(base, g.clock, d)
	}()
	return ctx
}

// phase waits until work is done. Once all the time is over it waits for nothing: what
// hangs is named in the log and left behind.
func (s *shutdown) phase(name string, work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
	case <-s.over.Done():
		select {
		case <-done:
		default:
			s.g.log.Error("shutdown does not wait any longer", "for", name)
		}
	}
}

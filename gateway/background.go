package gateway

import (
	"context"
	"log/slog"
	"sync"

	"github.com/chatkeep/chatkeep/internal/panics"
)

// background is work that outlives the call that started it, but not the gateway.
type background struct {
	ctx    context.Context //nolint:containedctx // the lifetime of what it owns, not of a call
	cancel context.CancelFunc
	log    *slog.Logger

	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

func newBackground(log *slog.Logger) *background {
	b := &background{log: log}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// start runs work, or drops it if the gateway has stopped: what must not be lost
// is in the store. A panic ends the work, not the process.
func (b *background) start(work func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopped {
		b.wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					b.log.Error("background work panicked", "panic", panics.Value(v))
				}
			}()
			work(b.ctx)
		})
	}
}

// wait returns once no work is going on, or ctx ends.
func (b *background) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.wg.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// stop cancels the work and waits for it.
func (b *background) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	b.wg.Wait()
}

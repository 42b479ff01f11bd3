package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

// ErrLost is the cause of the end of work whose lease could not be kept.
var ErrLost = errors.New("lease: lost")

// releaseTimeout bounds giving a lease back.
const releaseTimeout = 5 * time.Second

// Config says which lease it is.
type Config struct {
	Name string
	// Owner names the replica, unique per start.
	Owner string
	// Time is how long a dead replica keeps the lease.
	Time time.Duration
}

// Lease is a lease as one replica sees it.
type Lease struct {
	cfg   Config
	store store.Leases
	clock clock.Clock
	log   *slog.Logger
}

// New returns a lease that is not held.
func New(cfg Config, s store.Leases, c clock.Clock, log *slog.Logger) *Lease {
	return &Lease{cfg: cfg, store: s, clock: c, log: log}
}

// Run does the work, side by side, whenever this replica holds the lease, until ctx
// ends. Each of work returns when its own context ends, which is as soon as the lease
// is lost; the lease is given up when all of it has.
func (l *Lease) Run(ctx context.Context, work ...func(context.Context)) {
	for ctx.Err() == nil {
		if _, err := l.Do(ctx, work...); err != nil && ctx.Err() == nil {
			l.log.Error("lease could not be taken", "lease", l.cfg.Name, "error", err)
		}
		_ = clock.Sleep(ctx, l.clock, l.cfg.Time/10)
	}
}

// Do does the work, once, if no other replica holds the lease, and reports whether it
// did.
func (l *Lease) Do(ctx context.Context, work ...func(context.Context)) (bool, error) {
	asked := l.clock.Now()
	held, err := l.acquire(ctx, l.cfg.Time/3)
	if err != nil || !held {
		return false, err
	}
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	var group sync.WaitGroup
	for _, w := range work {
		group.Go(func() { w(term) })
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	end(l.keep(term, asked, done))
	<-done
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := l.store.ReleaseLease(bounded, l.cfg.Name, l.cfg.Owner); err != nil {
		l.log.Warn("lease could not be given up", "lease", l.cfg.Name, "error", err)
	}
	return true, nil
}

func (l *Lease) acquire(ctx context.Context, within time.Duration) (bool, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return l.store.AcquireLease(bounded, l.cfg.Name, store.ClaimRequest{Owner: l.cfg.Owner, Lease: l.cfg.Time})
}

// keep renews the lease until the work is done. It returns [ErrLost] if it could not
// for two thirds of the lease's time, or if another replica has it.
func (l *Lease) keep(ctx context.Context, renewed time.Time, done <-chan struct{}) error {
	pause := l.cfg.Time / 3
	for {
		timer := l.clock.NewTimer(pause)
		select {
		case <-done:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		asked := l.clock.Now()
		left := renewed.Add(l.cfg.Time * 2 / 3).Sub(asked)
		held, err := l.acquire(ctx, min(left, l.cfg.Time/3))
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // ended from outside: what the last renewal came to is nobody's business
		case err == nil && held:
			renewed, pause = asked, l.cfg.Time/3
			continue
		}
		pause = l.cfg.Time / 10
		if err == nil || !l.clock.Now().Add(pause).Before(renewed.Add(l.cfg.Time*2/3)) {
			l.log.Warn("lease was lost", "lease", l.cfg.Name, "error", err)
			return ErrLost
		}
	}
}

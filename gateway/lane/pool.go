package lane

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/store"
)

// ErrShutdown is the cause of a turn's cancellation when the process stops and
// its grace is over.
var ErrShutdown = errors.New("lane: shutting down")

// ErrBusy means that a turn has to wait: its lane is handed back for a moment.
var ErrBusy = errors.New("lane: the turn has to wait")

// busyPause is how long it waits on average.
const busyPause = time.Second

// Config says how lanes are run.
type Config struct {
	// Owner names the replica, unique per process start.
	Owner string
	// Lease is how long a claim lasts unless renewed; it is renewed every third of it.
	Lease time.Duration
	// Workers bounds the turns that run at once.
	Workers int
	// Poll is how often due lanes are looked for without a nudge. Default: 250 ms.
	Poll time.Duration
	// Grace is how long running turns may take to end when the process stops.
	Grace time.Duration
	// Merge returns the rule for messages that waited together.
	Merge func() store.MergeRule
	// Only, when not empty, is the one session whose lane is claimed.
	Only string
}

// Handler runs one turn and commits it. It returns the claim if the commit kept
// the lane for the next message. An error means that nothing was committed: the
// lane is handed back after [store.ErrStopped], [ErrShutdown], [ErrBusy] and [store.ErrUnavailable];
// after any other one its lease runs out, and the attempt counts.
type Handler func(ctx context.Context, t *store.Turn) (kept *store.Claim, err error)

// Pool runs the lanes of one replica.
type Pool struct {
	cfg    Config
	lanes  store.Lanes
	clock  clock.Clock
	log    *slog.Logger
	handle Handler

	workers chan struct{}
	nudge   chan struct{}

	base   context.Context //nolint:containedctx // the lifetime of what it owns, not of a call
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	draining bool
	running  map[string]*run // by session key
	tasks    int             // lanes of tasks among them
	wg       sync.WaitGroup
}

// run is one claimed lane while it is worked on.
type run struct {
	claim     store.Claim
	inbounds  []string
	renewedAt time.Time
	cancel    context.CancelCauseFunc
	task      bool
}

// New returns a pool that is not running yet: [Pool.Reserve] and [Pool.Start]
// work at once, due lanes are claimed by [Pool.Run].
func New(cfg Config, lanes store.Lanes, c clock.Clock, log *slog.Logger, h Handler) *Pool {
	if cfg.Poll <= 0 {
		cfg.Poll = 250 * time.Millisecond
	}
	base, cancel := context.WithCancelCause(context.Background())
	return &Pool{
		cfg: cfg, lanes: lanes, clock: c, log: log, handle: h,
		workers: make(chan struct{}, cfg.Workers), nudge: make(chan struct{}, 1),
		base: base, cancel: cancel, running: map[string]*run{},
	}
}

// Reserve takes a worker if one is free. The caller gives it to [Pool.Start] or
// back with [Pool.Unreserve].
func (p *Pool) Reserve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining {
		return false
	}
	select {
	case p.workers <- struct{}{}:
		p.wg.Add(1)
		return true
	default:
		return false
	}
}

// Unreserve gives a reserved worker back.
func (p *Pool) Unreserve() {
	<-p.workers
	p.wg.Done()
}

// ClaimRequest is what a claim for this pool asks of the store.
func (p *Pool) ClaimRequest() store.ClaimRequest {
	return store.ClaimRequest{Owner: p.cfg.Owner, Lease: p.cfg.Lease}
}

// Start runs a lane that was claimed at claimedAt with a reserved worker. first
// is the turn it was claimed for; nil: the lane is asked.
func (p *Pool) Start(claim store.Claim, claimedAt time.Time, first *store.Turn) {
	ctx, cancel := context.WithCancelCause(p.base)
	r := &run{claim: claim, renewedAt: claimedAt, cancel: cancel, task: isTask(claim.SessionKey)}
	if first != nil {
		r.inbounds = ids(first)
	}
	p.mu.Lock()
	p.running[claim.SessionKey] = r
	if r.task {
		p.tasks++
	}
	p.mu.Unlock()
	go func() {
		defer p.Unreserve()
		defer p.ended(r)
		defer cancel(nil)
		p.work(ctx, r, first)
	}()
}

// work runs turns of one lane until it is empty, lost or handed back.
func (p *Pool) work(ctx context.Context, r *run, turn *store.Turn) {
	key := r.claim.SessionKey
	for {
		err := error(nil)
		if turn == nil {
			turn, err = p.lanes.BeginTurn(ctx, r.claim, p.cfg.Merge())
			if err == nil && turn == nil {
				p.forget(key, r)
				return
			}
		}
		var kept *store.Claim
		if err == nil {
			p.setInbounds(r, ids(turn))
			kept, err = p.safely(ctx, turn)
		}
		if err != nil {
			p.forget(key, r)
			p.handBack(ctx, r.claim, err)
			return
		}
		if kept == nil {
			p.forget(key, r)
			p.Nudge()
			return
		}
		p.mu.Lock()
		r.claim, r.inbounds, r.renewedAt = *kept, nil, p.clock.Now()
		p.mu.Unlock()
		turn = nil
	}
}

// safely contains a panic of the handler to its turn.
func (p *Pool) safely(ctx context.Context, t *store.Turn) (kept *store.Claim, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("turn panicked", "inbound", t.Inbounds[0].ID, "panic", panics.Value(v))
			err = errPanicked
		}
	}()
	return p.handle(ctx, t)
}

var errPanicked = errors.New("lane: turn panicked")

// handBack returns a lane whose turn did not commit, at once if it was ended from
// outside, a little later if the database is away; neither counts an attempt. While
// the database is away it is tried again. Any other cause may be the message's own
// fault: the attempt counts, and the lease is left to run out as if the process had
// died.
func (p *Pool) handBack(ctx context.Context, claim store.Claim, cause error) {
	if ended := context.Cause(ctx); ended != nil && !errors.Is(cause, store.ErrLeaseLost) && !errors.Is(cause, errPanicked) {
		cause = ended // the error follows from it
	}
	delay := time.Duration(0)
	switch {
	case errors.Is(cause, store.ErrLeaseLost):
		return
	case errors.Is(cause, store.ErrStopped), errors.Is(cause, ErrShutdown):
	case errors.Is(cause, ErrBusy):
		delay = busyPause/2 + rand.N(busyPause)
	case errors.Is(cause, store.ErrUnavailable):
		delay = time.Second
		p.log.Warn("turn handed back", "session", claim.SessionKey, "cause", cause)
	default:
		p.log.Error("turn failed, its attempt counts", "session", claim.SessionKey, "cause", cause)
		return
	}
	release := context.WithoutCancel(ctx)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		once, cancel := context.WithTimeout(release, p.cfg.Lease)
		err := p.lanes.ReleaseLane(once, claim, delay)
		cancel()
		if err == nil {
			p.NudgeAfter(delay)
			return
		}
		if !errors.Is(err, store.ErrUnavailable) || p.isDraining() {
			if !errors.Is(err, store.ErrLeaseLost) {
				p.log.Error("lane could not be released", "session", claim.SessionKey, "error", err)
			}
			return
		}
		if clock.Sleep(p.base, p.clock, wait) != nil {
			return
		}
	}
}

func (p *Pool) forget(key string, r *run) {
	p.mu.Lock()
	if p.running[key] == r {
		delete(p.running, key)
	}
	p.mu.Unlock()
}

func (p *Pool) setInbounds(r *run, ids []string) {
	p.mu.Lock()
	r.inbounds = ids
	p.mu.Unlock()
}

func ids(t *store.Turn) []string {
	out := make([]string, len(t.Inbounds))
	for i, in := range t.Inbounds {
		out[i] = in.ID
	}
	return out
}

// Stop cancels the local turns that run one of the messages, with cause [store.ErrStopped].
func (p *Pool) Stop(inboundIDs ...string) {
	if len(inboundIDs) == 0 {
		return
	}
	stop := make(map[string]bool, len(inboundIDs))
	for _, id := range inboundIDs {
		stop[id] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.running {
		for _, id := range r.inbounds {
			if stop[id] {
				r.cancel(store.ErrStopped)
			}
		}
	}
}

// Cut ends the grace of a pool that drains: the turns that still run are handed back.
func (p *Pool) Cut() { p.cancel(ErrShutdown) }

// Running is how many lanes are being worked on.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running)
}

// Keep is how long a commit may keep a lane whose next message waits: the lease,
// or nothing while the pool drains, or for a process that has only one message to
// wait for and ends then.
func (p *Pool) Keep() time.Duration {
	if p.cfg.Only != "" || p.isDraining() {
		return 0
	}
	return p.cfg.Lease
}

func (p *Pool) isDraining() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draining
}

package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/lane"
	"github.com/chatkeep/chatkeep/gateway/lease"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/gateway/live"
	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// Gateway is one replica at work.
type Gateway struct {
	cfg      Config
	store    store.Store
	clock    clock.Clock
	log      *slog.Logger
	crash    CrashPoint
	adapters map[accountID]adapters.Adapter

	settings atomic.Pointer[Settings]
	pool     *lane.Pool
	hub      *watch.Hub
	outbox   *deliverer
	tasks    *schedule.Runner
	jobs     *lifecycle.Runner
	leader   *lease.Lease // of what one replica does
	images   *http.Client // fetches pictures by their URLs; nil: nothing does
	taskTime schedule.Now // nil: the clock's

	background   *background
	told         told
	commandSlots chan struct{}
	counter      tokens.Counter
	compactor    *compact.Compactor
	summaries    *summaries
	summarySlots chan struct{}
	deferred     deferredCommands

	ready   atomic.Bool
	metrics *telemetry.Metrics // nil: nothing is counted
	tracer  *tracing.Tracer    // nil: nothing is traced
	live    *live.Feed
}

// accountID names one bot account of one channel.
type accountID struct{ channel, account string }

// CrashPoint is called at each point of the way of a message where a crash would
// be interesting; tests end the process there. Nil: nothing happens.
type CrashPoint func(point string)

// The crash points, in the order a message passes them.
const (
	CrashBeforeAccept  = "before_accept_commit"
	CrashAfterAccept   = "after_accept_commit"
	CrashInModelCall   = "mid_model_call"
	CrashBeforeTurn    = "before_turn_commit"
	CrashAfterTurn     = "after_turn_commit"
	CrashInDelivery    = "mid_delivery"
	CrashBeforeMarking = "before_marking_delivered"
)

// CrashPoints lists all of them.
func CrashPoints() []string {
	return []string{CrashBeforeAccept, CrashAfterAccept, CrashInModelCall, CrashBeforeTurn, CrashAfterTurn, CrashInDelivery, CrashBeforeMarking}
}

// maxCommands bounds the chat commands that run at once.
const maxCommands = 64

// Option changes how a gateway is made.
type Option func(*Gateway)

// WithCrashPoint sets what happens at crash points.
func WithCrashPoint(at CrashPoint) Option { return func(g *Gateway) { g.crash = at } }

// WithMetrics sets what counts the gateway's work.
func WithMetrics(m *telemetry.Metrics) Option { return func(g *Gateway) { g.metrics = m } }

// WithTracer sets what traces the gateway's work.
func WithTracer(t *tracing.Tracer) Option { return func(g *Gateway) { g.tracer = t } }

// WithDatabaseTime makes tasks come by the database's clock, which all replicas share,
// whatever this machine's says.
func WithDatabaseTime() Option {
	return func(g *Gateway) {
		g.taskTime = func(ctx context.Context) (time.Time, error) {
			now := g.now()
			ahead, err := g.store.ClockOffset(ctx, now)
			return now.Add(ahead), err
		}
	}
}

// New returns a gateway that accepts at once and works after [Gateway.Run].
func New(cfg Config, s Settings, st store.Store, channels []adapters.Adapter, c clock.Clock, log *slog.Logger, options ...Option) (*Gateway, error) {
	g := &Gateway{
		cfg: cfg, store: st, clock: c, log: log, crash: func(string) {},
		adapters: make(map[accountID]adapters.Adapter, len(channels)), commandSlots: make(chan struct{}, maxCommands),
	}
	g.background = newBackground(log)
	g.live = live.NewFeed(cfg.Owner, c)
	g.summaries, g.summarySlots = newSummaries(), make(chan struct{}, maxSummaries)
	g.deferred.held = map[string]context.CancelCauseFunc{}
	g.compactor = compact.New(summaryStore{st, g}, c, g.counter.AtLeast)
	for _, a := range channels {
		id := accountID{a.Channel(), a.Account()}
		if g.adapters[id] != nil {
			return nil, fmt.Errorf("new gateway: account %s/%s is there twice", id.channel, id.account)
		}
		g.adapters[id] = a
	}
	for _, o := range options {
		o(g)
	}
	g.settings.Store(&s)
	g.hub = watch.NewHub(st, c, log)
	g.pool = lane.New(lane.Config{
		Owner: cfg.Owner, Lease: cfg.Lease, Workers: cfg.Workers, Grace: cfg.Grace, Only: cfg.Only,
		Merge: func() store.MergeRule {
			q := g.settings.Load().Queue
			return store.MergeRule{Merge: q.Mode == Collect, Debounce: q.Debounce, Same: samePlace}
		},
	}, st, c, log, g.turn)
	g.outbox = newDeliverer(g)
	g.tasks = schedule.NewRunner(st, taskWork{g}, c, g.taskTime, log)
	g.jobs = g.newJobs(s.Lifecycle)
	g.leader = lease.New(lease.Config{Name: leaderName, Owner: cfg.Owner, Time: cfg.Lease}, st, c, log)
	return g, nil
}

// Reload replaces the settings for everything that is accepted or run from now on.
func (g *Gateway) Reload(s Settings) {
	g.settings.Store(&s)
	g.jobs.Reload(s.Lifecycle)
}

// Run works until ctx ends: adapters receive, lanes run, deliveries go out. Then
// it stops in order: intake, turns, commands, deliveries, all within the grace. It
// returns nil, when the grace is over even if something hangs.
func (g *Gateway) Run(ctx context.Context) error {
	intake, stopIntake := context.WithCancel(ctx)
	defer stopIntake()
	lanes, stopLanes := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLanes()
	late, stopLate := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLate()

	receivers, receiving := errgroup.WithContext(intake)
	for id, a := range g.adapters {
		if g.cfg.Only != "" {
			break // it sends and receives nothing
		}
		receivers.Go(func() error {
			var err error
			if !g.safely("channel "+id.channel, func() { err = a.Run(receiving, &sink{g: g, adapter: a}) }) {
				err = errAdapterPanicked
			}
			if err != nil && receiving.Err() == nil {
				// One account that an operator must mend does not silence the others.
				g.log.Error("channel stopped", "channel", id.channel, "account", id.account, "error", err)
			}
			return nil
		})
	}
	var work, tail sync.WaitGroup
	work.Go(func() { g.pool.Run(lanes) })
	tail.Go(func() { g.hub.Run(late) })
	tail.Go(func() { g.outbox.run(late) })
	tail.Go(func() { g.keepDeferred(late) })
	if g.cfg.Only == "" {
		tail.Go(func() { g.watchConnections(late) })
		tail.Go(func() { g.recoverCommands(late) })
		tail.Go(func() { g.tasks.Run(intake) })
		tail.Go(func() { g.leader.Run(intake, g.upkeep, g.jobs.Run, g.tasks.Lead) })
	}
	g.ready.Store(true)

	<-ctx.Done()
	g.ready.Store(false)
	defer g.live.Close() // whoever follows sees the end, too
	stop := g.beginShutdown()
	defer stop.cancel()
	stopIntake()
	stop.phase("channels", func() { _ = receivers.Wait() }) // every receiver returns nil
	stopLanes()
	stop.phase("turns", work.Wait)
	stop.phase("commands", g.background.stop) // before the senders: they have something to say
	stop.phase("deliveries", func() { g.outbox.flush(stop.sends) })
	stopLate()
	stop.phase("upkeep", tail.Wait)
	return nil
}

// Ready reports whether the gateway runs and does not drain.
func (g *Gateway) Ready() bool { return g.ready.Load() }

// Watch follows a message; close the watcher.
func (g *Gateway) Watch(inboundID string) *watch.Watcher { return g.hub.Watch(inboundID) }

// Live is where operators follow what happens here.
func (g *Gateway) Live() *live.Feed { return g.live }

// Adapters returns the accounts that are connected.
func (g *Gateway) Adapters() []adapters.Adapter {
	out := make([]adapters.Adapter, 0, len(g.adapters))
	for _, a := range g.adapters {
		out = append(out, a)
	}
	return out
}

// Running is how many turns run here.
func (g *Gateway) Running() int { return g.pool.Running() }

// now is the injected clock's time; everything but leases is measured by it.
func (g *Gateway) now() time.Time { return g.clock.Now() }

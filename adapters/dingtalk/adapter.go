package dingtalk

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
)

// remembered bounds what is kept in memory about deliveries and cards under way.
const remembered = 4096

// Adapter connects one robot. It is made by [New].
type Adapter struct {
	cfg       Config
	clock     clock.Clock
	log       *slog.Logger
	api       *client
	downloads *http.Client
	decoder   *decoder
	seal      *sealer
	outbox    *recent[outbox]
	cards     *cards
	signs     *signs

	lastEvent atomic.Int64
	state     state

	mu      sync.Mutex
	intake  *intake // nil unless running
	serving sync.WaitGroup
}

var (
	_ adapters.Adapter      = (*Adapter)(nil)
	_ adapters.Webhook      = (*Adapter)(nil)
	_ adapters.MediaFetcher = (*Adapter)(nil)
	_ adapters.WorkingSign  = (*Adapter)(nil)
	_ adapters.Streamer     = (*Adapter)(nil)
	_ adapters.Checker      = (*Adapter)(nil)
)

// New returns an adapter for one robot. It fails only on what [Config] holds.
func New(cfg Config, deps Deps) (*Adapter, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	seal, err := newSealer(cfg.ClientID, cfg.ClientSecret)
	if err != nil {
		return nil, err
	}
	if deps.Clock == nil {
		deps.Clock = clock.Real()
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.API == nil {
		deps.API = &http.Client{}
	}
	if deps.Downloads == nil {
		deps.Downloads = dial.New(dial.Policy{}).HTTPClient(0)
	}
	return &Adapter{
		cfg:       cfg,
		clock:     deps.Clock,
		log:       deps.Logger.With("channel", Channel, "account", cfg.Account),
		api:       newClient(cfg, deps.Clock, deps.API),
		downloads: deps.Downloads,
		decoder:   &decoder{robotCode: cfg.RobotCode, seal: seal},
		seal:      seal,
		outbox:    newRecent[outbox](remembered),
		cards:     newCards(deps.Clock, cfg.Timing.CardPace),
		signs:     &signs{clock: deps.Clock},
	}, nil
}

// Channel returns "dingtalk".
func (a *Adapter) Channel() string { return Channel }

// Account returns the configured name of the robot.
func (a *Adapter) Account() string { return a.cfg.Account }

// Traits tells that sending is not idempotent and that messages come in order.
func (a *Adapter) Traits() adapters.Traits { return adapters.Traits{Streams: a.cfg.streams()} }

// Run receives until ctx ends. Whatever the platform answers, refused credentials
// included, it tries again: most of it is mended in the platform's console.
func (a *Adapter) Run(ctx context.Context, sink adapters.Sink) error {
	in := &intake{
		decoder: a.decoder, sink: sink, clock: a.clock, log: a.log,
		patience: a.cfg.Timing.Accept, last: &a.lastEvent,
	}
	a.setIntake(in)
	if a.cfg.Mode == ModeWebhook {
		a.state.connected(a.clock.Now())
		<-ctx.Done()
		a.setIntake(nil)
		a.serving.Wait()
		a.state.disconnected()
		return nil
	}
	newStream(a.cfg, a.clock, a.log, a.api, in, &a.state).run(ctx)
	a.setIntake(nil)
	return nil
}

func (a *Adapter) setIntake(in *intake) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.intake = in
}

// enter returns the running intake and keeps Run from returning until leave; nil
// if nothing is received.
func (a *Adapter) enter() *intake {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.intake != nil {
		a.serving.Add(1)
	}
	return a.intake
}

func (a *Adapter) leave() { a.serving.Done() }

// Status tells how the connection is; a used-up quota counts as an error.
func (a *Adapter) Status() adapters.Status {
	s := a.state.status()
	s.Mode = string(a.cfg.Mode)
	if ms := a.lastEvent.Load(); ms > 0 {
		s.LastEventAt = time.UnixMilli(ms).UTC()
	}
	if err := a.api.quota.state(); err != nil && s.Error == "" {
		s.Error = clip(err.Error(), 300)
	}
	return s
}

// state is how the connections are.
type state struct {
	mu    sync.Mutex
	open  int
	since time.Time
	err   error
}

func (s *state) connected(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.since, s.err = now, nil
}

func (s *state) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

func (s *state) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *state) status() adapters.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out adapters.Status
	if s.open > 0 {
		out.Connected, out.ConnectedAt = true, s.since.UTC()
	}
	if s.err != nil {
		out.Error = clip(s.err.Error(), 300)
	}
	return out
}

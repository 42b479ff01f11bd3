package feishu

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// Facts about the platform.
const (
	// idempotencyWindow is how long a uuid is recognised:
	// https://open.feishu.cn/document/server-docs/im-v1/message/create.
	idempotencyWindow = time.Hour
	// orderWindow covers what the SDK shuffles: it handles each frame in a goroutine of its own.
	orderWindow = 30 * time.Millisecond
)

// How long the start waits for the bot's own identity, and how often it is asked for again.
const (
	identityAtStart  = 3 * time.Second
	identityRetry    = 5 * time.Second
	identityRetryMax = time.Minute
)

// Adapter is one app. It implements [adapters.Adapter] and every optional
// interface of package adapters.
type Adapter struct {
	cfg   Config
	clock clock.Clock
	log   *slog.Logger
	http  *http.Client
	fetch *http.Client // nil: URLs are not fetched
	api   *api
	chats *cache[chatInfo]
	names *cache[string]
	// reached is told that the platform answers again.
	reached chan struct{}
	// self is the bot's open_id, nil while unknown.
	self     atomic.Pointer[string]
	intake   intake
	previews *lru.Cache[string, *liveCard]

	mu     sync.Mutex
	status adapters.Status
}

var (
	_ adapters.Adapter      = (*Adapter)(nil)
	_ adapters.Webhook      = (*Adapter)(nil)
	_ adapters.Enricher     = (*Adapter)(nil)
	_ adapters.MediaFetcher = (*Adapter)(nil)
	_ adapters.WorkingSign  = (*Adapter)(nil)
	_ adapters.Streamer     = (*Adapter)(nil)
	_ adapters.Checker      = (*Adapter)(nil)
)

// New returns an adapter that is not running yet. It fails on a configuration
// that cannot work and calls nobody.
func New(cfg Config, deps Deps) (*Adapter, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("feishu account %q: %w", cfg.Account, err)
	}
	if deps.Clock == nil {
		deps.Clock = clock.Real()
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.HTTP == nil {
		deps.HTTP = &http.Client{}
	}
	previews, err := lru.New[string, *liveCard](cacheEntries)
	if err != nil {
		return nil, err
	}
	log := deps.Logger.With("channel", Channel, "account", cfg.Account)
	a := &Adapter{
		cfg:      cfg,
		clock:    deps.Clock,
		log:      log,
		http:     deps.HTTP,
		fetch:    deps.Fetch,
		api:      newAPI(cfg, deps.Clock, deps.HTTP, log),
		intake:   intake{slots: make(chan struct{}, intakeSlots)},
		previews: previews,
		status:   adapters.Status{Mode: string(cfg.Mode)},
		reached:  make(chan struct{}, 1),
	}
	a.chats = newCache(a.clock, a.api.chat)
	a.names = newCache(a.clock, a.personName)
	a.api.exhausted = a.quotaExhausted
	return a, nil
}

// Channel returns "feishu".
func (a *Adapter) Channel() string { return Channel }

// Account returns the account's name.
func (a *Adapter) Account() string { return a.cfg.Account }

// Traits returns the platform's facts.
func (a *Adapter) Traits() adapters.Traits {
	return adapters.Traits{IdempotencyWindow: idempotencyWindow, OrderWindow: orderWindow, Streams: a.cfg.Chat.Streaming}
}

// Status tells how the connection is.
func (a *Adapter) Status() adapters.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := a.status
	if status.Connected && a.self.Load() == nil {
		status.Error = "the bot's own id is not known yet: mentions in groups are not answered"
	}
	return status
}

// Run receives until ctx ends. It fails only if it is running already.
func (a *Adapter) Run(ctx context.Context, sink adapters.Sink) error {
	if err := a.intake.open(sink); err != nil {
		return fmt.Errorf("feishu account %q: %w", a.cfg.Account, err)
	}
	defer a.intake.close()
	defer a.disconnected(nil)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !a.learnIdentity(ctx, identityAtStart) {
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		go func() {
			defer close(done)
			a.keepLearningIdentity(ctx)
		}()
	}
	if a.cfg.Mode == ModeWebhook {
		a.connected()
		<-ctx.Done()
		return nil
	}
	newLongConn(a).run(ctx)
	return nil
}

// learnIdentity asks who the bot is. While that is unknown no message in a group
// counts as addressed to it.
func (a *Adapter) learnIdentity(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	bot, err := a.api.bot(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.log.WarnContext(ctx, "the bot's own id is unknown: mentions in groups are not recognised yet", "error", err)
		}
		return false
	}
	a.self.Store(&bot.OpenID)
	return true
}

func (a *Adapter) keepLearningIdentity(ctx context.Context) {
	for wait := identityRetry; ; wait = min(2*wait, identityRetryMax) {
		timer := a.clock.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-timer.C:
		case <-a.reached:
			wait = identityRetry
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || a.learnIdentity(ctx, requestTimeout) {
			return
		}
	}
}

// selfID returns the bot's open_id, "" while unknown.
func (a *Adapter) selfID() string { return str(a.self.Load()) }

func (a *Adapter) connected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Connected, a.status.ConnectedAt, a.status.Error = true, a.clock.Now(), ""
	select {
	case a.reached <- struct{}{}: // the platform answers: ask again who the bot is
	default:
	}
}

// disconnected notes the end of the connection; err says why, nil for an end as asked.
func (a *Adapter) disconnected(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Connected, a.status.ConnectedAt, a.status.Error = false, time.Time{}, ""
	if err != nil {
		a.status.Error = clip(err.Error(), 300)
	}
}

func (a *Adapter) sawEvent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.LastEventAt = a.clock.Now()
}

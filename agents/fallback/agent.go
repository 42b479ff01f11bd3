package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

const (
	// An agent that failed twice in a row is left out, and tried again by a single
	// turn after a second, then after ever longer up to half a minute.
	deadAfter = 2
	firstHold = time.Second
	maxHold   = 30 * time.Second
)

// ErrNone is the cause when every agent was left out or failed.
var ErrNone = errors.New("fallback: no agent answered")

// Config bounds a turn.
type Config struct {
	// Timeout bounds the whole turn. Default 120 s.
	Timeout time.Duration
	// Patience is how long an agent may show no sign of life while others stand by;
	// the last one has all the time that is left. Default: an equal share of Timeout.
	Patience time.Duration
}

// Member is one agent of the row.
type Member struct {
	ID    string
	Agent agents.Agent
}

// Agent tries its members in order. It is safe for concurrent use.
type Agent struct {
	cfg     Config
	clock   clock.Clock
	members []member
}

type member struct {
	Member
	breaker *provider.Breaker
}

var _ agents.Agent = (*Agent)(nil)

// New returns an agent over members, best first; there must be at least one.
func New(cfg Config, c clock.Clock, members ...Member) (*Agent, error) {
	if len(members) == 0 {
		return nil, errors.New("fallback: no agents")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Minute
	}
	if cfg.Patience <= 0 {
		cfg.Patience = cfg.Timeout / time.Duration(len(members))
	}
	a := &Agent{cfg: cfg, clock: c}
	for _, m := range members {
		a.members = append(a.members, member{m, provider.NewBreaker(c, deadAfter, firstHold, maxHold)})
	}
	return a, nil
}

// Respond returns the first answer. It goes on to the next member when one fails
// as [agents.Transient], [agents.Auth] or [agents.Timeout], and not when the
// request itself is at fault. A request's Model belongs to the first member alone.
// The error is that of the first member which was asked.
func (a *Agent) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
	defer cancel()
	screen := provider.NewScreen(emit, true)
	var first error
	var spent models.Usage // by those that failed
	for i, m := range a.members {
		if wait := m.breaker.Admit(); wait > 0 {
			continue
		}
		screen.Void()
		response, err := a.try(ctx, i, req, screen, emit)
		spent = spent.Add(agents.UsageOf(err))
		if ctx.Err() != nil && err != nil {
			return nil, agents.WithUsage(provider.ContextError(ctx), spent)
		}
		if err == nil {
			m.breaker.Succeeded()
			if response.Usage != (models.Usage{}) { // else it is estimated
				response.Usage = response.Usage.Add(spent)
			}
			return response, nil
		}
		if !providerFailed(err) {
			m.breaker.Succeeded()
			return nil, agents.WithUsage(err, spent)
		}
		m.breaker.Failed()
		slog.WarnContext(ctx, "agent failed, trying the next", "agent", m.ID, "kind", agents.KindOf(err), "error", err)
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = &agents.Error{Kind: agents.Transient, RetryAfter: firstHold, Err: fmt.Errorf("%w: %w", ErrNone, provider.ErrOpen)}
	}
	return nil, agents.WithUsage(first, spent)
}

// providerFailed reports whether another provider may do better.
func providerFailed(err error) bool {
	var failure *agents.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Kind {
	case agents.Transient, agents.Auth, agents.Timeout:
		return true
	default:
		return false
	}
}

// errSilent is why a member that showed no sign of life was given up.
var errSilent = errors.New("fallback: no sign of life")

// try asks one member. While others stand by, its first event must come in time.
func (a *Agent) try(ctx context.Context, i int, req *agents.Request, screen *provider.Screen, emit func(agents.Event)) (*agents.Response, error) {
	if i > 0 && req.Model != "" {
		other := *req
		other.Model = ""
		req = &other
	}
	alive := func() {}
	if i < len(a.members)-1 {
		var stop func()
		ctx, alive, stop = a.watch(ctx)
		defer stop()
	}
	response, err := a.members[i].Agent.Respond(ctx, req, func(e agents.Event) {
		alive()
		switch {
		case e.Restart:
			screen.Void()
		case e.Tool != nil:
			emit(e)
		default:
			screen.Show(e.Delta)
		}
	})
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return nil, &agents.Error{Kind: agents.Timeout, Err: errSilent, Usage: agents.UsageOf(err)}
	}
	return response, err
}

// watch cancels the context it returns unless alive is called within the patience.
func (a *Agent) watch(ctx context.Context) (watched context.Context, alive, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	timer := a.clock.NewTimer(a.cfg.Patience)
	seen := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(errSilent)
		case <-seen:
		case <-watched.Done():
		}
	}()
	var once bool
	alive = func() {
		if !once {
			once = true
			close(seen)
		}
	}
	stop = func() {
		cancel(nil)
		<-ended
	}
	return watched, alive, stop
}

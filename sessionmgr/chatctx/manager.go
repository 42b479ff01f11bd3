package chatctx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// ErrNoContextManager is returned where a context carries no [ContextManager].
var ErrNoContextManager = errors.New("no context manager in the context")

// ContextManager knows the agents and what is active. It keeps nothing of a
// request that has ended. It is safe for concurrent use.
type ContextManager struct {
	clock clock.Clock

	mu     sync.Mutex
	agents map[string]*AgentContext
	active map[*RequestContext]Active
}

// Active describes a running request.
type Active struct {
	RequestID  string
	SessionKey string
	AgentID    string
	UserID     string
	StartTime  time.Time
	// Age is how long it had been running when it was listed.
	Age time.Duration
}

// Stats counts what is active.
type Stats struct {
	ActiveRequests int
	// ActiveSessions and ActiveAgents count each session and agent once, however
	// many of its requests are running.
	ActiveSessions int
	ActiveAgents   int
}

// Option changes a [ContextManager].
type Option func(*ContextManager)

// WithClock sets the clock by which ages are told. Deadlines keep to the real one.
func WithClock(c clock.Clock) Option { return func(m *ContextManager) { m.clock = c } }

// NewContextManager returns a registry without agents.
func NewContextManager(opts ...Option) *ContextManager {
	m := &ContextManager{clock: clock.Real(), agents: map[string]*AgentContext{}, active: map[*RequestContext]Active{}}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

// RegisterAgent makes an agent known, or replaces the one with its id. Each
// request works on a copy.
func (m *ContextManager) RegisterAgent(a *AgentContext) error {
	if a == nil || a.AgentID == "" {
		return fmt.Errorf("register agent: %w: no id", ErrInvalid)
	}
	clone := a.Clone()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents[clone.AgentID] = clone
	return nil
}

// UnregisterAgent forgets an agent; requests that run with it go on.
func (m *ContextManager) UnregisterAgent(agentID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.agents, agentID)
}

// RunInFullContext runs fn in a context that carries request, session and agent,
// and that ends at the request's deadline, by a cancel, or when fn returns. A nil
// request stands for one with defaults. An agent that is not registered is an
// [ErrUnknownAgent], a request that is running already an [ErrInvalid]; fn does
// not run then.
func (m *ContextManager) RunInFullContext(ctx context.Context, request *RequestContext, sessionKey, agentID string, fn func(context.Context) error) error {
	if request == nil {
		request = &RequestContext{}
	}
	agent, err := m.agent(agentID)
	if err != nil {
		return err
	}
	request.begin(m.clock)
	if err := m.enter(request, sessionKey, agentID); err != nil {
		return err
	}
	defer m.leave(request)
	ctx = withRequest(ctx, request, m.clock)
	defer request.Cancel(nil)
	ctx = WithAgent(WithSessionKey(WithContextManager(ctx, m), sessionKey), agent)
	return fn(ctx)
}

// RunInFullContext is the method of the [ContextManager] that ctx carries, or an
// [ErrNoContextManager].
func RunInFullContext(ctx context.Context, request *RequestContext, sessionKey, agentID string, fn func(context.Context) error) error {
	m, ok := ContextManagerFromContext(ctx)
	if !ok {
		return fmt.Errorf("run in full context: %w", ErrNoContextManager)
	}
	return m.RunInFullContext(ctx, request, sessionKey, agentID, fn)
}

func (m *ContextManager) agent(id string) (*AgentContext, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, known := m.agents[id]
	if !known {
		return nil, fmt.Errorf("run in full context: %w: %q", ErrUnknownAgent, id)
	}
	return a.Clone(), nil
}

func (m *ContextManager) enter(r *RequestContext, sessionKey, agentID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, running := m.active[r]; running {
		return fmt.Errorf("run in full context: %w: request %s is running", ErrInvalid, r.RequestID)
	}
	m.active[r] = Active{RequestID: r.RequestID, SessionKey: sessionKey, AgentID: agentID, UserID: r.UserID, StartTime: r.StartTime}
	return nil
}

func (m *ContextManager) leave(r *RequestContext) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.active, r)
}

// Stats counts what is active now.
func (m *ContextManager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	sessions, agents := map[string]struct{}{}, map[string]struct{}{}
	for _, a := range m.active {
		if a.SessionKey != "" {
			sessions[a.SessionKey] = struct{}{}
		}
		agents[a.AgentID] = struct{}{}
	}
	return Stats{ActiveRequests: len(m.active), ActiveSessions: len(sessions), ActiveAgents: len(agents)}
}

// List describes what is active, oldest first.
func (m *ContextManager) List() []Active {
	now := m.clock.Now()
	m.mu.Lock()
	list := make([]Active, 0, len(m.active))
	for _, a := range m.active {
		a.Age = now.Sub(a.StartTime)
		list = append(list, a)
	}
	m.mu.Unlock()
	slices.SortFunc(list, func(a, b Active) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.RequestID, b.RequestID))
	})
	return list
}

// Cancel ends the requests with the id and reports whether there was one.
func (m *ContextManager) Cancel(requestID string, cause error) bool {
	return m.cancel(cause, func(a Active) bool { return a.RequestID == requestID }) > 0
}

// CancelSession ends all requests of a session and returns how many there were.
func (m *ContextManager) CancelSession(sessionKey string, cause error) int {
	return m.cancel(cause, func(a Active) bool { return a.SessionKey == sessionKey })
}

func (m *ContextManager) cancel(cause error, match func(Active) bool) int {
	m.mu.Lock()
	var requests []*RequestContext
	for r, a := range m.active {
		if match(a) {
			requests = append(requests, r)
		}
	}
	m.mu.Unlock()
	for _, r := range requests {
		r.Cancel(cause)
	}
	return len(requests)
}

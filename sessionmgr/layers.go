package sessionmgr

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
)

type (
	// RequestContext is the request layer; see package chatctx, as for all of these.
	RequestContext = chatctx.RequestContext
	// AgentContext is the agent layer.
	AgentContext = chatctx.AgentContext
	// Tool is something an agent may call.
	Tool = chatctx.Tool
	// ContextManager knows the agents and what is active.
	ContextManager = chatctx.ContextManager
	// ContextStats counts what is active.
	ContextStats = chatctx.Stats
	// ActiveContext describes a running request.
	ActiveContext = chatctx.Active
)

// ErrUnknownAgent is returned by [RunInFullContext].
var ErrUnknownAgent = chatctx.ErrUnknownAgent

// NewContextManager returns a registry of agents and of what is active.
func NewContextManager(opts ...chatctx.Option) *ContextManager {
	return chatctx.NewContextManager(opts...)
}

// WithContextManager returns a context in which m is the registry.
func WithContextManager(ctx context.Context, m *ContextManager) context.Context {
	return chatctx.WithContextManager(ctx, m)
}

// ContextManagerFromContext returns the registry that ctx carries.
func ContextManagerFromContext(ctx context.Context) (*ContextManager, bool) {
	return chatctx.ContextManagerFromContext(ctx)
}

// WithRequest returns a context that belongs to r and ends at its deadline or
// when it is cancelled.
func WithRequest(ctx context.Context, r *RequestContext) context.Context {
	return chatctx.WithRequest(ctx, r)
}

// RequestFromContext returns the request that ctx belongs to.
func RequestFromContext(ctx context.Context) (*RequestContext, bool) {
	return chatctx.RequestFromContext(ctx)
}

// WithAgent returns a context in which a is the agent.
func WithAgent(ctx context.Context, a *AgentContext) context.Context {
	return chatctx.WithAgent(ctx, a)
}

// AgentFromContext returns the agent that works in ctx.
func AgentFromContext(ctx context.Context) (*AgentContext, bool) {
	return chatctx.AgentFromContext(ctx)
}

// RunInFullContext runs fn with request, session and agent in its context, under
// the [ContextManager] that ctx carries. An agent unknown to it is an
// [ErrUnknownAgent]. With a [SessionManager] in ctx the session itself is in the
// context too, if it exists.
func RunInFullContext(ctx context.Context, request *RequestContext, sessionKey, agentID string, fn func(context.Context) error) error {
	return chatctx.RunInFullContext(ctx, request, sessionKey, agentID, func(ctx context.Context) error {
		mgr, ok := SessionManagerFromContext(ctx)
		if !ok || sessionKey == "" {
			return fn(ctx)
		}
		session, err := mgr.Get(ctx, sessionKey)
		switch {
		case errors.Is(err, ErrSessionNotFound):
			return fn(ctx)
		case err != nil:
			return fmt.Errorf("run in full context: %w", err)
		}
		return fn(WithSession(ctx, session))
	})
}

package chatctx

import "context"

type (
	requestKey        struct{}
	agentKey          struct{}
	sessionKeyKey     struct{}
	contextManagerKey struct{}
)

// RequestFromContext returns the request that ctx belongs to.
func RequestFromContext(ctx context.Context) (*RequestContext, bool) {
	r, ok := ctx.Value(requestKey{}).(*RequestContext)
	return r, ok
}

// WithAgent returns a context in which a is the agent. A nil agent hides an outer one.
func WithAgent(ctx context.Context, a *AgentContext) context.Context {
	return context.WithValue(ctx, agentKey{}, a)
}

// AgentFromContext returns the agent that works in ctx.
func AgentFromContext(ctx context.Context) (*AgentContext, bool) {
	a, _ := ctx.Value(agentKey{}).(*AgentContext)
	return a, a != nil
}

// WithSessionKey returns a context that belongs to the session with the key.
func WithSessionKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, sessionKeyKey{}, key)
}

// SessionKeyFromContext returns the key of the session that ctx belongs to.
func SessionKeyFromContext(ctx context.Context) (string, bool) {
	key, _ := ctx.Value(sessionKeyKey{}).(string)
	return key, key != ""
}

// WithContextManager returns a context in which m is the registry.
func WithContextManager(ctx context.Context, m *ContextManager) context.Context {
	return context.WithValue(ctx, contextManagerKey{}, m)
}

// ContextManagerFromContext returns the registry that ctx carries.
func ContextManagerFromContext(ctx context.Context) (*ContextManager, bool) {
	m, _ := ctx.Value(contextManagerKey{}).(*ContextManager)
	return m, m != nil
}

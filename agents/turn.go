package agents

import "context"

type inboundIDKey struct{}

// WithInboundID returns a context of the turn that answers the message with the id.
func WithInboundID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, inboundIDKey{}, id)
}

// InboundIDFromContext returns the id of the message that the turn of ctx answers: a
// tool knows from here alone for whom it is called.
func InboundIDFromContext(ctx context.Context) (string, bool) {
	id, _ := ctx.Value(inboundIDKey{}).(string)
	return id, id != ""
}

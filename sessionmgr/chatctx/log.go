package chatctx

import (
	"context"
	"log/slog"
)

// Attributes that [NewLogHandler] adds.
const (
	LogRequestID = "request_id"
	LogTraceID   = "trace_id"
	LogSession   = "session"
	LogAgent     = "agent"
)

type logHandler struct{ slog.Handler }

// NewLogHandler returns a handler that adds the ids that a record's context
// carries: request, trace, session and agent.
func NewLogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

// Handle adds the ids and passes the record on.
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if attrs := logAttrs(ctx); len(attrs) > 0 {
		record = record.Clone()
		record.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs keeps the wrapping.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapping.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}

func logAttrs(ctx context.Context) []slog.Attr {
	var attrs []slog.Attr
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	if r, ok := RequestFromContext(ctx); ok {
		add(LogRequestID, r.RequestID)
		add(LogTraceID, r.TraceID)
	}
	if key, ok := SessionKeyFromContext(ctx); ok {
		add(LogSession, key)
	}
	if a, ok := AgentFromContext(ctx); ok {
		add(LogAgent, a.AgentID)
	}
	return attrs
}

package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	// Header is the HTTP header that a place in a trace travels in: W3C Trace Context.
	Header = "Traceparent"
	// field is what the propagator calls it.
	field = "traceparent"
)

// carrier is a header of its own. The other one, tracestate, is not carried: it may be
// long, and hold anything.
type carrier string

// Get is part of [propagation.TextMapCarrier].
func (c *carrier) Get(key string) string {
	if key == field {
		return string(*c)
	}
	return ""
}

// Set is part of [propagation.TextMapCarrier].
func (c *carrier) Set(key, value string) {
	if key == field {
		*c = carrier(value)
	}
}

// Keys is part of [propagation.TextMapCarrier].
func (*carrier) Keys() []string { return []string{field} }

// Carried is the place in a trace that ctx is at, as a traceparent; empty: it is at none.
func Carried(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	var c carrier
	propagation.TraceContext{}.Inject(ctx, &c)
	return string(c)
}

// Continue returns ctx at the place that a traceparent names; ctx itself if it names none.
func Continue(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	c := carrier(traceparent)
	return propagation.TraceContext{}.Extract(ctx, &c)
}

// Inject lets a request to somewhere else continue the trace of ctx.
func Inject(ctx context.Context, h http.Header) {
	if at := Carried(ctx); at != "" {
		h.Set(Header, at)
	}
}

// ID is the id of the trace that ctx is in; empty: it is in none.
func ID(ctx context.Context) string {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		return at.TraceID().String()
	}
	return ""
}

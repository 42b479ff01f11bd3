package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is a stretch of work. The zero value notes nothing.
type Span struct{ span trace.Span }

// Child begins a span within the one that ctx is in, and none if it is in none. End it.
func Child(ctx context.Context, name string) (context.Context, Span) {
	return child(ctx, name, trace.SpanKindInternal)
}

// Call is Child for a call of something outside.
func Call(ctx context.Context, name string) (context.Context, Span) {
	return child(ctx, name, trace.SpanKindClient)
}

func child(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind)) //nolint:spancheck // the caller ends it
	return ctx, Span{span}                                                                        //nolint:spancheck // as above
}

// On reports whether the span is to be seen by anybody.
func (s Span) On() bool { return s.span != nil && s.span.IsRecording() }

// Link names the place in another trace that the work belongs to as well.
func (s Span) Link(traceparent string) {
	if at := trace.SpanContextFromContext(Continue(context.Background(), traceparent)); s.span != nil && at.IsValid() {
		s.span.AddLink(trace.Link{SpanContext: at})
	}
}

// Note adds an id, a name, a state or a code. Empty ones are left out.
func (s Span) Note(key, value string) {
	if s.span != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Count adds a number.
func (s Span) Count(key string, n int) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int(key, n))
	}
}

// Fail marks the work as failed, with a code.
func (s Span) Fail(code string) {
	if s.span != nil {
		s.span.SetStatus(codes.Error, code)
	}
}

// End ends the span; what is added later is lost. A panic that passes leaves nothing in
// it, as it would in one of OpenTelemetry's whose End is deferred: it may quote a message.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	// scope names the spans' maker.
	scope = "github.com/chatkeep/chatkeep"
	// exportTimeout bounds the sending of one batch.
	exportTimeout = 10 * time.Second
	// closeTimeout bounds the sending of what is left when the program ends.
	closeTimeout = 2 * time.Second
)

// Config says where spans go and whose they are.
type Config struct {
	// Endpoint is the URL of an OTLP/HTTP receiver, such as http://localhost:4318.
	Endpoint string
	Version  string
	// Replica names the process, unique per start.
	Replica string
}

// Tracer begins spans. They wait in a bounded queue to be sent: what a collector does
// not take in time is dropped, and nobody waits for it.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	client   *client
}

// New returns a tracer that sends from now on. Close it.
func New(cfg Config, log *slog.Logger) (*Tracer, error) {
	c, err := newClient(cfg.Endpoint, log)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(otlptrace.NewUnstarted(c), sdktrace.WithExportTimeout(exportTimeout)),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "chatkeep"),
			attribute.String("service.version", cfg.Version),
			attribute.String("service.instance.id", cfg.Replica),
		)),
	)
	return &Tracer{provider, provider.Tracer(scope), c}, nil
}

// Close sends what is left, for two seconds at most.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the client has told what went wrong
	t.client.close()
}

// Start begins a span at the place in a trace that ctx is at, or else a trace. End it.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, Span) {
	return t.start(ctx, name, trace.SpanKindInternal)
}

// Serve is Start for answering a request.
func (t *Tracer) Serve(ctx context.Context, name string) (context.Context, Span) {
	return t.start(ctx, name, trace.SpanKindServer)
}

// Send is Start for a call of something outside.
func (t *Tracer) Send(ctx context.Context, name string) (context.Context, Span) {
	return t.start(ctx, name, trace.SpanKindClient)
}

func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind)) //nolint:spancheck // the caller ends it
	return ctx, Span{span}                                           //nolint:spancheck // as above
}

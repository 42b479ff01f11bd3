package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/internal/tracing/tracingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is a traceparent as somebody sends it.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	caller      = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func start(t *testing.T, endpoint string) (*tracing.Tracer, *syncBuffer) {
	t.Helper()
	log := &syncBuffer{}
	tracer, err := tracing.New(tracing.Config{Endpoint: endpoint, Version: "1.2.3", Replica: "replica_1"}, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return tracer, log
}

func receiver(t *testing.T) *tracingtest.Receiver {
	t.Helper()
	r := tracingtest.New()
	t.Cleanup(r.Close)
	return r
}

func TestSpansContinueTheCallersTrace(t *testing.T) {
	r := receiver(t)
	tracer, _ := start(t, r.URL())
	ctx, served := tracer.Serve(tracing.Continue(t.Context(), caller), "GET /somewhere")
	stored := tracing.Carried(ctx)
	if tracing.ID(ctx) != callerTrace {
		t.Errorf("the trace is %s", tracing.ID(ctx))
	}
	served.End()
	// Later, on another replica: all that is left is what was stored.
	ctx, turn := tracer.Start(tracing.Continue(context.Background(), stored), "turn")
	inner, call := tracing.Call(ctx, "model")
	header := http.Header{}
	tracing.Inject(inner, header)
	call.Note("chatkeep.agent", "assistant")
	call.Note("chatkeep.empty", "")
	call.Count("chatkeep.round", 2)
	call.Fail("timeout")
	call.End()
	turn.End()
	tracer.Close()

	if problems := r.Problems(); len(problems) > 0 {
		t.Errorf("the receiver says: %v", problems)
	}
	byName := map[string]tracingtest.Span{}
	for _, s := range r.Spans() {
		byName[s.Name] = s
		if s.Trace != callerTrace || s.Service != "chatkeep" {
			t.Errorf("span %+v is of another trace or service", s)
		}
	}
	if len(byName) != 3 {
		t.Fatalf("spans %+v", byName)
	}
	first, second, third := byName["GET /somewhere"], byName["turn"], byName["model"]
	if first.Parent != callerSpan || second.Parent != first.ID || third.Parent != second.ID {
		t.Errorf("the spans do not follow each other: %+v", byName)
	}
	if got := header.Get("Traceparent"); got != "00-"+callerTrace+"-"+third.ID+"-01" {
		t.Errorf("traceparent sent on: %q", got)
	}
	if !third.Failed || third.Status != "timeout" || third.Attributes["chatkeep.agent"] != "assistant" || third.Attributes["chatkeep.round"] != "2" {
		t.Errorf("model: %+v", third)
	}
	if _, there := third.Attributes["chatkeep.empty"]; there {
		t.Error("an empty attribute is there")
	}
	if !bytes.Contains(r.Raw(), []byte("replica_1")) || !bytes.Contains(r.Raw(), []byte("1.2.3")) {
		t.Error("the resource names neither replica nor version")
	}
}

// TestUnsampled lets the caller decide, and passes its decision on.
func TestUnsampled(t *testing.T) {
	r := receiver(t)
	tracer, _ := start(t, r.URL())
	ctx, span := tracer.Serve(tracing.Continue(t.Context(), strings.TrimSuffix(caller, "1")+"0"), "GET /")
	if at := tracing.Carried(ctx); !strings.HasPrefix(at, "00-"+callerTrace) || !strings.HasSuffix(at, "-00") {
		t.Errorf("carried on: %q", at)
	}
	if inner, _ := tracing.Child(ctx, "inner"); inner != ctx {
		t.Error("a span was begun in a trace that is not recorded")
	}
	span.End()
	tracer.Close()
	if got := r.Spans(); len(got) > 0 {
		t.Errorf("received %+v", got)
	}
}

// TestPanicsAreNotRecorded ends a span while a panic passes that quotes a message.
func TestPanicsAreNotRecorded(t *testing.T) {
	r := receiver(t)
	tracer, _ := start(t, r.URL())
	func() {
		defer func() { _ = recover() }()
		_, span := tracer.Start(t.Context(), "turn")
		defer span.End()
		panic("c4n4ry")
	}()
	tracer.Close()
	if len(r.Find("turn")) != 1 || bytes.Contains(r.Raw(), []byte("c4n4ry")) {
		t.Errorf("received %q", r.Raw())
	}
}

func TestWithoutTracer(t *testing.T) {
	var tracer *tracing.Tracer
	ctx, span := tracer.Start(t.Context(), "turn")
	if ctx != t.Context() {
		t.Error("a context was made for nothing")
	}
	span.Note("a", "b")
	span.Count("a", 1)
	span.Fail("code")
	span.End()
	tracer.Close()
	if tracing.Carried(ctx) != "" || tracing.ID(ctx) != "" {
		t.Error("there is a trace without a tracer")
	}
	// What a caller sent is passed on all the same.
	header := http.Header{}
	tracing.Inject(tracing.Continue(ctx, caller), header)
	if header.Get("Traceparent") != caller {
		t.Errorf("traceparent %q, want the caller's own", header.Get("Traceparent"))
	}
	for _, wrong := range []string{"", "nonsense", "00-0-0-01", strings.Repeat("0", 55)} {
		if got := tracing.Carried(tracing.Continue(ctx, wrong)); got != "" {
			t.Errorf("%q led to %q", wrong, got)
		}
	}
}

func TestDeadCollectorIsToldOfOnce(t *testing.T) {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	tracer, log := start(t, "http://user:s3cr3t@"+address+"/?key=s3cr3t")
	began := time.Now()
	for range 10_000 {
		_, span := tracer.Start(t.Context(), "turn")
		span.End()
	}
	tracer.Close()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if got := log.String(); strings.Count(got, "traces cannot be sent") != 1 || strings.Contains(got, "s3cr3t") {
		t.Errorf("log:\n%s", got)
	}
}

// TestHangingCollector answers nothing: nobody waits for it but Close, and that not long.
func TestHangingCollector(t *testing.T) {
	r := receiver(t)
	r.Hang()
	tracer, _ := start(t, r.URL())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 { // five times what the queue holds
			_, span := tracer.Start(context.Background(), "turn")
			span.End()
		}
		tracer.Close()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second): // Close itself takes two
		t.Fatal("a collector that hangs holds the program back")
	}
	// What was under way ends with the program, long before its own time is over.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for r.GivenUp() == 0 {
		if clock.Sleep(ctx, clock.Real(), 5*time.Millisecond) != nil {
			t.Fatal("a request goes on after Close")
		}
	}
}

func TestRefusingCollector(t *testing.T) {
	r := receiver(t)
	r.Answer(http.StatusUnauthorized)
	tracer, log := start(t, r.URL()+"/v1/traces")
	_, span := tracer.Start(t.Context(), "turn")
	span.End()
	tracer.Close()
	if !strings.Contains(log.String(), "the collector answered 401") || len(r.Problems()) > 0 {
		t.Errorf("problems %v, log:\n%s", r.Problems(), log.String())
	}
}

func TestWrongEndpoint(t *testing.T) {
	_, err := tracing.New(tracing.Config{Endpoint: "http://us er:s3cr3t@host"}, slog.New(slog.DiscardHandler))
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkOff is what a span costs without a tracer.
func BenchmarkOff(b *testing.B) {
	var tracer *tracing.Tracer
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		at, span := tracer.Start(tracing.Continue(ctx, ""), "turn")
		span.Note("chatkeep.session", "agent:a:channel:b")
		_, inner := tracing.Child(at, "model")
		inner.Count("chatkeep.round", 1)
		inner.End()
		_ = tracing.Carried(at)
		span.End()
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestPassing: only those who are named learn of the trace, and nobody's request is changed.
func TestPassing(t *testing.T) {
	sent := ""
	to := tracing.Passing(transport(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get(tracing.Header)
		return nil, errors.New("as far as it goes")
	}), []string{"LLM.internal", "::1"})
	for url, want := range map[string]string{
		"http://llm.internal/v1": caller, "https://llm.INTERNAL.:8443/v1": caller, "http://[::1]:9000/mcp": caller,
		"https://api.example/v1": "", "http://llm.internal.example/v1": "", "http://sub.llm.internal/v1": "", "http://llm.internal@evil.example/": "",
	} {
		request, err := http.NewRequestWithContext(tracing.Continue(t.Context(), caller), http.MethodPost, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		sent = ""
		_, _ = to.RoundTrip(request)
		if sent != want || request.Header.Get(tracing.Header) != "" {
			t.Errorf("%s got %q, want %q", url, sent, want)
		}
		untraced := request.WithContext(t.Context())
		sent = ""
		_, _ = to.RoundTrip(untraced)
		if sent != "" {
			t.Errorf("without a trace %s got %q", url, sent)
		}
	}
}

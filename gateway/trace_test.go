package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/agents/webhook"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/internal/tracing/tracingtest"
	"github.com/chatkeep/chatkeep/models"
)

// A place in a trace, as somebody who calls the gateway sends it.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	caller      = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// traced is a collector, with a tracer that sends to it.
func traced(t *testing.T) (*tracingtest.Receiver, *tracing.Tracer) {
	t.Helper()
	receiver := tracingtest.New()
	t.Cleanup(receiver.Close)
	return receiver, tracerTo(t, receiver)
}

func tracerTo(t *testing.T, r *tracingtest.Receiver) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.New(tracing.Config{Endpoint: r.URL(), Version: "test", Replica: "replica"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	return tracer
}

// sayAt is say, at a place in a trace.
func (r *rig) sayAt(traceparent, id, text string) {
	r.t.Helper()
	in := &gateway.Incoming{Channel: r.platform.Channel(), Account: r.platform.Account(), Message: said(id, "lin", text)}
	if _, err := r.gateway.Accept(tracing.Continue(context.Background(), traceparent), in); err != nil {
		r.t.Fatal(err)
	}
}

// one is the only span of a name.
func one(t *testing.T, r *tracingtest.Receiver, name string) tracingtest.Span {
	t.Helper()
	all := r.Find(name)
	if len(all) != 1 {
		t.Fatalf("%d spans %q among %+v", len(all), name, r.Spans())
	}
	return all[0]
}

// TestTrace follows a message from whoever sent it to the platform, with what is said,
// called, found and answered being secret.
func TestTrace(t *testing.T) {
	receiver, tracer := traced(t)
	r := newToolRig(t, 0, 5*time.Second, function{"find", func() agents.ToolResult { return agents.ToolResult{Text: "c4n4ry found", IsError: true} }})
	r.options = append(r.options, gateway.WithTracer(tracer))
	r.provider.Script(agenttest.Call(agenttest.ReplyCall{ID: "c1", Name: "find", Arguments: `{"what":"c4n4ry"}`}), agenttest.Say("c4n4ry it is"))
	r.start()
	r.sayAt(caller, "m1", "look for c4n4ry")
	in := r.ends("m1", models.InboundDone)
	r.delivered()
	r.until("the turn is told of", func() bool { return r.gateway.Running() == 0 })
	tracer.Close()

	accept, turn, commit, tool := one(t, receiver, "accept"), one(t, receiver, "turn"), one(t, receiver, "commit"), one(t, receiver, "tool")
	delivery := one(t, receiver, "delivery")
	parents := map[string]string{
		accept.Parent: callerSpan, turn.Parent: accept.ID, commit.Parent: turn.ID, tool.Parent: turn.ID, delivery.Parent: turn.ID,
	}
	for got, want := range parents {
		if got != want {
			t.Errorf("a span's parent is %s, want %s: %+v", got, want, receiver.Spans())
		}
	}
	rounds := receiver.Find("model")
	if len(rounds) != 2 || rounds[0].Parent != turn.ID || rounds[0].Attributes["chatkeep.tool_calls"] != "1" {
		t.Errorf("calls of the model: %+v", rounds)
	}
	for _, s := range receiver.Spans() {
		if s.Trace != callerTrace {
			t.Errorf("%s is of another trace", s.Name)
		}
	}
	if turn.Attributes["chatkeep.inbound"] != in.ID || turn.Attributes["chatkeep.session"] != in.SessionKey || turn.Attributes["chatkeep.state"] != "done" || turn.Failed {
		t.Errorf("turn: %+v", turn)
	}
	if !tool.Failed || tool.Attributes["chatkeep.tool"] != "find" || delivery.Attributes["chatkeep.state"] != "delivered" {
		t.Errorf("tool %+v, delivery %+v", tool, delivery)
	}
	if bytes.Contains(receiver.Raw(), []byte("c4n4ry")) {
		t.Errorf("a span holds what was said: %q", receiver.Raw())
	}
}

// TestTraceGoesOnElsewhere lets another replica run what one has accepted.
func TestTraceGoesOnElsewhere(t *testing.T) {
	receiver, tracer := traced(t)
	r := newRig(t)
	r.config.Workers = 0 // it only accepts
	r.options = []gateway.Option{gateway.WithTracer(tracer)}
	r.make()
	r.sayAt(caller, "m1", "hello")
	tracer.Close()

	r.config.Owner, r.config.Workers = "another replica", 4
	later := tracerTo(t, receiver)
	r.options = []gateway.Option{gateway.WithTracer(later)}
	r.start()
	r.ends("m1", models.InboundDone)
	r.delivered()
	r.until("the turn is told of", func() bool { return r.gateway.Running() == 0 })
	later.Close()
	accept, turn, delivery := one(t, receiver, "accept"), one(t, receiver, "turn"), one(t, receiver, "delivery")
	if turn.Trace != callerTrace || turn.Parent != accept.ID || delivery.Trace != callerTrace || delivery.Parent != turn.ID {
		t.Errorf("accept %+v, turn %+v, delivery %+v", accept, turn, delivery)
	}
}

// TestTraceOfADeliveryThatWaits sends by what is stored alone.
func TestTraceOfADeliveryThatWaits(t *testing.T) {
	receiver, tracer := traced(t)
	r := newRig(t)
	r.options = []gateway.Option{gateway.WithTracer(tracer)}
	r.start()
	ctx := tracing.Continue(context.Background(), caller)
	if _, err := r.gateway.Push(ctx, gateway.Push{Channel: r.platform.Channel(), Account: r.platform.Account(), Target: models.Target{ChatID: "group"}, Text: "c4n4ry"}); err != nil {
		t.Fatal(err)
	}
	r.delivered()
	tracer.Close()
	if delivery := one(t, receiver, "delivery"); delivery.Trace != callerTrace || delivery.Parent != callerSpan || bytes.Contains(receiver.Raw(), []byte("c4n4ry")) {
		t.Errorf("delivery %+v", delivery)
	}
}

// TestTracesOfFailures hold a code, and nothing that an error quotes.
func TestTracesOfFailures(t *testing.T) {
	receiver, tracer := traced(t)
	r := newRig(t)
	r.options = []gateway.Option{gateway.WithTracer(tracer)}
	r.start()
	r.mind.does(func(_ context.Context, req *agents.Request) (*agents.Response, error) {
		if strings.Contains(req.Text, "panic") {
			panic("c4n4ry " + req.Text)
		}
		return nil, &agents.Error{Kind: agents.Permanent, Err: errors.New("c4n4ry " + req.Text)}
	})
	r.sayAt("", "m1", "fail")
	r.ends("m1", models.InboundFailed)
	r.sayAt("", "m2", "panic")
	r.ends("m2", models.InboundFailed)
	r.sayAt("", "m3", "/whoami c4n4ry")
	r.ends("m3", models.InboundDone)
	r.delivered()
	r.until("the turns are told of", func() bool { return r.gateway.Running() == 0 })
	tracer.Close()
	turns := receiver.Find("turn")
	if len(turns) != 2 || !turns[0].Failed || turns[0].Status != string(models.CodeAgentFailed) || turns[0].Trace == turns[1].Trace {
		t.Errorf("turns: %+v", turns)
	}
	if command := one(t, receiver, "command"); command.Failed || command.Attributes["chatkeep.command"] != "whoami" {
		t.Errorf("command: %+v", command)
	}
	if bytes.Contains(receiver.Raw(), []byte("c4n4ry")) {
		t.Errorf("a span holds what an error quotes: %q", receiver.Raw())
	}
}

// heardHeaders is a service of the user's that answers, and notes traceparent.
type heardHeaders struct {
	mu  sync.Mutex
	all []string
}

func (h *heardHeaders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.all = append(h.all, r.Header.Get("Traceparent"))
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"content": "hello"})
}

// TestTraceparentOfAWebhookAgent is the caller's own while nothing is traced here, and
// that of the call otherwise.
func TestTraceparentOfAWebhookAgent(t *testing.T) {
	for _, on := range []bool{false, true} {
		receiver, tracer := traced(t)
		r := newRig(t)
		service := &heardHeaders{}
		server := httptest.NewServer(service)
		t.Cleanup(server.Close)
		agent, err := webhook.New(webhook.Config{URL: server.URL, Secret: "s3cr3t"}, server.Client(), clock.Real())
		if err != nil {
			t.Fatal(err)
		}
		r.settings.Agents["assistant"] = gateway.Agent{ID: "assistant", Agent: agent, Timeout: 30 * time.Second}
		if on {
			r.options = []gateway.Option{gateway.WithTracer(tracer)}
		}
		r.start()
		r.sayAt(caller, "m1", "hello")
		r.ends("m1", models.InboundDone)
		r.until("the turn is told of", func() bool { return r.gateway.Running() == 0 })
		tracer.Close()
		want := caller
		if on {
			want = "00-" + callerTrace + "-" + one(t, receiver, "model").ID + "-01"
		}
		if len(service.all) != 1 || service.all[0] != want {
			t.Errorf("traced %v: traceparent %q, want %q", on, service.all, want)
		}
	}
}

// TestModelProvidersLearnNothing of traces: who asks what in which one is none of their business.
func TestModelProvidersLearnNothing(t *testing.T) {
	_, tracer := traced(t)
	r := newRig(t)
	provider, service := agenttest.NewServer(agenttest.ServerOptions{}), &heardHeaders{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		service.mu.Lock()
		service.all = append(service.all, req.Header.Get("Traceparent"))
		service.mu.Unlock()
		provider.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	agent, err := openai.New(openai.Config{BaseURL: server.URL + "/v1", Model: "test-model", RetryBudget: -1}, server.Client(), clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	r.settings.Agents["assistant"] = gateway.Agent{ID: "assistant", Agent: agent, Timeout: 30 * time.Second}
	r.options = []gateway.Option{gateway.WithTracer(tracer)}
	r.start()
	r.sayAt(caller, "m1", "hello")
	r.ends("m1", models.InboundDone)
	if len(service.all) != 1 || service.all[0] != "" {
		t.Errorf("a provider got %q", service.all)
	}
}

// TestHangingCollectorHoldsNothingUp answers everybody before it takes a single span.
func TestHangingCollectorHoldsNothingUp(t *testing.T) {
	receiver, tracer := traced(t)
	receiver.Hang()
	r := newRig(t)
	r.options = []gateway.Option{gateway.WithTracer(tracer)}
	r.start()
	for i := range 200 {
		_, span := tracer.Start(context.Background(), "filler") // fills the queue
		span.End()
		if i%40 == 0 {
			r.sayAt("", "m"+string(rune('a'+i/40)), "hello")
		}
	}
	for i := range 5 {
		r.ends("m"+string(rune('a'+i)), models.InboundDone)
	}
	r.delivered()
	if got := receiver.Spans(); len(got) > 0 {
		t.Errorf("received %+v", got)
	}
}

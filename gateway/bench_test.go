package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/internal/tracing/tracingtest"
	"github.com/chatkeep/chatkeep/store/memstore"
)

// BenchmarkMessage takes a message from its arrival to its outcome, with an agent that
// answers at once and a store in memory: what is left is the gateway's own work.
func BenchmarkMessage(b *testing.B) {
	for _, mode := range []string{"off", "traced"} {
		b.Run(mode, func(b *testing.B) {
			var tracer *tracing.Tracer
			if mode == "traced" {
				receiver := tracingtest.New()
				defer receiver.Close()
				var err error
				if tracer, err = tracing.New(tracing.Config{Endpoint: receiver.URL()}, slog.New(slog.DiscardHandler)); err != nil {
					b.Fatal(err)
				}
				defer tracer.Close()
			}
			message(b, tracer)
		})
	}
}

func message(b *testing.B, tracer *tracing.Tracer) {
	b.Helper()
	st := memstore.New()
	defer st.Close()
	p := newPlatform()
	p.traits.Streams = false
	settings := gateway.Settings{
		Agents: map[string]gateway.Agent{"assistant": {ID: "assistant", Agent: newMind(), Timeout: time.Minute}},
		Queue:  gateway.Queue{Mode: gateway.Followup}, MaxMessages: 10, MaxTokens: 10_000, Location: time.UTC,
		Chat: func(string, string, string) (gateway.ChatSettings, bool) {
			return gateway.ChatSettings{Agent: "assistant", Access: access.Policy{Direct: access.Open, Groups: access.Open}}, true
		},
	}
	g, err := gateway.New(gateway.Config{Owner: "replica", Lease: time.Minute, Workers: 4, Grace: time.Second}, settings, st,
		[]adapters.Adapter{p}, clock.Real(), slog.New(slog.DiscardHandler), gateway.WithTracer(tracer))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		id := fmt.Sprint("inb_", n)
		w := g.Watch(id)
		m := said(fmt.Sprint("m", n), fmt.Sprint("user", n), "hello")
		m.Chat = adapters.Chat{ID: m.Sender.ID, Type: adapters.Direct}
		if _, err := g.Accept(ctx, &gateway.Incoming{ID: id, Channel: p.Channel(), Account: p.Account(), Message: m}); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Wait(ctx); err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

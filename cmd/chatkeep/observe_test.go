package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/internal/tracing/tracingtest"
)

// TestObservedUntilTheEnd follows a server that is stopped: the events end in order, and
// what was traced until then is with the collector.
func TestObservedUntilTheEnd(t *testing.T) {
	receiver := tracingtest.New()
	t.Cleanup(receiver.Close)
	p := newPlace(t, "server: {shutdownGrace: 20s}\n")
	server, url := p.serve("CHATKEEP_TRACING_ENDPOINT=" + receiver.URL())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/admin/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	lines := bufio.NewReader(events.Body)
	if first, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(first, ":") {
		t.Fatalf("the events begin with %q, %v", first, err)
	}
	if said := say(t, url, "lin", "", "c4n4ry"); said.status != http.StatusOK {
		t.Fatalf("said: %+v", said)
	}
	server.signal(syscall.SIGTERM)
	rest, err := io.ReadAll(lines)
	if err != nil || !bytes.Contains(rest, []byte("event: turn.finished")) || bytes.Contains(rest, []byte("c4n4ry")) {
		t.Errorf("%v; the events were:\n%s", err, rest)
	}
	if code := server.wait(); code != exitDone || strings.Contains(server.err.String(), "connections were cut") {
		t.Errorf("serve: exit %d: %s", code, server.err.String())
	}
	if len(receiver.Find("turn")) != 1 || len(receiver.Find("POST /v1/chat")) != 1 || len(receiver.Problems()) > 0 {
		t.Errorf("spans %+v, problems %v", receiver.Spans(), receiver.Problems())
	}
	if bytes.Contains(receiver.Raw(), []byte("c4n4ry")) {
		t.Error("a span holds what was said")
	}
}

// TestTraceIsPassedOnWhereAllowed follows a caller's trace to a model and a tool's server,
// and to neither where no host is named.
func TestTraceIsPassedOnWhereAllowed(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for passTo, want := range map[string]bool{"127.0.0.1": true, "elsewhere.example": false} {
		t.Run(passTo, func(t *testing.T) {
			var mu sync.Mutex
			got := map[string]string{}
			heard := func(name string, h http.Handler) string {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if at := r.Header.Get("Traceparent"); at != "" {
						mu.Lock()
						got[name] = at
						mu.Unlock()
					}
					h.ServeHTTP(w, r)
				}))
				t.Cleanup(func() {
					server.CloseClientConnections()
					server.Close()
				})
				return server.URL
			}
			model := agenttest.NewServer(agenttest.ServerOptions{})
			model.Script(agenttest.Call(agenttest.ReplyCall{ID: "c1", Name: "web__add", Arguments: `{"a":2,"b":3}`}), agenttest.Say("5"))
			p := newPlace(t, fmt.Sprintf("agents: [{id: assistant, kind: openai, baseUrl: %q, apiKey: k, model: m, tools: [web]}]\nmcpServers: [{name: web, url: %q}]\ntracing: {passTo: [%s]}\n",
				heard("model", model)+"/v1", heard("tool", mcptest.Handler((&mcptest.Server{}).MCP(), time.Minute)), passTo))
			server, url := p.serve()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat", strings.NewReader(`{"userId":"lin","text":"2+3?"}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"5"`)) {
				t.Fatalf("%v, status %d: %s", err, answer.StatusCode, body)
			}
			server.signal(syscall.SIGTERM)
			server.wait()
			for _, name := range []string{"model", "tool"} {
				if has := strings.Contains(got[name], trace); has != want {
					t.Errorf("the %s got %q", name, got[name])
				}
			}
		})
	}
}

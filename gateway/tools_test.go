package gateway_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/mcp"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// toolRig is a rig whose agent is a model before a strict provider, with the tools
// of a server on streamable HTTP, and more.
type toolRig struct {
	*rig

	provider *agenttest.Server
	web      *httptest.Server
	// local is a server of tools on standard input and output; no agent uses it yet.
	local agents.Toolset
}

// garbledResponse is a response of a server that writes what no library would.
type garbledResponse struct{ http.ResponseWriter }

func (g garbledResponse) Write(p []byte) (int, error) { return garbler{g.ResponseWriter}.Write(p) }

// Flush is needed for streams.
func (g garbledResponse) Flush() { g.ResponseWriter.(http.Flusher).Flush() }

func newToolRig(t *testing.T, window int, toolTime time.Duration, more ...agents.Tool) *toolRig {
	t.Helper()
	r := &toolRig{rig: newRig(t)}
	r.chat.Streaming, r.chat.WorkingSign = false, false
	r.config.Lease = time.Minute // a turn that is taken over asks the model once more

	forget := make(chan struct{})
	handler := mcptest.Handler((&mcptest.Server{Forget: forget}).MCP(), time.Minute)
	r.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(garbledResponse{w}, req)
	}))
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	manager := mcp.New([]mcp.Server{
		{Name: "web", URL: r.web.URL}, {Name: "local", Command: []string{os.Args[0]}, Env: map[string]string{actAs: "tools"}},
	}, client, clock.Real(), slog.New(slog.DiscardHandler))
	r.local = manager.Toolset([]string{"local"})
	t.Cleanup(func() {
		close(forget)
		manager.Close()
		r.web.CloseClientConnections()
		r.web.Close()
		transport.CloseIdleConnections()
	})

	r.provider = agenttest.NewServer(agenttest.ServerOptions{RequireReasoning: true, ContextWindow: window})
	agent, err := openai.New(openai.Config{
		BaseURL: r.provider.Start(t), Model: "test-model", RetryBudget: -1,
		MaxToolRounds: 3, ToolTimeout: toolTime, MaxToolResultBytes: 2000,
	}, client, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	r.settings.Agents["assistant"] = gateway.Agent{
		ID: "assistant", Agent: agent, SystemPrompt: "You help.", Timeout: 60 * time.Second, ContextWindow: window,
		Tools: both{manager.Toolset([]string{"web"}), fixed(more)},
	}
	return r
}

type both []agents.Toolset

func (b both) Tools(ctx context.Context) ([]agents.Tool, error) {
	var out []agents.Tool
	for _, set := range b {
		tools, err := set.Tools(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, tools...)
	}
	return out, nil
}

type fixed []agents.Tool

func (f fixed) Tools(context.Context) ([]agents.Tool, error) { return f, nil }

// function is a tool in this process.
type function struct {
	name string
	call func() agents.ToolResult
}

func (f function) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: f.name, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (f function) Call(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
	return f.call(), nil
}

// whisper is a message in the direct chat of a user of its own.
func whisper(id, user, text string) *adapters.Message {
	m := said(id, user, text)
	m.Chat = adapters.Chat{ID: "direct-" + user, Type: adapters.Direct}
	return m
}

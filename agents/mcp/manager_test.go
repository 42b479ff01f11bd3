package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// Both kinds of servers behave the same.
func TestCalls(t *testing.T) {
	keys := make(chan string, 100)
	remote := &mcptest.Server{Called: func(c mcptest.Call) { keys <- c.Meta(KeyMeta) }}
	m, log := manage(t, Server{Name: "web", URL: serve(t, remote)}, Server{Name: "local", Command: command("server")})
	for _, server := range []string{"web", "local"} {
		for name, tc := range map[string]struct {
			args, want string
			isError    bool
		}{
			"echo":     {args: `{"text":"héllo 世界"}`, want: "héllo 世界"},
			"add":      {args: `{"a":2,"b":40}`, want: `{"sum":42}`},
			"sound":    {args: `{}`, want: "[audio: audio/wav, 4 bytes]"},
			"document": {args: `{}`, want: "[resource: file:///a.txt, a, text/plain]\n[resource: file:///b.txt, text/plain]\ninside b\n[resource: file:///c.bin, application/zip, 2 bytes]"},
			"fail":     {args: `{"text":"x"}`, want: "it went wrong: x", isError: true},
			"picture":  {args: `{}`},
		} {
			got := call(t, find(t, m, server, server+"__"+name), tc.args)
			if got.Text != tc.want || got.IsError != tc.isError {
				t.Errorf("%s %s: %+v, want %q", server, name, got, tc.want)
			}
			if name == "picture" && !slices.Equal(got.Images, []string{"data:image/png;base64,iVBORw=="}) {
				t.Errorf("%s: images %q", server, got.Images)
			}
			if server == "web" {
				if key := <-keys; key != "key" {
					t.Errorf("%s got the key %q", name, key)
				}
			}
		}
	}
	eventually(t, "the server's own words in the log", func() bool {
		return strings.Contains(log.String(), "server starts") && strings.Contains(log.String(), "Welcome to the server")
	})
}

func TestToolset(t *testing.T) {
	m, log := manage(t, Server{Name: "a", URL: serve(t, &mcptest.Server{})}, Server{Name: "b", URL: serve(t, &mcptest.Server{})})
	tools, err := m.Toolset([]string{"b__echo", "a", "a__echo", "c", "a"}).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		spec := tool.Spec()
		names = append(names, spec.Name)
		var parameters struct{ Type string }
		if json.Unmarshal(spec.Parameters, &parameters) != nil || parameters.Type != "object" || spec.Description == "" {
			t.Errorf("spec %+v", spec)
		}
	}
	if len(names) != 12 || names[0] != "b__echo" || slices.Contains(names[1:], "b__echo") || !slices.Contains(names, "a__add") {
		t.Errorf("tools %q", names)
	}
	if !strings.Contains(log.String(), "tool=c") {
		t.Error("the log does not tell of the unknown name")
	}
}

func TestNothingStartsBeforeItIsNeeded(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { hits.Add(1); w.WriteHeader(http.StatusNotFound) }))
	defer server.Close()
	m, _ := manage(t, Server{Name: "a", URL: server.URL}, Server{Name: "b", Command: []string{"/nowhere/at/all"}})
	m.Toolset([]string{"a", "b"})
	m.Close()
	if hits.Load() != 0 {
		t.Error("the server was asked")
	}
}

func TestListChanges(t *testing.T) {
	server := (&mcptest.Server{}).MCP()
	web := httptest.NewServer(mcptest.Handler(server, time.Minute))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	m, _ := manage(t, Server{Name: "a", URL: web.URL})
	find(t, m, "a", "a__echo")
	server.AddTool(&mcp.Tool{Name: "fresh", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	server.RemoveTools("echo")
	eventually(t, "the new list", func() bool {
		tools, _ := m.Toolset([]string{"a"}).Tools(t.Context())
		has := func(name string) bool {
			return slices.ContainsFunc(tools, func(t agents.Tool) bool { return t.Spec().Name == name })
		}
		return has("a__fresh") && !has("a__echo")
	})
}

// A server that cannot be had has no tools, quickly, and the log says why.
func TestAbsentServers(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	m, log := manage(t,
		Server{Name: "missing", Command: []string{"/nowhere/at/all"}},
		Server{Name: "exits", Command: []string{"false"}},
		Server{Name: "refuses", URL: refusing.URL + "/?token=s3cret"},
		Server{Name: "closed", URL: "http://127.0.0.1:1/"},
		Server{Name: "here", URL: serve(t, &mcptest.Server{})},
	)
	c := clock.Real()
	began := c.Now()
	tools, err := m.Toolset([]string{"missing", "exits", "refuses", "closed", "here"}).Tools(t.Context())
	if err != nil || len(tools) != 11 {
		t.Errorf("%d tools, %v; want those of the server that is here", len(tools), err)
	}
	if took := c.Now().Sub(began); took > startWait+time.Second {
		t.Errorf("took %s", took)
	}
	for _, name := range []string{"missing", "exits", "refuses", "closed"} {
		eventually(t, name+" in the log", func() bool { return strings.Contains(log.String(), "server="+name) })
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log has the secret:\n%s", log)
	}
}

// A slow server costs a turn a few seconds, or what the turn has, and its tools.
func TestSlowServer(t *testing.T) {
	m, log := manage(t, Server{Name: "slow", Command: command("mute")})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	tools, err := m.Toolset([]string{"slow"}).Tools(ctx)
	if err != nil || len(tools) != 0 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	if !strings.Contains(log.String(), "slow to start") {
		t.Errorf("log: %s", log)
	}
}

func TestUnknownToolIsTheServersRefusal(t *testing.T) {
	m, _ := manage(t, Server{Name: "a", URL: serve(t, &mcptest.Server{})})
	gone := *find(t, m, "a", "a__echo").(*tool)
	gone.remote = "gone"
	_, err := gone.Call(t.Context(), []byte(`{}`), "key")
	if err == nil || errors.Is(err, errAbsent) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
)

// withTools is newPlace with an agent that asks the model and has tools.
func withTools(t *testing.T, model *agenttest.Server, tools, url string) *place {
	t.Helper()
	return newPlace(t, fmt.Sprintf("agents: [{id: assistant, kind: openai, baseUrl: %q, apiKey: k, model: m, tools: [%s]}]\nmcpServers: [{name: web, url: %q}]\n",
		model.Start(t), tools, url))
}

func toolServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(mcptest.Handler((&mcptest.Server{}).MCP(), time.Minute))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// A turn from the terminal uses built-in tools and those of a server, and the next
// one still knows their results.
func TestRunUsesTools(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Call(
		agenttest.ReplyCall{ID: "c1", Name: "time", Arguments: `{"zone":"Asia/Shanghai"}`},
		agenttest.ReplyCall{ID: "c2", Name: "web__add", Arguments: `{"a":2,"b":3}`},
	), agenttest.Say("It is late, and 5."))
	p := withTools(t, model, "time, web", toolServer(t).URL)
	p.ask("When, and how much?").wants(t, exitDone, "It is late, and 5.\n", "")
	p.ask("Thanks").wants(t, exitDone, "Thanks\n", "")
	for i, request := range model.Requests()[1:] {
		results := ""
		for _, m := range request.Messages {
			if m.Role == "tool" {
				results += m.Text() + "\n"
			}
		}
		if !strings.Contains(results, `"zone":"Asia/Shanghai"`) || !strings.HasSuffix(results, "{\"sum\":5}\n") {
			t.Errorf("request %d has the results %q", i+2, results)
		}
	}
	for _, refused := range model.Rejections() {
		t.Errorf("the provider refused a request: %s", refused.Message)
	}
}

// An address that the configuration names may be private; one that a server
// redirects to may not. The turn then goes without the tools.
func TestToolServerMayNotRedirectInside(t *testing.T) {
	inside := toolServer(t)
	reached := 0
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
	}))
	defer outside.Close()
	model := agenttest.NewServer(agenttest.ServerOptions{})
	withTools(t, model, "web", outside.URL).ask("hello").wants(t, exitDone, "hello\n", "")
	if reached == 0 || len(model.Requests()) != 1 || len(model.Requests()[0].Tools) != 0 {
		t.Errorf("%d requests to the server, %d tools offered", reached, len(model.Requests()[0].Tools))
	}
}

func TestToolsThatDoNotWorkYet(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	withTools(t, model, "time, remember", "http://127.0.0.1:1/").ask("hello").wants(t, exitFailed, "", "the built-in tool remember does not work yet")
}

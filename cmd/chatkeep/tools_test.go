package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/builtin"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/config"
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

func TestEveryBuiltinToolMayBeNamed(t *testing.T) {
	if got, want := config.BuiltinTools(), builtin.Names(); !slices.Equal(got, want) {
		t.Errorf("the configuration knows %v, there are %v", got, want)
	}
}

// A model finds what was said in its own session, and in no other.
func TestHistorySearchTool(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withTools(t, model, "history_search, send_to_chat", "http://127.0.0.1:1/")
	p.ask("--session", "a", "the word is 旗鱼").wants(t, exitDone, "the word is 旗鱼\n", "")
	p.ask("--session", "b", "the other word is 旗鱼丸").wants(t, exitDone, "the other word is 旗鱼丸\n", "")
	model.Script(agenttest.Call(
		agenttest.ReplyCall{ID: "1", Name: "history_search", Arguments: `{"words":"旗鱼 WORD"}`},
		agenttest.ReplyCall{ID: "2", Name: "history_search", Arguments: `{"words":"鱼","limit":1}`},
		agenttest.ReplyCall{ID: "3", Name: "history_search", Arguments: `{"words":"旗鱼丸"}`},
		agenttest.ReplyCall{ID: "4", Name: "history_search", Arguments: `{"words":"  "}`},
		agenttest.ReplyCall{ID: "5", Name: "history_search", Arguments: `{"words":"x","session":"b"}`},
		agenttest.ReplyCall{ID: "6", Name: "send_to_chat", Arguments: `{"text":"hello"}`},
	), agenttest.Say("ok"))
	p.ask("--session", "a", "find it").wants(t, exitDone, "ok\n", "")
	requests := model.Requests()
	messages := requests[len(requests)-1].Messages
	for i, want := range []string{
		"you: the word is 旗鱼\n", "There may be more", "No earlier message has all of these words.", "look for one to 10 words",
		"do not fit the tool's schema", "there is no chat to send to",
	} {
		got := messages[len(messages)-6+i].Text()
		if !strings.Contains(got, want) || strings.Contains(got, "other") {
			t.Errorf("call %d: %q, want %q", i+1, got, want)
		}
	}
}

// What a model keeps in one turn, the session's very first among them, it finds in
// another, and another session does not.
func TestNotebookTools(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withTools(t, model, "remember, recall, plan", "http://127.0.0.1:1/")
	use := func(session string, calls ...agenttest.ReplyCall) []string {
		t.Helper()
		model.Script(agenttest.Call(calls...), agenttest.Say("ok"))
		p.ask("--session", session, "go on").wants(t, exitDone, "ok\n", "")
		requests := model.Requests()
		messages := requests[len(requests)-1].Messages
		var results []string
		for _, m := range messages[len(messages)-len(calls):] {
			results = append(results, m.Text())
		}
		return results
	}
	use("a",
		agenttest.ReplyCall{ID: "1", Name: "remember", Arguments: `{"key":"tea","text":"Green, no sugar"}`},
		agenttest.ReplyCall{ID: "2", Name: "remember", Arguments: `{"text":"Meets on Mondays"}`},
		agenttest.ReplyCall{ID: "3", Name: "plan", Arguments: `{"text":"# Plan\n1. brew"}`},
		agenttest.ReplyCall{ID: "4", Name: "plan", Arguments: `{"file":"../x","text":"y"}`},
	)
	got := use("a",
		agenttest.ReplyCall{ID: "5", Name: "recall", Arguments: `{"words":"GREEN tea"}`},
		agenttest.ReplyCall{ID: "6", Name: "recall", Arguments: `{"words":"coffee"}`},
		agenttest.ReplyCall{ID: "7", Name: "plan", Arguments: `{}`},
		agenttest.ReplyCall{ID: "8", Name: "plan", Arguments: `{"file":"TODO.md"}`},
	)
	if want := "- tea: Green, no sugar|There are no such notes.|# Plan\n1. brew|TODO.md is empty."; strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
	got = use("b", agenttest.ReplyCall{ID: "9", Name: "recall", Arguments: `{}`}, agenttest.ReplyCall{ID: "10", Name: "plan", Arguments: `{}`})
	if want := "There are no such notes.|PLAN.md is empty."; strings.Join(got, "|") != want {
		t.Errorf("another session got %q", got)
	}
}

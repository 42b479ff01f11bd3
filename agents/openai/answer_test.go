package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// forms are the ways in which an answer can come.
var forms = []struct {
	name             string
	stream, noStream bool
}{
	{"streamed", true, false},
	{"whole", false, false},
	{"whole though a stream was wanted", true, true},
}

func TestThoughtsAreKeptApart(t *testing.T) {
	for _, test := range []struct {
		name      string
		text      string
		reasoning *string
		field     string
		want      string
		thought   *string
	}{
		{name: "none", text: "plain", want: "plain"},
		{name: "in a field", text: "answer", reasoning: new("because"), want: "answer", thought: new("because")},
		{name: "in the other field", text: "answer", reasoning: new("because"), field: "reasoning", want: "answer", thought: new("because")},
		{name: "empty field", text: "answer", reasoning: new(""), want: "answer", thought: new("")},
		{name: "in tags", text: "<think>hm, 思考</think>\n\nanswer", want: "answer", thought: new("hm, 思考")},
		{name: "in tags after blanks", text: "\n <think>hm</think>answer", want: "answer", thought: new("hm")},
		{name: "in both", text: "<think>b</think>answer", reasoning: new("a"), want: "answer", thought: new("ab")},
		{name: "empty tags", text: "<think></think>answer", want: "answer"},
		{name: "tags later are text", text: "Use <think>x</think> tags", want: "Use <think>x</think> tags"},
		{name: "two in a row", text: "<think>a</think><think>b</think>c", want: "<think>b</think>c", thought: new("a")},
		{name: "almost a tag", text: "<thin>k", want: "<thin>k"},
		{name: "almost an end", text: "<think>a</thin</think>c", want: "c", thought: new("a</thin")},
		{name: "beginning of a tag at the end", text: "a <th", want: "a <th"},
		{name: "only a beginning of a tag", text: "<th", want: "<th"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := agenttest.NewServer(agenttest.ServerOptions{})
			agent, _ := newAgent(t, server, nil)
			for _, form := range forms {
				for _, runes := range []int{1, 2, 3, 5, 7, 100} {
					server.Script(agenttest.Reply{
						Text: test.text, Reasoning: test.reasoning, ReasoningField: test.field,
						ChunkRunes: runes, NoStream: form.noStream,
					})
					var seen recorder
					response, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), seen.emit)
					if err != nil {
						t.Fatalf("%s, %d runes: %v", form.name, runes, err)
					}
					final := response.Final()
					if final.Content != test.want {
						t.Errorf("%s, %d runes: content %q, want %q", form.name, runes, final.Content, test.want)
					}
					if shown := seen.shown(); form.stream && shown != test.want {
						t.Errorf("%s, %d runes: shown %q, want %q", form.name, runes, shown, test.want)
					}
					if got, want := quoted(final.Reasoning), quoted(test.thought); got != want {
						t.Errorf("%s, %d runes: reasoning %s, want %s", form.name, runes, got, want)
					}
				}
			}
		})
	}
}

func quoted(s *string) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *s)
}

func TestAnswerWithoutText(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply agenttest.Reply
		calls int
	}{
		{"nothing", agenttest.Say(""), 2},
		{"blanks", agenttest.Say(" \n"), 2},
		{"reasoning alone", agenttest.Reply{Reasoning: new("hm")}, 2},
		{"unclosed tag", agenttest.Say("<think>and so on"), 2},
		{"cut off while thinking", agenttest.Reply{Reasoning: new("hm"), FinishReason: "length"}, 1},
		{"filtered", agenttest.Reply{FinishReason: "content_filter"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, form := range forms {
				server := agenttest.NewServer(agenttest.ServerOptions{})
				agent, _ := newAgent(t, server, nil)
				reply := test.reply
				reply.NoStream = form.noStream
				server.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply { return reply })
				_, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), func(agents.Event) {})
				if agents.KindOf(err) != agents.Permanent || !errors.Is(err, errEmpty) {
					t.Errorf("%s: %v, want a permanent empty answer", form.name, err)
				}
				if calls := len(server.Calls()); calls != test.calls {
					t.Errorf("%s: asked %d times, want %d", form.name, calls, test.calls)
				}
			}
		})
	}
}

func TestEmptyAnswerIsAskedForAgain(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, nil)
	server.Script(agenttest.Say(""), agenttest.Say("now"))
	response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if err != nil || response.Final().Content != "now" {
		t.Errorf("got %v, %v", response, err)
	}
}

func TestFinishReasons(t *testing.T) {
	for given, want := range map[string]string{
		"stop": "stop", "eos": "stop", "tool_calls": "stop", "length": "length", "max_tokens": "length",
		"content_filter": "content_filter", "sensitive": "content_filter",
	} {
		for _, form := range forms {
			server := agenttest.NewServer(agenttest.ServerOptions{})
			agent, _ := newAgent(t, server, nil)
			server.Script(agenttest.Reply{Text: "some", FinishReason: given, NoStream: form.noStream})
			response, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), func(agents.Event) {})
			if err != nil {
				t.Fatalf("%s, %s: %v", given, form.name, err)
			}
			if response.FinishReason != want {
				t.Errorf("%s, %s: %q, want %q", given, form.name, response.FinishReason, want)
			}
		}
	}
}

func TestFinishReasonsThatAreFailures(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, nil)
	server.Script(agenttest.Reply{Text: "half", FinishReason: "insufficient_system_resource"}, agenttest.Say("whole"))
	var seen recorder
	response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), seen.emit)
	if err != nil || response.Final().Content != "whole" || seen.shown() != "whole" || seen.restarts() != 1 {
		t.Errorf("got %v, %v, shown %q after %d restarts", response, err, seen.shown(), seen.restarts())
	}
	server.Script(agenttest.Reply{Text: "half", FinishReason: "model_context_window_exceeded"})
	if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), seen.emit); agents.KindOf(err) != agents.Overflow {
		t.Errorf("got %v, want an overflow", err)
	}
}

func TestUsage(t *testing.T) {
	for _, form := range forms {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		agent, _ := newAgent(t, server, nil)
		reply := agenttest.Reply{Text: "some", PromptTokens: 120, CompletionTokens: 7, NoStream: form.noStream}
		server.Script(reply)
		response, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), func(agents.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		// A server that does not stream answers without being asked for usage too.
		if want := (models.Usage{PromptTokens: 120, CompletionTokens: 7}); response.Usage != want || response.ContextTokens != 120 || response.Final().TokenCount != 7 {
			t.Errorf("%s: usage %+v, context %d, message %d; want %+v", form.name, response.Usage, response.ContextTokens, response.Final().TokenCount, want)
		}
		reply.NoUsage = true
		server.Script(reply)
		response, err = agent.Respond(t.Context(), agenttest.NewRequest(form.stream), func(agents.Event) {})
		if err != nil || response.Usage != (models.Usage{}) || response.ContextTokens != 0 {
			t.Errorf("%s: unknown usage is %+v, error %v", form.name, response, err)
		}
	}
}

func TestRefusalIsAnAnswer(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, nil)
	server.Script(agenttest.Reply{Status: http.StatusOK, ContentType: "text/event-stream", Body: "" +
		`data: {"choices":[{"index":0,"delta":{"refusal":"I cannot "}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"refusal":"do that."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"})
	var seen recorder
	response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), seen.emit)
	if err != nil {
		t.Fatal(err)
	}
	if response.Final().Content != "I cannot do that." || seen.shown() != "I cannot do that." || response.FinishReason != "content_filter" {
		t.Errorf("got %+v, finish %q, shown %q", response.Final(), response.FinishReason, seen.shown())
	}
}

func TestOddStreams(t *testing.T) {
	for _, test := range []struct{ name, body string }{
		{"undeclared", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata: [DONE]\n\n"},
		{"CRLF, comments and null errors", ": hi\r\n\r\ndata: {\"error\":null,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n"},
		{"no finish reason", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata: [DONE]\n\n"},
		{"no DONE", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n"},
		{"a second choice", "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata: [DONE]\n\n"},
		{"no space after the colon", "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata:[DONE]\n\n"},
	} {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		agent, _ := newAgent(t, server, nil)
		media := "text/event-stream"
		if test.name == "undeclared" {
			media = "application/octet-stream"
		}
		server.Script(agenttest.Reply{Status: http.StatusOK, ContentType: media, Body: test.body})
		response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if err != nil || response.Final().Content != "ok" {
			t.Errorf("%s: got %v, %v", test.name, response, err)
		}
	}
}

func TestAnswerTooLarge(t *testing.T) {
	for _, form := range forms {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		limit, size := 0, 10<<20 // beyond the default
		if form.noStream {
			limit, size = 1<<20, 1<<20+1
		}
		agent, _ := newAgent(t, server, func(c *Config) { c.MaxAnswerBytes = limit })
		server.Script(agenttest.Reply{Text: strings.Repeat("x", size), ChunkRunes: 1 << 16, NoStream: form.noStream})
		_, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), func(agents.Event) {})
		if agents.KindOf(err) != agents.Permanent || !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v, want a permanent failure", form.name, err)
		}
		if calls := len(server.Calls()); calls != 1 {
			t.Errorf("%s: asked %d times", form.name, calls)
		}
	}
}

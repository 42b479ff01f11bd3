package openai

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// clockTool answers with its arguments.
type clockTool struct{}

func (clockTool) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: "time", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"}}}`)}
}

func (clockTool) Call(_ context.Context, args json.RawMessage, _ string) (agents.ToolResult, error) {
	return agents.ToolResult{Text: "noon for " + string(args)}, nil
}

type toolset []agents.Tool

func (s toolset) Tools(context.Context) ([]agents.Tool, error) { return s, nil }

func withTools(stream bool) *agents.Request {
	req := agenttest.NewRequest(stream)
	req.Tools = toolset{clockTool{}}
	return req
}

func TestToolTurn(t *testing.T) {
	for _, form := range forms {
		for _, reasoning := range []*string{new("I need the time"), new("")} {
			t.Run(form.name, func(t *testing.T) {
				server := agenttest.NewServer(agenttest.ServerOptions{RequireReasoning: true})
				agent, _ := newAgent(t, server, nil)
				server.Script(
					agenttest.Reply{Text: "Let me see.", Reasoning: reasoning, NoStream: form.noStream, PromptTokens: 100, CompletionTokens: 10, ToolCalls: []agenttest.ReplyCall{
						{ID: "call_0", Name: "time", Arguments: `{"zone":"Asia/Shanghai"}`},
						{ID: "call_0", Name: "time", Arguments: ``},
						{Name: "time", Arguments: `{"zone":`},
					}},
					agenttest.Reply{Reasoning: reasoning, NoStream: form.noStream, PromptTokens: 150, CompletionTokens: 5, ToolCalls: []agenttest.ReplyCall{{ID: "call_0", Name: "no such/tool", Arguments: "{}"}}},
					agenttest.Reply{Text: "It is noon.", Reasoning: reasoning, NoStream: form.noStream, PromptTokens: 200, CompletionTokens: 6},
				)
				var seen recorder
				response, err := agent.Respond(t.Context(), withTools(form.stream), seen.emit)
				if err != nil {
					t.Fatal(err)
				}
				checkNoRejections(t, server)
				var roles []models.Role
				for _, m := range response.Messages {
					roles = append(roles, m.Role)
				}
				a, r := models.RoleAssistant, models.RoleTool
				if want := []models.Role{a, r, r, r, a, r, a}; !slices.Equal(roles, want) {
					t.Fatalf("messages %v, want %v", roles, want)
				}
				if got := response.Messages[1].Content; got != `noon for {"zone":"Asia/Shanghai"}` {
					t.Errorf("first result %q", got)
				}
				if got := response.Messages[0].ToolCalls[2].Arguments; got != `{"zone":` {
					t.Errorf("stored arguments %q, want them as the model wrote them", got)
				}
				if want := (models.Usage{PromptTokens: 450, CompletionTokens: 21}); response.Usage != want || response.ContextTokens != 200 {
					t.Errorf("usage %+v, context %d; want %+v and 200", response.Usage, response.ContextTokens, want)
				}
				if form.stream && seen.shown() != "It is noon." {
					t.Errorf("shown %q", seen.shown())
				}
				if got, want := phases(seen.events), []string{"time done", "time done", "time started", "time started"}; !slices.Equal(got, want) {
					t.Errorf("tool events %q, want %q", got, want)
				}
				for _, m := range server.Requests()[2].Messages {
					if len(m.ToolCalls) > 0 && (m.ReasoningContent == nil || *m.ReasoningContent != *reasoning) {
						t.Errorf("reasoning sent back is %s, want %q", quoted(m.ReasoningContent), *reasoning)
					}
				}
			})
		}
	}
}

// Some providers number all parallel calls 0.
func TestParallelCallsWithTheSameIndex(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, nil)
	server.Script(agenttest.Reply{Status: 200, ContentType: "text/event-stream", Body: `data: {"choices":[{"index":0,"delta":{"tool_calls":[` +
		`{"index":0,"id":"a","type":"function","function":{"name":"time","arguments":"{\"zone\":\"A\"}"}},` +
		`{"index":0,"id":"b","type":"function","function":{"name":"time","arguments":"{\"zone\":\"B\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"},
		agenttest.Say("done"))
	response, err := agent.Respond(t.Context(), withTools(true), func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if calls := response.Messages[0].ToolCalls; len(calls) != 2 || calls[0].Arguments != `{"zone":"A"}` || calls[1].Arguments != `{"zone":"B"}` {
		t.Errorf("calls %+v", calls)
	}
}

func TestEndlessToolLoop(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, func(c *Config) { c.MaxToolRounds = 3 })
	server.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		if len(r.Tools) == 0 {
			return agenttest.Say("enough")
		}
		return agenttest.Call(agenttest.ReplyCall{ID: "same", Name: "time", Arguments: "{}"})
	})
	response, err := agent.Respond(t.Context(), withTools(true), func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	checkNoRejections(t, server)
	if len(server.Calls()) != 4 || response.FinishReason != "tool_limit" || response.Final().Content != "enough" {
		t.Errorf("%d calls, finish %q, answer %q", len(server.Calls()), response.FinishReason, response.Final().Content)
	}
}

// A session that began on a provider without reasoning goes on with one that wants it,
// and the other way round.
func TestReasoningOfAnotherProvider(t *testing.T) {
	for name, options := range map[string]agenttest.ServerOptions{
		"wanted":  {RequireReasoning: true},
		"refused": {RefuseReasoning: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := agenttest.NewServer(options)
			agent, leap := newAgent(t, server, nil)
			call := []models.ToolCall{{ID: "x", Name: "time", Arguments: "{}"}}
			for _, reasoning := range []*string{nil, new("r")} {
				req := agenttest.NewRequest(true)
				req.Messages = append(req.Messages,
					&models.SessionMessage{Role: models.RoleAssistant, ToolCalls: call, Reasoning: reasoning},
					&models.SessionMessage{Role: models.RoleTool, ToolCallID: "x", Content: "noon"},
				)
				for range 2 {
					if _, err := agent.Respond(t.Context(), req, func(agents.Event) {}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if refused := len(server.Rejections()); refused != 1 || len(leap.waits) != 0 {
				t.Errorf("%d requests refused, waits %v; want to learn from one, without a pause", refused, leap.waits)
			}
		})
	}
}

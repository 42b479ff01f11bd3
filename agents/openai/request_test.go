package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// body runs a turn and returns what the provider got.
func body(t *testing.T, agent *Agent, server *agenttest.Server, req *agents.Request) map[string]any {
	t.Helper()
	if _, err := agent.Respond(t.Context(), req, func(agents.Event) {}); err != nil {
		t.Fatal(err)
	}
	checkNoRejections(t, server)
	requests := server.Requests()
	var out map[string]any
	if err := json.Unmarshal(requests[len(requests)-1].Body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMessages(t *testing.T) {
	const dataURL = "data:image/png;base64,AAAA"
	history := []*models.SessionMessage{
		{Role: models.RoleSystem, Content: "Be kind."},
		{Role: models.RoleSystem, Content: "Summary: they met."},
		{Role: models.RoleUser, Content: "look", Images: []string{"https://example.com/a/cat.png?sig=secret", dataURL}},
		{Role: models.RoleAssistant, Reasoning: new(""), ToolCalls: []models.ToolCall{
			{ID: "call_1", Name: "time", Arguments: `{"zone":"UTC"}`},
			{ID: "call_2", Name: "time", Arguments: `{"zone":`},
			{ID: "call_3", Name: "time"},
		}},
		{Role: models.RoleTool, ToolCallID: "call_1", Content: "noon"},
		{Role: models.RoleTool, ToolCallID: "call_2", Content: "Error: invalid"},
		{Role: models.RoleTool, ToolCallID: "call_3"},
		{Role: models.RoleAssistant, Content: "It is noon.", Reasoning: new("not sent back")},
		{Role: models.RoleSystem, Content: "Note: late."},
		{Role: models.RoleAssistant},
		{Role: models.RoleUser, Images: []string{dataURL}},
	}
	call := func(id, arguments string) any {
		return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "time", "arguments": arguments}}
	}
	image := func(url string) any {
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}
	}
	common := func(first, last any) []any {
		return []any{
			map[string]any{"role": "system", "content": "Be kind.\n\nSummary: they met.\n\nNote: late."},
			map[string]any{"role": "user", "content": first},
			map[string]any{"role": "assistant", "reasoning_content": "", "tool_calls": []any{
				call("call_1", `{"zone":"UTC"}`), call("call_2", `{"invalid_arguments":"{\"zone\":"}`), call("call_3", "{}"),
			}},
			map[string]any{"role": "tool", "tool_call_id": "call_1", "content": "noon"},
			map[string]any{"role": "tool", "tool_call_id": "call_2", "content": "Error: invalid"},
			map[string]any{"role": "tool", "tool_call_id": "call_3", "content": "(empty)"},
			map[string]any{"role": "assistant", "content": "It is noon."},
			map[string]any{"role": "user", "content": last},
		}
	}
	for _, test := range []struct {
		name   string
		images bool
		want   []any
	}{
		{"pictures sent", true, common(
			[]any{map[string]any{"type": "text", "text": "look"}, image("https://example.com/a/cat.png?sig=secret"), image(dataURL)},
			[]any{image(dataURL)})},
		{"pictures named", false, common("look\n[image: cat.png]\n[image: image/png]", "[image: image/png]")},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := agenttest.NewServer(agenttest.ServerOptions{RequireReasoning: true})
			server.Script(agenttest.Say("ok"))
			agent, _ := newAgent(t, server, func(c *Config) { c.Images = test.images })
			got := body(t, agent, server, &agents.Request{Messages: history})["messages"]
			if !reflect.DeepEqual(got, any(test.want)) {
				g, _ := json.MarshalIndent(got, "", " ")
				w, _ := json.MarshalIndent(test.want, "", " ")
				t.Errorf("sent %s\nwant %s", g, w)
			}
		})
	}
}

// Pictures that tools gave are shown to a model that can see, behind all results of
// their group; another one reads their names.
func TestPicturesOfTools(t *testing.T) {
	const a, b = "data:image/png;base64,AAAA", "data:image/png;base64,BBBB"
	history := []*models.SessionMessage{
		{Role: models.RoleUser, Content: "draw"},
		{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "1", Name: "draw", Arguments: "{}"}, {ID: "2", Name: "draw", Arguments: "{}"}}},
		{Role: models.RoleTool, ToolCallID: "1", Content: "one", Images: []string{a}},
		{Role: models.RoleTool, ToolCallID: "2", Images: []string{b}},
		{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "3", Name: "draw", Arguments: "{}"}}},
		{Role: models.RoleTool, ToolCallID: "3", Content: "three", Images: []string{b}},
	}
	for images, want := range map[bool]string{
		true:  "user|assistant|tool one\n[image: image/png]|tool [image: image/png]|user " + a + b + "|assistant|tool three\n[image: image/png]|user " + b,
		false: "user|assistant|tool one\n[image: image/png]|tool [image: image/png]|assistant|tool three\n[image: image/png]",
	} {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		server.Script(agenttest.Say("ok"))
		agent, _ := newAgent(t, server, func(c *Config) { c.Images = images })
		body(t, agent, server, &agents.Request{Messages: history})
		var got []string
		for _, m := range server.Requests()[0].Messages {
			line := m.Role
			if m.Role == "tool" {
				line += " " + m.Text()
			}
			parts, _ := m.Parts()
			for _, p := range parts {
				if p.ImageURL != nil {
					line = strings.TrimSuffix(line, " ") + " " + p.ImageURL.URL
				}
			}
			got = append(got, strings.ReplaceAll(line, " data:", "data:"))
		}
		if joined := strings.Join(got, "|"); joined != strings.ReplaceAll(want, " data:", "data:") {
			t.Errorf("images %t:\n%s\nwant\n%s", images, joined, want)
		}
	}
}

func TestParameters(t *testing.T) {
	// What is meant for another provider must not get to this one.
	t.Setenv("OPENAI_API_KEY", "sk-env")
	t.Setenv("OPENAI_ORG_ID", "org-env")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")

	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, func(c *Config) {
		c.Model, c.MaxTokens, c.Temperature = "own", 500, new(0.0)
		c.Headers = map[string]string{"X-Custom": "yes"}
		c.ExtraBody = map[string]json.RawMessage{
			"thinking":    json.RawMessage(`{"type":"disabled"}`),
			"temperature": json.RawMessage(`0.5`),
			"a.b":         json.RawMessage(`[1]`),
		}
	})
	req := agenttest.NewRequest(true)
	got := body(t, agent, server, req)
	for key, want := range map[string]any{
		"model": "own", "max_tokens": 500.0, "temperature": 0.5, "stream": true, "a.b": []any{1.0},
		"thinking": map[string]any{"type": "disabled"}, "stream_options": map[string]any{"include_usage": true}, "tools": nil,
	} {
		if !reflect.DeepEqual(got[key], want) {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	header := server.Requests()[0].Header
	if header.Get("X-Custom") != "yes" {
		t.Error("the configured header was not sent")
	}
	for _, name := range []string{"Authorization", "Openai-Organization"} {
		if value := header.Get(name); value != "" {
			t.Errorf("%s: %q was sent without being configured", name, value)
		}
	}

	req.Stream, req.Model, req.MaxTokens = false, "other", 100
	got = body(t, agent, server, req)
	for key, want := range map[string]any{"model": "other", "max_tokens": 100.0, "stream": nil, "stream_options": nil} {
		if !reflect.DeepEqual(got[key], want) {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

func TestAPIKey(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{APIKey: "sk-right"})
	agent, _ := newAgent(t, server, func(c *Config) { c.APIKey = "sk-right" })
	if err := agent.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
	body(t, agent, server, agenttest.NewRequest(true))

	agent, _ = newAgent(t, server, func(c *Config) { c.APIKey = "sk-wrong" })
	if err := agent.Probe(t.Context()); agents.KindOf(err) != agents.Auth {
		t.Errorf("probe with a wrong key: %v, want %s", err, agents.Auth)
	}
	_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if agents.KindOf(err) != agents.Auth {
		t.Errorf("turn with a wrong key: %v, want %s", err, agents.Auth)
	}
}

func TestConfigErrors(t *testing.T) {
	for name, cfg := range map[string]Config{
		"base URL is missing":   {Model: "m"},
		"base URL is not":       {BaseURL: "api.deepseek.com/v1", Model: "m"},
		"model is missing":      {BaseURL: "http://localhost"},
		`"x" is not valid JSON`: {BaseURL: "http://localhost", Model: "m", ExtraBody: map[string]json.RawMessage{"x": json.RawMessage("{")}},
	} {
		if _, err := New(cfg, newClient(t), newLeapClock()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}

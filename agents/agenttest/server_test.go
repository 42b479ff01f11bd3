package agenttest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
)

// post sends a body and returns the status and what came back.
func post(t *testing.T, server *agenttest.Server, body string) (int, string) {
	t.Helper()
	res, err := http.Post(server.Start(t)+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const (
	system = `{"role":"system","content":"s"}`
	user   = `{"role":"user","content":"u"}`
	callA  = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	callAB = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	toolA  = `{"role":"tool","tool_call_id":"a","content":"r"}`
	toolB  = `{"role":"tool","tool_call_id":"b","content":"r"}`
)

func TestStrictness(t *testing.T) {
	thinking := strings.Replace(callA, `"tool_calls"`, `"reasoning_content":"","tool_calls"`, 1)
	for _, test := range []struct {
		name     string
		options  agenttest.ServerOptions
		messages []string
		extra    string
		refusal  string // a part of the message; empty accepts
	}{
		{name: "plain", messages: []string{system, user}},
		{name: "unknown fields", messages: []string{user}, extra: `,"enable_thinking":false`},
		{name: "tools", messages: []string{user, callAB, toolB, toolA, user}},
		{name: "after a tool", messages: []string{user, callA, toolA}},
		{name: "pictures", messages: []string{`{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}`}},
		{name: "no messages", refusal: "too short"},
		{name: "late system", messages: []string{user, system, user}, refusal: "at the beginning"},
		{name: "two systems", messages: []string{system, system, user}, refusal: "at the beginning"},
		{name: "unknown role", messages: []string{`{"role":"bot","content":"x"}`}, refusal: "is not one of"},
		{name: "assistant last", messages: []string{user, `{"role":"assistant","content":"x"}`}, refusal: "last message"},
		{name: "empty user", messages: []string{`{"role":"user","content":""}`}, refusal: "must not be empty"},
		{name: "null user", messages: []string{`{"role":"user","content":null}`}, refusal: "must be a string"},
		{name: "number as content", messages: []string{`{"role":"user","content":1}`}, refusal: "must be a string"},
		{name: "unknown part", messages: []string{`{"role":"user","content":[{"type":"video"}]}`}, refusal: "unknown"},
		{name: "picture without URL", messages: []string{`{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///x"}}]}`}, refusal: "invalid URL"},
		{name: "orphan result", messages: []string{user, toolA, user}, refusal: "must be a response"},
		{name: "result twice", messages: []string{user, callA, toolA, toolA}, refusal: "must be a response"},
		{name: "orphan call", messages: []string{user, callAB, toolA, user}, refusal: "did not have response messages: b"},
		{name: "orphan call at the end", messages: []string{user, callAB, toolA}, refusal: "did not have response messages: b"},
		{name: "id used again", messages: []string{user, callA, toolA, callA, toolA}, refusal: "duplicate id"},
		{name: "no id", messages: []string{user, strings.ReplaceAll(callA, `"a"`, `""`)}, refusal: "1 to 40"},
		{name: "broken arguments", messages: []string{user, strings.ReplaceAll(callA, `{}`, `{`)}, refusal: "not valid JSON"},
		{name: "bad function name", messages: []string{user, strings.ReplaceAll(callA, `"f"`, `"f g"`)}, refusal: "does not match"},
		{name: "reasoning wanted", options: agenttest.ServerOptions{RequireReasoning: true}, messages: []string{user, callA, toolA}, refusal: "reasoning_content is missing"},
		{name: "empty reasoning given", options: agenttest.ServerOptions{RequireReasoning: true}, messages: []string{user, thinking, toolA}},
		{name: "reasoning refused", options: agenttest.ServerOptions{RefuseReasoning: true}, messages: []string{user, thinking, toolA}, refusal: "reasoning_content"},
		{name: "within the window", options: agenttest.ServerOptions{ContextWindow: 25}, messages: []string{user}, extra: `,"max_tokens":20`},
		{name: "beyond the window", options: agenttest.ServerOptions{ContextWindow: 25}, messages: []string{user}, extra: `,"max_tokens":21`, refusal: "maximum context length"},
		{name: "stream options without stream", messages: []string{user}, extra: `,"stream_options":{"include_usage":true}`, refusal: "stream_options"},
		{name: "stream options refused", options: agenttest.ServerOptions{RefuseStreamOptions: true}, messages: []string{user}, extra: `,"stream":true,"stream_options":{}`, refusal: "stream_options"},
		{name: "no answer wanted", messages: []string{user}, extra: `,"max_tokens":0`, refusal: "max_tokens"},
		{name: "too hot", messages: []string{user}, extra: `,"temperature":3`, refusal: "temperature"},
		{name: "tool without schema", messages: []string{user}, extra: `,"tools":[{"type":"function","function":{"name":"f"}}]`, refusal: "schema"},
		{name: "tool twice", messages: []string{user}, extra: `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`, refusal: "duplicate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := agenttest.NewServer(test.options)
			server.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply { return agenttest.Say("ok") })
			status, text := post(t, server, `{"model":"m","messages":[`+strings.Join(test.messages, ",")+`]`+test.extra+`}`)
			if test.refusal == "" {
				if status != http.StatusOK || len(server.Requests()) != 1 || len(server.Rejections()) != 0 {
					t.Errorf("status %d: %s", status, text)
				}
				return
			}
			if status != http.StatusBadRequest || !strings.Contains(text, test.refusal) {
				t.Errorf("status %d: %s; want 400 with %q", status, text, test.refusal)
			}
			if len(server.Requests()) != 0 || len(server.Rejections()) != 1 || len(server.Calls()) != 1 {
				t.Errorf("%d requests, %d rejections, %d calls", len(server.Requests()), len(server.Rejections()), len(server.Calls()))
			}
		})
	}
}

func TestScriptThenEcho(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	server.Script(agenttest.Say("first"), agenttest.RateLimited(2))
	body := `{"model":"m","messages":[` + user + `]}`
	if status, text := post(t, server, body); status != http.StatusOK || !strings.Contains(text, `"content":"first"`) {
		t.Errorf("status %d: %s", status, text)
	}
	if status, text := post(t, server, body); status != http.StatusTooManyRequests || !strings.Contains(text, "rate_limit_exceeded") {
		t.Errorf("status %d: %s", status, text)
	}
	if status, text := post(t, server, body); status != http.StatusOK || !strings.Contains(text, `"content":"u"`) {
		t.Errorf("status %d: %s", status, text)
	}
}

func TestStream(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	reasoning := "why"
	server.Script(agenttest.Reply{
		Text: "你好, world", Reasoning: &reasoning, ChunkRunes: 3,
		ToolCalls: []agenttest.ReplyCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}},
	})
	_, text := post(t, server, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[`+user+`]}`)
	var content, thought, arguments, finish string
	usage, done := 0, false
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string                   `json:"content"`
					Reasoning string                   `json:"reasoning_content"`
					ToolCalls []agenttest.ChatToolCall `json:"tool_calls"`
				} `json:"delta"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
			Usage struct {
				Total int `json:"total_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		usage += chunk.Usage.Total
		for _, choice := range chunk.Choices {
			content += choice.Delta.Content
			thought += choice.Delta.Reasoning
			finish += choice.FinishReason
			for _, call := range choice.Delta.ToolCalls {
				arguments += call.Function.Arguments
			}
		}
	}
	if content != "你好, world" || thought != "why" || arguments != `{"x":1}` || finish != "tool_calls" || usage == 0 || !done {
		t.Errorf("content %q, reasoning %q, arguments %q, finish %q, usage %d, done %t", content, thought, arguments, finish, usage, done)
	}
}

func TestKey(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{APIKey: "k"})
	if status, _ := post(t, server, `{"model":"m","messages":[`+user+`]}`); status != http.StatusUnauthorized || len(server.Calls()) != 0 {
		t.Errorf("without a key: status %d, %d calls", status, len(server.Calls()))
	}
}

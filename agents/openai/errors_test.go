package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func asError(err error, target **agents.Error) bool { return errors.As(err, target) }

// What providers really say.
func TestClassification(t *testing.T) {
	for _, test := range []struct {
		provider string
		status   int
		body     string
		want     agents.ErrorKind
	}{
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, agents.Overflow},
		{"OpenAI", 400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":null}}`, agents.Overflow},
		{"OpenAI", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, agents.Auth},
		{"OpenAI", 429, `{"error":{"message":"Rate limit reached on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, agents.Transient},
		{"OpenAI", 404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, agents.Permanent},
		{"DeepSeek", 400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 80000 tokens","type":"invalid_request_error","code":"invalid_request_error"}}`, agents.Overflow},
		{"DeepSeek", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, agents.Auth},
		{"DeepSeek", 401, `{"error":{"message":"Authentication Fails","type":"authentication_error","code":"invalid_request_error"}}`, agents.Auth},
		{"Qwen", 400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]","type":"invalid_request_error","code":"invalid_parameter_error"}}`, agents.Overflow},
		{"Qwen", 400, `{"error":{"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage","code":"Arrearage"}}`, agents.Auth},
		{"Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, agents.Overflow},
		{"Moonshot", 429, `{"error":{"message":"Your account is suspended, please check your plan","type":"exceeded_current_quota_error"}}`, agents.Auth},
		{"Moonshot", 429, `{"error":{"message":"The engine is currently overloaded","type":"engine_overloaded_error"}}`, agents.Transient},
		{"GLM", 400, `{"error":{"code":"1261","message":"Prompt 超长"}}`, agents.Overflow},
		{"GLM", 429, `{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试"}}`, agents.Auth},
		{"GLM", 429, `{"error":{"code":"1302","message":"您当前使用该API的并发数过高"}}`, agents.Transient},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`, agents.Overflow},
		{"vLLM", 400, `{"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","type":"BadRequestError","code":400}}`, agents.Overflow},
		{"Ollama", 500, `{"error":{"message":"the input length exceeds the context length","type":"api_error","param":null,"code":null}}`, agents.Overflow},
		{"Ollama", 404, `{"error":{"message":"model 'x' not found","type":"api_error"}}`, agents.Permanent},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, agents.Overflow},
		{"Gemini", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, agents.Auth},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, agents.Overflow},
		{"a proxy", 413, `<html>Request Entity Too Large</html>`, agents.Overflow},
		{"a proxy", 502, `Bad Gateway`, agents.Transient},
		{"FastAPI", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, agents.Permanent},
		{"a string", 400, `{"error":"bad request"}`, agents.Permanent},
		{"nothing", 403, ``, agents.Auth},
		{"OpenRouter in a success", 200, `{"error":{"code":502,"message":"Provider returned error"}}`, agents.Transient},
		{"a refusal in a success", 200, `{"error":{"message":"bad tool","type":"invalid_request_error"}}`, agents.Permanent},
		{"an overflow in a success", 200, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum","type":"invalid_request_error"}}`, agents.Overflow},
	} {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		agent, _ := newAgent(t, server, func(c *Config) { c.RetryBudget = -1 })
		server.Script(agenttest.Reply{Status: test.status, Body: test.body})
		_, err := agent.Respond(t.Context(), agenttest.NewRequest(false), func(agents.Event) {})
		if got := agents.KindOf(err); err == nil || got != test.want {
			t.Errorf("%s %d %s: %s, want %s (%v)", test.provider, test.status, test.body, got, test.want, err)
		}
	}
}

// What a provider says in words may quote the conversation or the key: of a failure
// only what is for machines is told.
func TestErrorsQuoteNothing(t *testing.T) {
	const said = "my salary is 5000"
	for _, reply := range []agenttest.Reply{
		agenttest.Fail(401, "invalid_api_key", "Incorrect API key provided: sk-secret. "+said),
		agenttest.Fail(400, said, said),
		{Status: 400, Body: `{"error":{"message":"` + said + `","type":"` + said + `","code":"bad_thing","param":"messages[1].content"}}`},
		{Status: 500, Body: said},
		{Status: 200, Body: `{"error":{"message":"` + said + `","type":"invalid_request_error"}}`},
		{Status: 200, ContentType: "text/event-stream", Body: "event: error\ndata: {\"message\":\"" + said + "\"}\n\n"},
		{Status: 200, ContentType: "text/event-stream", Body: "data: " + said + "\n\n"},
		{FinishReason: "network_error"},
		{Text: "half", FinishReason: "model_context_window_exceeded"},
	} {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		agent, _ := newAgent(t, server, func(c *Config) { c.APIKey, c.RetryBudget = "sk-secret", -1 })
		server.Script(reply)
		_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if err == nil || strings.Contains(err.Error(), "sk-secret") || strings.Contains(err.Error(), "salary") {
			t.Errorf("%d %s: %v", reply.Status, reply.Body, err)
		}
		if strings.Contains(reply.Body, "bad_thing") && err.Error() != "agent: permanent: provider refused the request: status 400, code bad_thing, param messages[1].content" {
			t.Errorf("the error is %q", err)
		}
	}
	agent, err := New(Config{BaseURL: "http://user:pa55@127.0.0.1:1/v1?key=s3cret", Model: "m", RetryBudget: -1}, http.DefaultClient, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "pa55") {
		t.Errorf("the error is %v", err)
	}
}

func TestLearnsQuirks(t *testing.T) {
	t.Run("no stream options", func(t *testing.T) {
		server := agenttest.NewServer(agenttest.ServerOptions{RefuseStreamOptions: true})
		agent, leap := newAgent(t, server, nil)
		for range 2 {
			if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); err != nil {
				t.Fatal(err)
			}
		}
		if calls := len(server.Calls()); calls != 3 || len(leap.waits) != 0 {
			t.Errorf("%d calls, waits %v; want one refusal in all, and no pause", calls, leap.waits)
		}
	})
	t.Run("max_completion_tokens", func(t *testing.T) {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		agent, _ := newAgent(t, server, func(c *Config) { c.MaxTokens = 9 })
		server.Script(agenttest.Fail(400, "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."))
		if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); err != nil {
			t.Fatal(err)
		}
		last := server.Requests()[1]
		if last.MaxTokens != nil || last.MaxCompletionTokens == nil || *last.MaxCompletionTokens != 9 {
			t.Errorf("sent %s", last.Body)
		}
	})
	t.Run("a refusal that stays", func(t *testing.T) {
		server := agenttest.NewServer(agenttest.ServerOptions{})
		agent, _ := newAgent(t, server, nil)
		server.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply {
			return agenttest.Fail(400, "", "reasoning_content is not what I like")
		})
		_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if calls := len(server.Calls()); agents.KindOf(err) != agents.Permanent || calls != 2 {
			t.Errorf("%v after %d calls, want a permanent failure after 2", err, calls)
		}
	})
}

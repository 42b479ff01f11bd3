package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// stock returns OpenAI's own client, pointed at the gateway.
func (w *world) stock(more ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(w.url + "/v1"), option.WithAPIKey("work-token"), option.WithHTTPClient(w.client), option.WithMaxRetries(0),
	}, more...)...)
}

func ask(model string, messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: messages, Temperature: openai.Float(0.2), User: openai.String("ignored")}
}

func TestStockClientWithoutAChat(t *testing.T) {
	w := newWorld(t, options{})
	client := w.stock()
	list, err := client.Models.List(t.Context())
	if err != nil || len(list.Data) != 4 || list.Data[0].ID != "assistant" {
		t.Fatalf("models: %v, %v", list, err)
	}
	w.model.Script(agenttest.Reply{Text: "hi", PromptTokens: 7, CompletionTokens: 3})
	got, err := client.Chat.Completions.New(t.Context(), ask("model", openai.UserMessage("one"), openai.AssistantMessage("1"), openai.UserMessage("two")))
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Choices[0]; c.Message.Content != "hi" || c.FinishReason != "stop" || got.Usage.TotalTokens != 10 || got.Model != "model" {
		t.Errorf("completion %s", got.RawJSON())
	}
	sent := w.model.Requests()[0]
	if len(sent.Messages) != 4 || strings.Contains(sent.Messages[0].Text(), "{{now}}") || !strings.HasPrefix(sent.Messages[0].Text(), "You are at work. 20") {
		t.Errorf("the model was sent %s", sent.Body)
	}
	if n := len(w.admin(http.MethodGet, "/inbound", nil).ok().items()) + len(w.admin(http.MethodGet, "/sessions", nil).ok().items()); n != 0 {
		t.Errorf("%d rows were stored by a stateless call", n)
	}
}

func TestStockClientStreams(t *testing.T) {
	w := newWorld(t, options{})
	for name, client := range map[string]openai.Client{
		"without a chat": w.stock(),
		"with a chat":    w.stock(option.WithHeader("X-Chatkeep-Chat-Id", "team")),
	} {
		w.model.Script(agenttest.Reply{Text: "one two three", ChunkRunes: 4, PromptTokens: 7, CompletionTokens: 3})
		params := ask("model", openai.UserMessage("count"))
		params.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		whole, chunks := openai.ChatCompletionAccumulator{}, 0
		for stream.Next() {
			whole.AddChunk(stream.Current())
			chunks++
		}
		if err := stream.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := whole.Choices[0]; got.Message.Content != "one two three" || got.FinishReason != "stop" || whole.Usage.TotalTokens != 10 || chunks < 4 {
			t.Errorf("%s: %d chunks: %+v", name, chunks, whole.ChatCompletion)
		}
	}
}

func TestStockClientWithAChat(t *testing.T) {
	w := newWorld(t, options{})
	client := w.stock(option.WithHeader("X-Chatkeep-Chat-Id", "team"), option.WithHeader("X-Chatkeep-User-Id", "lin"))
	for _, text := range []string{"my name is Lin", "what is my name?"} {
		if _, err := client.Chat.Completions.New(t.Context(), ask("model", openai.SystemMessage("ignored"), openai.UserMessage("old"), openai.UserMessage(text))); err != nil {
			t.Fatal(err)
		}
	}
	second := string(w.model.Requests()[1].Body)
	if !strings.Contains(second, "my name is Lin") || strings.Contains(second, "old") || strings.Contains(second, "ignored") {
		t.Errorf("the model was sent %s", second)
	}
	sessions := w.admin(http.MethodGet, "/sessions", nil).ok()
	if got := sessions.str("items", 0, "key"); got != "agent:model:channel:any:scope:per_peer:api/work/group/team" || len(sessions.items()) != 1 {
		t.Errorf("sessions %s", sessions.body)
	}
	// The idempotency key makes a repeat the same turn.
	once := option.WithHeader("Idempotency-Key", "k1")
	for range 2 {
		if _, err := client.Chat.Completions.New(t.Context(), ask("model", openai.UserMessage("once")), once); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.model.Requests()); n != 3 {
		t.Errorf("the model was asked %d times, want 3", n)
	}
}

func TestStockClientErrors(t *testing.T) {
	w := newWorld(t, options{})
	for name, c := range map[string]struct {
		params openai.ChatCompletionNewParams
		key    string
		status int
	}{
		"unknown model": {ask("gpt", openai.UserMessage("hi")), "work-token", http.StatusBadRequest},
		"no messages":   {ask("model"), "work-token", http.StatusBadRequest},
		"wrong key":     {ask("model", openai.UserMessage("hi")), "wrong", http.StatusUnauthorized},
		"admin token":   {ask("model", openai.UserMessage("hi")), adminToken, http.StatusUnauthorized},
		"agent timeout": {ask("hasty", openai.UserMessage("hold")), "work-token", http.StatusGatewayTimeout},
	} {
		client := w.stock(option.WithAPIKey(c.key))
		_, err := client.Chat.Completions.New(t.Context(), c.params)
		var problem *openai.Error
		if !errors.As(err, &problem) || problem.StatusCode != c.status || problem.Message == "" {
			t.Errorf("%s: %v, want %d", name, err, c.status)
		}
	}
	w.model.Script(agenttest.Reply{Text: "half an answer", ChunkRunes: 4, Fault: agenttest.FaultCut, After: 1})
	client := w.stock()
	stream := client.Chat.Completions.NewStreaming(t.Context(), ask("model", openai.UserMessage("hi")))
	for stream.Next() {
	}
	if stream.Err() == nil {
		t.Error("a cut answer ends a stream without an error")
	}
}

func TestStatelessMessagesThatCannotFit(t *testing.T) {
	w := newWorld(t, options{})
	send := func(text string) *answer {
		body := obj{"model": "tiny", "messages": []obj{{"role": "user", "content": text}}}
		return w.do(request{method: http.MethodPost, path: "/v1/chat/completions", token: "work-token", body: body})
	}
	send(strings.Repeat("word ", 400)).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	send("short").ok()
}

func TestStatelessClientThatGoesAwayCancels(t *testing.T) {
	w := newWorld(t, options{})
	client := w.stock()
	for _, streams := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if streams {
				stream := client.Chat.Completions.NewStreaming(ctx, ask("model", openai.UserMessage("hold")))
				for stream.Next() {
				}
				return
			}
			_, _ = client.Chat.Completions.New(ctx, ask("model", openai.UserMessage("hold"))) // it fails: we cancel it
		}()
		await(t, "the model is asked", w.gate.entered)
		cancel()
		await(t, "the client is gone", ended)
		await(t, "the model call is cancelled", w.gate.gone)
	}
}

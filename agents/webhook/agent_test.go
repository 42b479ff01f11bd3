package webhook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/webhook"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/signature"
	"github.com/chatkeep/chatkeep/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves handler and returns an agent before it, and what closes both.
func start(t *testing.T, handler http.HandlerFunc, change func(*webhook.Config)) (*webhook.Agent, func()) {
	t.Helper()
	server := httptest.NewServer(handler)
	transport := &http.Transport{}
	cfg := webhook.Config{URL: server.URL + "/turn", RetryBudget: 2 * time.Second}
	if change != nil {
		change(&cfg)
	}
	agent, err := webhook.New(cfg, &http.Client{Transport: transport}, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	return agent, func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	}
}

// events writes server-sent events, each flushed.
func events(w http.ResponseWriter, pairs ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; i < len(pairs); i += 2 {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", pairs[i], pairs[i+1])
		w.(http.Flusher).Flush()
	}
}

func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the server notices a client that goes only then
	<-r.Context().Done()
}

func TestConformance(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	handlers := map[agenttest.Behaviour]http.HandlerFunc{
		agenttest.Answers: func(w http.ResponseWriter, _ *http.Request) {
			events(w, "delta", `{"text":"Hello, "}`, "delta", `{"text":"世界"}`, "done", `{"content":"Hello, 世界","usage":{}}`)
		},
		agenttest.Hangs: func(_ http.ResponseWriter, r *http.Request) { hang(r) },
		agenttest.HangsMidway: func(w http.ResponseWriter, r *http.Request) {
			events(w, "delta", `{"text":"Hello"}`)
			hang(r)
		},
		agenttest.Recovers:     nil,
		agenttest.Fails:        status(http.StatusBadGateway),
		agenttest.Refuses:      status(http.StatusUnprocessableEntity),
		agenttest.Unauthorized: status(http.StatusUnauthorized),
		agenttest.Overflows:    status(http.StatusRequestEntityTooLarge),
	}
	var behaviours []agenttest.Behaviour
	for b := range handlers {
		behaviours = append(behaviours, b)
	}
	agenttest.TestAgent(t, agenttest.Suite{
		Behaviours: behaviours,
		New: func(t *testing.T, b agenttest.Behaviour) (agents.Agent, func()) {
			t.Helper()
			handler := handlers[b]
			if b == agenttest.Recovers {
				var calls atomic.Int32
				handler = func(w http.ResponseWriter, _ *http.Request) {
					if calls.Add(1) == 1 {
						events(w, "delta", `{"text":"Hel"}`)
						panic(http.ErrAbortHandler)
					}
					events(w, "delta", `{"text":"Bye"}`, "done", `{"content":"Bye"}`)
				}
			}
			return start(t, handler, nil)
		},
	})
}

// seen is a request as the service got it.
type seen struct {
	header http.Header
	body   []byte
}

func TestRequest(t *testing.T) {
	var got seen
	agent, done := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Header.Clone(), body}
		_, _ = io.WriteString(w, `{"content":"ok","usage":{"promptTokens":12,"completionTokens":3}}`)
	}, func(c *webhook.Config) {
		c.Secret = "s3cret"
		c.Headers = map[string]string{"X-Custom": "yes"}
	})
	defer done()
	req := agenttest.NewRequest(true)
	req.Variables = map[string]json.RawMessage{"mood": json.RawMessage(`{"good":true}`)}
	req.Chat = agents.Chat{ID: "oc_1", Type: "group", Name: "Team", ThreadID: "th"}
	req.Messages = []*models.SessionMessage{
		{ID: "msg_1", Seq: 4, Role: models.RoleUser, Content: "look", Images: []string{"https://example.com/a.png"}, SenderID: "u", SenderName: "Lin", Reasoning: new(string)},
		{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "c", Name: "n", Arguments: "{}"}}},
		{Role: models.RoleTool, Content: "r", ToolCallID: "c"},
	}
	response, err := agent.Respond(t.Context(), req, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
		"version": 1, "inboundId": "inb_1", "sessionKey": "agent:a:channel:api:scope:per_peer:u", "slot": "default",
		"agentId": "a", "channel": "api", "account": "default",
		"chat": {"id": "oc_1", "type": "group", "name": "Team", "threadId": "th"}, "sender": {"id": "u", "name": "Lin"},
		"messages": [
			{"role": "user", "content": "look", "images": ["https://example.com/a.png"], "senderId": "u", "senderName": "Lin"},
			{"role": "assistant", "content": "", "toolCalls": [{"id": "c", "name": "n", "arguments": "{}"}]},
			{"role": "tool", "content": "r", "toolCallId": "c"}
		],
		"variables": {"mood": {"good": true}}, "stream": true
	}`
	var gotBody, wantBody any
	if json.Unmarshal(got.body, &gotBody) != nil || json.Unmarshal([]byte(want), &wantBody) != nil || !reflect.DeepEqual(gotBody, wantBody) {
		t.Errorf("sent %s\nwant %s", got.body, want)
	}
	timestamp := got.header.Get("X-Chatkeep-Timestamp")
	if sent, err := strconv.ParseInt(timestamp, 10, 64); err != nil || clock.Real().Now().Unix()-sent > 60 {
		t.Errorf("timestamp %q", timestamp)
	}
	if signed := got.header.Get("X-Chatkeep-Signature"); signed != signature.Sign("s3cret", timestamp, got.body) {
		t.Errorf("signature %q does not hold", signed)
	}
	if got.header.Get("X-Custom") != "yes" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", got.header)
	}
	if usage := (models.Usage{PromptTokens: 12, CompletionTokens: 3}); response.Usage != usage || response.FinishReason != "stop" {
		t.Errorf("usage %+v, finish %q", response.Usage, response.FinishReason)
	}
}

func TestEmptyRequestHasNoNulls(t *testing.T) {
	var body []byte
	agent, done := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.Header.Get("X-Chatkeep-Signature") != "" {
			t.Error("signed without a secret")
		}
		_, _ = io.WriteString(w, `{"content":"ok"}`)
	}, nil)
	defer done()
	if _, err := agent.Respond(t.Context(), &agents.Request{}, func(agents.Event) {}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"messages":[]`, `"variables":{}`, `"stream":false`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	big := strings.Repeat("x", 2000)
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
		kind    agents.ErrorKind
		calls   int32
	}{
		{"done without content", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "delta", `{"text":"a"}`, "delta", `{"text":"b"}`, "done", `{}`)
		}, "ab", "", 1},
		{"done with the rest", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "delta", `{"text":"a"}`, "done", `{"content":"abc"}`)
		}, "abc", "", 1},
		{"done with something else", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "delta", `{"text":"a"}`, "done", `{"content":"other"}`)
		}, "other", "", 1},
		{"unknown events, comments, CRLF, lines", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, ": hi\r\n\r\nevent: ping\r\ndata: x\r\n\r\nevent:delta\r\ndata:{\"text\":\r\ndata:\"a\"}\r\n\r\nevent: done\r\ndata: {}\r\n\r\n")
		}, "a", "", 1},
		{"service reports an error", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "delta", `{"text":"a"}`, "error", `{"message":"no idea"}`)
		}, "", agents.Permanent, 1},
		{"stream without done", func(w http.ResponseWriter, _ *http.Request) { events(w, "delta", `{"text":"a"}`) }, "", agents.Transient, 0},
		{"broken event", func(w http.ResponseWriter, _ *http.Request) { events(w, "delta", `{"te`) }, "", agents.Transient, 0},
		{"web page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "", agents.Transient, 0},
		{"empty answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"content":" "}`) }, "", agents.Permanent, 1},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }, "", agents.Permanent, 1},
		{"whole answer too large", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"content":%q}`, big)
		}, "", agents.Permanent, 1},
		{"streamed answer too large", func(w http.ResponseWriter, _ *http.Request) {
			events(w, "delta", `{"text":"`+big+`"}`, "done", "{}")
		}, "", agents.Permanent, 1},
		{"done too large", func(w http.ResponseWriter, _ *http.Request) { events(w, "done", `{"content":"`+big+`"}`) }, "", agents.Permanent, 1},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		}, "", agents.Permanent, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int32
			agent, done := start(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				test.handler(w, r)
			}, func(c *webhook.Config) { c.MaxAnswerBytes, c.RetryBudget = 1000, time.Second })
			defer done()
			shown := ""
			response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(e agents.Event) {
				if e.Restart {
					shown = ""
				}
				shown += e.Delta
			})
			if n := calls.Load(); test.calls != 0 && n != test.calls || test.calls == 0 && n < 2 {
				t.Errorf("%d calls", n)
			}
			if test.kind != "" {
				if err == nil || agents.KindOf(err) != test.kind {
					t.Errorf("got %v, want kind %s", err, test.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := response.Final().Content; got != test.want || shown != test.want {
				t.Errorf("answer %q, shown %q, want %q", got, shown, test.want)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	var calls atomic.Int32
	agent, done := start(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"content":"ok"}`)
	}, nil)
	defer done()
	began := clock.Real().Now()
	if _, err := agent.Respond(t.Context(), agenttest.NewRequest(false), func(agents.Event) {}); err != nil {
		t.Fatal(err)
	}
	if took := clock.Real().Now().Sub(began); took < time.Second || calls.Load() != 2 {
		t.Errorf("%d calls in %s", calls.Load(), took)
	}
}

func TestTimeout(t *testing.T) {
	agent, done := start(t, func(_ http.ResponseWriter, r *http.Request) { hang(r) }, func(c *webhook.Config) { c.Timeout = 50 * time.Millisecond })
	defer done()
	_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if agents.KindOf(err) != agents.Timeout {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, url := range []string{"", "example.com", "ftp://example.com", "http://"} {
		if _, err := webhook.New(webhook.Config{URL: url}, http.DefaultClient, clock.Real()); err == nil {
			t.Errorf("URL %q was accepted", url)
		}
	}
}

package httpapi_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

func TestChatAnswers(t *testing.T) {
	w := newWorld(t, options{})
	a := w.chat(obj{"userId": "lin", "text": "Grüße 👋"}).content("Grüße 👋")
	for path, want := range map[string]any{
		"sessionKey": "agent:assistant:channel:any:scope:per_peer:api/default/lin",
		"slot":       "default", "state": "done", "finishReason": "stop", "error": "",
	} {
		if got := a.get(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if !strings.HasPrefix(a.str("reply", "messageId"), "msg_") {
		t.Errorf("messageId %q", a.str("reply", "messageId"))
	}
	again := w.do(request{method: http.MethodGet, path: "/v1/inbound/" + a.str("inboundId")}).content("Grüße 👋")
	if !bytes.Equal(again.body, a.body) {
		t.Errorf("GET inbound says %s, the answer was %s", again.body, a.body)
	}
	w.do(request{method: http.MethodGet, path: "/v1/inbound/" + a.str("inboundId"), token: teamToken}).want(http.StatusNotFound, models.CodeNotFound)
	w.do(request{method: http.MethodGet, path: "/v1/inbound/inb_nothing"}).want(http.StatusNotFound, models.CodeNotFound)
}

func TestChatUsage(t *testing.T) {
	w := newWorld(t, options{})
	w.model.Script(agenttest.Reply{Text: "hi", PromptTokens: 7, CompletionTokens: 3})
	a := w.work(obj{"userId": "lin", "text": "hello"}).content("hi")
	if p, c := a.get("reply", "usage", "promptTokens"), a.get("reply", "usage", "completionTokens"); p != 7.0 || c != 3.0 {
		t.Errorf("usage %v, %v", p, c)
	}
}

func TestChatWithoutWaiting(t *testing.T) {
	w := newWorld(t, options{})
	a := w.work(obj{"userId": "lin", "text": "hold this", "wait": false}).want(http.StatusAccepted, "")
	await(t, "the model is asked", w.gate.entered)
	path := "/v1/inbound/" + a.str("inboundId")
	state := func() string {
		return w.do(request{method: http.MethodGet, path: path, token: "work-token"}).ok().str("state")
	}
	if got := state(); got != "running" {
		t.Errorf("state %q while it runs", got)
	}
	w.gate.open()
	eventually(t, "it is done", func() bool { return state() == "done" })
	w.do(request{method: http.MethodGet, path: path, token: "work-token"}).content("hold this")
}

func TestGroupBackground(t *testing.T) {
	w := newWorld(t, options{})
	observed := w.work(obj{"chatId": "g", "userId": "lin", "text": "the code is 4711", "mentioned": false}).ok()
	if got := observed.str("state"); got != "observed" {
		t.Fatalf("state %q", got)
	}
	if n := len(w.model.Requests()); n != 0 {
		t.Fatalf("the model was asked %d times", n)
	}
	a := w.work(obj{"chatId": "g", "userId": "max", "text": "what is it?"}).ok()
	if a.str("sessionKey") != observed.str("sessionKey") {
		t.Error("the group has two sessions")
	}
	sent := w.model.Requests()[0]
	all := ""
	for _, m := range sent.Messages {
		all += m.Text() + "\n"
	}
	if !strings.Contains(all, "4711") || !strings.Contains(sent.Last("user").Text(), "what is it?") {
		t.Errorf("the model was sent %q", all)
	}
	// Asked again it is the same outcome; in a direct chat there is no background.
	w.chat(obj{"userId": "lin", "text": "hi", "mentioned": false}).content("hi")
}

func TestScopes(t *testing.T) {
	w := newWorld(t, options{})
	key := func(body obj) string {
		t.Helper()
		body["userId"], body["text"] = "lin", "hi"
		return w.chat(body).ok().str("sessionKey")
	}
	for _, c := range []struct {
		body obj
		want string
	}{
		{obj{"scopeId": "a/b"}, "channel:any:scope:per_peer:api/default/a%2Fb"},
		{obj{"scope": "per_peer", "scopeId": "x"}, "channel:any:scope:per_peer:api/default/x"},
		{obj{"scope": "per_account_channel_peer"}, "channel:api:scope:per_account_channel_peer:default/lin"},
		{obj{"scope": "thread", "scopeId": "t+1"}, "channel:api:scope:thread:default/t+1"},
		{obj{"chatId": "g", "threadId": "t"}, "channel:api:scope:thread:default/g/t"},
		{obj{"chatId": "g", "chatType": "direct"}, "channel:any:scope:per_peer:api/default/lin"},
	} {
		if got := key(c.body); got != "agent:assistant:"+c.want {
			t.Errorf("%v: key %s, want %s", c.body, got, c.want)
		}
	}
	for _, scope := range []string{"main", "per_channel_peer"} {
		w.chat(obj{"userId": "lin", "text": "hi", "scope": scope}).want(http.StatusForbidden, models.CodeForbidden)
	}
	allowed := newWorld(t, options{chat: func(c *gateway.ChatSettings) { c.AllowScopes = []models.Scope{models.ScopeMain} }})
	allowed.chat(obj{"userId": "lin", "text": "hi", "scope": "main"}).ok()
	allowed.chat(obj{"userId": "lin", "text": "hi", "scope": "per_channel_peer"}).want(http.StatusForbidden, models.CodeForbidden)
}

func TestRefusedOutcomes(t *testing.T) {
	w := newWorld(t, options{})
	w.chat(obj{"userId": "eve", "text": "let me in"}).want(http.StatusForbidden, models.CodeForbidden)
	w.chat(obj{"userId": "lin", "text": "hi", "slot": "nowhere"}).want(http.StatusNotFound, models.CodeSlotNotFound)

	w.model.Script(agenttest.Fail(http.StatusBadRequest, "bad", "canary-provider-secret"))
	failed := w.work(obj{"userId": "lin", "text": "hi"}).want(http.StatusBadGateway, models.CodeAgentFailed)
	if strings.Contains(string(failed.body), "canary") {
		t.Errorf("the provider's text is shown: %s", failed.body)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	long := strings.Repeat("word ", 1000)
	w.do(request{method: http.MethodPost, path: "/v1/chat/completions", token: "work-token", header: map[string]string{"X-Chatkeep-Chat-Id": "c"}, body: obj{
		"model": "tiny", "messages": []obj{{"role": "user", "content": long}},
	}}).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked for what cannot fit")
	}
	w.do(request{method: http.MethodPost, path: "/v1/chat/completions", token: "work-token", header: map[string]string{"X-Chatkeep-Chat-Id": "d"}, body: obj{
		"model": "hasty", "messages": []obj{{"role": "user", "content": "hold"}},
	}}).want(http.StatusGatewayTimeout, models.CodeAgentTimeout)
}

func TestQueueFull(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) { s.Queue.Cap = 2 }})
	send := func(text string) *answer { return w.work(obj{"userId": "lin", "text": text, "wait": false}) }
	send("hold 1").want(http.StatusAccepted, "")
	await(t, "the first one runs", w.gate.entered)
	send("2").want(http.StatusAccepted, "")
	send("3").want(http.StatusAccepted, "")
	send("4").want(http.StatusTooManyRequests, models.CodeQueueFull)
	if n := len(w.admin(http.MethodGet, "/inbound", nil).ok().items()); n != 3 {
		t.Errorf("%d messages are stored, want 3", n)
	}
}

// inBackground sends a message whose answer is waited for by nobody here yet.
func (w *world) inBackground(body obj) <-chan *answer {
	out := make(chan *answer, 1)
	done := make(chan struct{})
	w.t.Cleanup(func() {
		w.gate.open()
		<-done
	})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		res, err := w.client.Do(w.build(ctx, request{method: http.MethodPost, path: "/v1/chat", body: body, token: "work-token"}))
		if err != nil {
			w.t.Errorf("chat: %v", err)
			return
		}
		out <- readAnswer(w.t, res)
	}()
	return out
}

func TestEndedFromOutside(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *world, key string)
		code models.ErrorCode
	}{
		{"cancelled by an admin", func(w *world, key string) { w.admin(http.MethodPost, session(key)+"/cancel", nil).ok() }, models.CodeCancelled},
		{"stopped by its sender", func(w *world, _ string) { w.work(obj{"userId": "lin", "text": "/stop"}).ok() }, models.CodeCancelled},
		{"reset", func(w *world, key string) {
			w.work(obj{"userId": "lin", "text": "/reset"}).ok()
		}, models.CodeSuperseded},
		{"new slot", func(w *world, _ string) { w.work(obj{"userId": "lin", "text": "/new"}).ok() }, models.CodeSuperseded},
		{"deleted", func(w *world, key string) { w.admin(http.MethodDelete, session(key), nil).ok() }, models.CodeSuperseded},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, options{})
			running := w.inBackground(obj{"userId": "lin", "text": "hold"})
			await(t, "the model is asked", w.gate.entered)
			c.end(w, "agent:model:channel:any:scope:per_peer:api/work/lin")
			await(t, "the waiting client hears of it", running).want(http.StatusConflict, c.code)
			await(t, "the model call is cancelled", w.gate.gone)
		})
	}
}

func TestCommands(t *testing.T) {
	w := newWorld(t, options{})
	running := w.inBackground(obj{"userId": "lin", "text": "hold"})
	await(t, "the model is asked", w.gate.entered)
	for _, text := range []string{"/status", "/whoami", "帮助", "/help"} {
		a := w.work(obj{"userId": "lin", "text": text}).ok() // never behind the turn
		if a.str("state") != "done" || a.str("reply", "content") == "" {
			t.Errorf("%s: %s", text, a.body)
		}
	}
	w.gate.open()
	a := await(t, "the turn ends", running).content("hold")
	if n := len(w.admin(http.MethodGet, a.session()+"/messages", nil).ok().items()); n != 2 {
		t.Errorf("%d messages are stored: commands are no conversation", n)
	}
	w.work(obj{"userId": "lin", "text": "/unknown word"}).content("/unknown word")
	w.work(obj{"userId": "lin", "text": "/new work"}).ok()
	w.work(obj{"userId": "lin", "text": "in work"}).ok()
	w.work(obj{"userId": "lin", "text": "in default", "slot": "default"}).ok()
	if n := len(w.admin(http.MethodGet, a.session()+"/messages?slot=work", nil).ok().items()); n != 2 {
		t.Errorf("%d messages in the new slot", n)
	}
}

func TestClientThatGoesAwayCancelsNothing(t *testing.T) {
	w := newWorld(t, options{})
	for _, body := range []obj{{"userId": "lin", "text": "hold"}, {"userId": "max", "text": "hold", "stream": true}} {
		ctx, cancel := context.WithCancel(t.Context())
		req := w.build(ctx, request{method: http.MethodPost, path: "/v1/chat", body: body, token: "work-token"})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if res, err := w.client.Do(req); err == nil {
				_ = readAnswer(t, res)
			}
		}()
		await(t, "the model is asked", w.gate.entered)
		cancel()
		await(t, "the client is gone", ended)
	}
	w.gate.open()
	eventually(t, "both are done", func() bool { return len(w.admin(http.MethodGet, "/inbound?state=done", nil).ok().items()) == 2 })
}

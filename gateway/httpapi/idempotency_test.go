package httpapi_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

func TestRepeatOfAnAnswered(t *testing.T) {
	w := newWorld(t, options{})
	body := obj{"userId": "lin", "text": "hello", "messageId": "m1"}
	first := w.work(body).content("hello")
	if again := w.work(body).content("hello"); !bytes.Equal(again.body, first.body) {
		t.Errorf("the repeat got %s, not %s", again.body, first.body)
	}
	byHeader := w.do(request{method: http.MethodPost, path: "/v1/chat", token: "work-token", body: obj{"userId": "lin", "text": "hello"}, header: map[string]string{"Idempotency-Key": "m1"}})
	if !bytes.Equal(byHeader.ok().body, first.body) {
		t.Errorf("Idempotency-Key got %s, not %s", byHeader.body, first.body)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	w.work(obj{"userId": "lin", "text": "other", "messageId": "m1"}).want(http.StatusConflict, models.CodeConflict)
	w.work(obj{"userId": "lin", "text": "hello", "slot": "default", "messageId": "m1"}).ok().content("hello") // only the text tells
	w.do(request{method: http.MethodPost, path: "/v1/chat", body: body, header: map[string]string{"Idempotency-Key": "m2"}}).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.work(obj{"userId": "max", "text": "mine", "messageId": "m1"}).content("mine") // ids count per session
	w.chat(obj{"userId": "lin", "text": "there", "messageId": "m1"}).content("there")
}

func TestRepeatOfARunningOne(t *testing.T) {
	w := newWorld(t, options{})
	body := obj{"userId": "lin", "text": "hold", "messageId": "m1"}
	first := w.inBackground(body)
	await(t, "the model is asked", w.gate.entered)
	second := w.inBackground(body)
	w.gate.open()
	a, b := await(t, "first answer", first).content("hold"), await(t, "second answer", second).content("hold")
	if a.str("inboundId") != b.str("inboundId") || a.str("reply", "messageId") != b.str("reply", "messageId") {
		t.Errorf("two answers: %s and %s", a.body, b.body)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestRepeatOfAFailedOne(t *testing.T) {
	w := newWorld(t, options{})
	w.model.Script(agenttest.Fail(http.StatusBadRequest, "bad", "no"))
	body := obj{"userId": "lin", "text": "hello", "messageId": "m1"}
	w.work(body).want(http.StatusBadGateway, models.CodeAgentFailed)
	list := w.admin(http.MethodGet, "/inbound?state=failed", nil).ok()
	if len(list.items()) != 1 {
		t.Fatalf("failed ones: %s", list.body)
	}
	id := list.str("items", 0, "id")
	a := w.work(body).content("hello")
	if a.str("inboundId") != id {
		t.Errorf("it ran again as %s, want %s", a.str("inboundId"), id)
	}
	if n := len(w.admin(http.MethodGet, a.session()+"/messages", nil).ok().items()); n != 2 {
		t.Errorf("%d messages, want the one turn", n)
	}
}

func TestRepeatOfACancelledOne(t *testing.T) {
	w := newWorld(t, options{})
	body := obj{"userId": "lin", "text": "hold", "messageId": "m1"}
	first := w.inBackground(body)
	await(t, "the model is asked", w.gate.entered)
	w.work(obj{"userId": "lin", "text": "/stop"}).ok()
	await(t, "the first one ends", first).want(http.StatusConflict, models.CodeCancelled)
	w.gate.open()
	w.work(body).content("hold")
}

func TestRepeatOfOtherOutcomes(t *testing.T) {
	w := newWorld(t, options{})
	eve := obj{"userId": "eve", "text": "let me in", "messageId": "m1"}
	group := obj{"userId": "lin", "chatId": "g", "text": "aside", "messageId": "m2", "mentioned": false}
	for range 2 {
		w.work(eve).want(http.StatusForbidden, models.CodeForbidden)
		if got := w.work(group).ok().str("state"); got != "observed" {
			t.Errorf("state %q", got)
		}
	}
	reset := obj{"userId": "lin", "text": "hold", "messageId": "m3"}
	first := w.inBackground(reset)
	await(t, "the model is asked", w.gate.entered)
	w.work(obj{"userId": "lin", "text": "/reset"}).ok()
	await(t, "it ends", first).want(http.StatusConflict, models.CodeSuperseded)
	w.gate.open()
	w.work(reset).want(http.StatusConflict, models.CodeSuperseded)
	if n := len(w.admin(http.MethodGet, "/inbound", nil).ok().items()); n != 4 {
		t.Errorf("%d messages are stored, want 4", n)
	}
}

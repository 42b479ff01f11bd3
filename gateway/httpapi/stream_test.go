package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// event is one server-sent event.
type event struct{ name, data string }

// events opens a stream and passes on its events until it ends.
func (w *world) events(body obj) (<-chan event, *http.Response) {
	w.t.Helper()
	body["stream"] = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	res, err := w.client.Do(w.build(ctx, request{method: http.MethodPost, path: "/v1/chat", body: body, token: "work-token"}))
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	out, done := make(chan event, 1000), make(chan struct{})
	w.t.Cleanup(func() {
		w.gate.open()
		<-done
	})
	go func() {
		defer close(done)
		defer cancel()
		defer close(out)
		defer res.Body.Close()
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				out <- e
				e = event{}
			}
		}
	}()
	return out, res
}

func (e event) decode(t *testing.T) obj {
	t.Helper()
	var v obj
	if err := json.Unmarshal([]byte(e.data), &v); err != nil {
		t.Fatalf("event %s: %v: %s", e.name, err, e.data)
	}
	return v
}

func collect(events <-chan event) (all []event) {
	for e := range events {
		all = append(all, e)
	}
	return all
}

// names lists the kinds of events in order, runs of one kind once.
func names(all []event) string {
	var out []string
	for _, e := range all {
		if len(out) == 0 || out[len(out)-1] != e.name {
			out = append(out, e.name)
		}
	}
	return strings.Join(out, " ")
}

func texts(t *testing.T, all []event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range all {
		switch e.name {
		case "restart":
			b.Reset()
		case "delta":
			s, _ := e.decode(t)["text"].(string)
			b.WriteString(s)
		}
	}
	return b.String()
}

func TestStream(t *testing.T) {
	w := newWorld(t, options{})
	w.model.Script(agenttest.Reply{Text: "one two three four five six", ChunkRunes: 4})
	events, res := w.events(obj{"userId": "lin", "text": "count", "messageId": "m1"})
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("content type %q", got)
	}
	all := collect(events)
	if got := names(all); got != "accepted delta done" {
		t.Fatalf("events %q", got)
	}
	if got := texts(t, all); got != "one two three four five six" {
		t.Errorf("text %q", got)
	}
	last := all[len(all)-1]
	for e, schema := range map[*event]string{&all[0]: "Accepted", &last: "ChatResponse"} {
		if err := w.doc.validate("/components/schemas/"+schema, []byte(e.data)); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
	if last.decode(t)["inboundId"] != all[0].decode(t)["inboundId"] {
		t.Error("accepted and done name different messages")
	}
	// A repeat gets the stored answer as one delta.
	events, _ = w.events(obj{"userId": "lin", "text": "count", "messageId": "m1"})
	again := collect(events)
	if len(again) != 3 || texts(t, again) != "one two three four five six" || again[2] != last {
		t.Errorf("the repeat got %v", again)
	}
}

func TestStreamOfACommand(t *testing.T) {
	w := newWorld(t, options{})
	events, _ := w.events(obj{"userId": "lin", "text": "/whoami"})
	all := collect(events)
	if got := names(all); got != "accepted delta done" || !strings.Contains(texts(t, all), "lin") {
		t.Errorf("events %v", all)
	}
}

func TestStreamThatFails(t *testing.T) {
	w := newWorld(t, options{})
	w.model.Script(agenttest.Fail(http.StatusBadRequest, "bad", "no"))
	events, _ := w.events(obj{"userId": "lin", "text": "hi"})
	all := collect(events)
	if got := names(all); got != "accepted error" {
		t.Fatalf("events %q", got)
	}
	if err := w.doc.validate("/components/schemas/Error", []byte(all[1].data)); err != nil || !strings.Contains(all[1].data, string(models.CodeAgentFailed)) {
		t.Errorf("%v: %s", err, all[1].data)
	}
	// What is refused before it is accepted is no stream.
	w.work(obj{"userId": "lin", "text": "", "stream": true}).want(http.StatusBadRequest, models.CodeInvalidRequest)
}

// TestStreamThatStartsAgain retries the message while its first answer is half shown.
func TestStreamThatStartsAgain(t *testing.T) {
	w := newWorld(t, options{})
	w.model.Script(agenttest.Reply{Text: "the first answer, cut short", ChunkRunes: 6, Fault: agenttest.FaultSilence, After: 3}, agenttest.Say("second"))
	body := obj{"userId": "lin", "text": "hi", "messageId": "m1"}
	events, _ := w.events(body)
	accepted := await(t, "accepted", events)
	if got := await(t, "first words", events); got.name != "delta" {
		t.Fatalf("got %v", got)
	}
	w.admin(http.MethodPost, session(accepted.decode(t)["sessionKey"].(string))+"/cancel", nil).ok()
	if rest := collect(events); len(rest) == 0 || rest[len(rest)-1].name != "error" { // behind words that came meanwhile
		t.Errorf("the first stream ended with %v", rest)
	}
	events, _ = w.events(body)
	all := collect(events)
	if texts(t, all) != "second" || all[len(all)-1].name != "done" {
		t.Errorf("the second stream was %v", all)
	}
}

package httpapi_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/gateway/live"
	"github.com/chatkeep/chatkeep/models"
)

// tail is a client that follows the events.
type tail struct {
	t      *testing.T
	events <-chan liveEvent
	leave  context.CancelFunc
}

type liveEvent struct {
	id, name string
	obj
}

// follow begins to follow; what it returns ends with the test.
func (w *world) follow(query string, header map[string]string) *tail {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	res, err := w.client.Do(w.build(ctx, request{method: http.MethodGet, path: "/admin/v1/events" + query, token: adminToken, header: header}))
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		cancel()
		w.t.Fatalf("status %d", res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), ":") {
		w.t.Errorf("the answer begins with %q", lines.Text())
	}
	out, done := make(chan liveEvent, 1000), make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		defer res.Body.Close()
		var e liveEvent
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				if err := w.doc.validate("/components/schemas/Event", []byte(value)); err != nil {
					w.t.Errorf("event %s: %v", value, err)
				}
				e.obj = event{e.name, value}.decode(w.t)
				out <- e
				e = liveEvent{}
			}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
	return &tail{w.t, out, cancel}
}

// until reads up to the first event of which fits, and returns all of them.
func (l *tail) until(what string, fits func(e liveEvent) bool) []liveEvent {
	l.t.Helper()
	var all []liveEvent
	for e := range l.events {
		all = append(all, e)
		if fits(e) {
			return all
		}
	}
	l.t.Fatalf("%s did not come; what came: %v", what, all)
	return nil
}

func namesOf(all []liveEvent) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.name
	}
	return out
}

func is(name string) func(liveEvent) bool { return func(e liveEvent) bool { return e.name == name } }

func TestLiveEvents(t *testing.T) {
	w := newWorld(t, options{})
	shown := w.follow("", nil)
	said := w.chat(obj{"userId": "lin", "text": "c4n4ry of lin"}).ok()
	key, inbound := said.get("sessionKey"), said.get("inboundId")
	all := shown.until("the outcome", is("turn.finished"))
	got := slices.DeleteFunc(namesOf(all), func(name string) bool { return name == "channel.state" })
	if strings.Join(got, " ") != "message.accepted turn.started message.state turn.finished" {
		t.Errorf("events %v", got)
	}
	for _, e := range all {
		if e.name == "channel.state" {
			continue
		}
		if e.obj["sessionKey"] != key || e.obj["inboundId"] != inbound || e.obj["replica"] != "test" || e.obj["type"] != e.name || e.id == "" {
			t.Errorf("event %s: %v", e.name, e.obj)
		}
	}
	last := all[len(all)-1].obj
	if last["state"] != "done" || last["agentId"] != "assistant" || last["completionTokens"] == nil {
		t.Errorf("the end of the turn: %v", last)
	}

	// A command, and what an administrator does.
	w.chat(obj{"userId": "lin", "text": "/whoami"}).ok()
	shown.until("the command", func(e liveEvent) bool { return e.name == "message.state" && e.obj["kind"] == "command" })
	path := session(key.(string))
	w.admin(http.MethodPost, path+"/slots", obj{"id": "work"}).want(http.StatusCreated, "")
	w.admin(http.MethodPost, path+"/slots/work/switch", nil).ok()
	w.admin(http.MethodPost, path+"/reset?dryRun=true", nil).ok()
	w.admin(http.MethodPost, path+"/slots/none/switch", nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodGet, path, nil).ok()
	w.admin(http.MethodPatch, path, obj{"title": "c4n4ry"}).ok()
	var done []string
	for _, e := range shown.until("the patch", is("session.changed")) {
		action, _ := e.obj["action"].(string)
		slot, _ := e.obj["slot"].(string)
		done = append(done, strings.TrimSpace(e.name+" "+action+" "+slot))
	}
	if got := strings.Join(done, ", "); got != "slot.changed create, slot.changed switch work, session.changed patch" {
		t.Errorf("an administrator's changes: %s", got)
	}
}

// TestLiveEventsHoldNoText looks for what was said, and for tokens, in all that is sent.
func TestLiveEventsHoldNoText(t *testing.T) {
	w := newWorld(t, options{})
	shown := w.follow("", nil)
	w.chat(obj{"userId": "lin", "text": "c4n4ry"}).ok()
	w.work(obj{"userId": "lin", "text": "c4n4ry"})
	w.do(request{method: http.MethodPost, path: "/v1/chat", token: teamToken, body: obj{"userId": "eve", "text": "c4n4ry"}})
	w.admin(http.MethodPost, "/deliveries", obj{"channel": "fake", "account": "main", "chatId": "chat", "text": "c4n4ry"}).want(http.StatusAccepted, "")
	all := shown.until("the delivery", func(e liveEvent) bool { return e.name == "delivery.state" && e.obj["state"] == "delivered" })
	for _, e := range all {
		for name, value := range e.obj {
			if s, ok := value.(string); ok && (strings.Contains(s, "c4n4ry") || strings.Contains(s, "canary")) {
				t.Errorf("%s: %s is %q", e.name, name, s)
			}
		}
	}
	if !slices.ContainsFunc(all, func(e liveEvent) bool { return e.name == "delivery.state" && e.obj["state"] == "pending" }) {
		t.Errorf("no pending delivery in %v", namesOf(all))
	}
}

func TestLiveFilterAndResume(t *testing.T) {
	w := newWorld(t, options{})
	first := w.follow("", nil)
	lin := w.chat(obj{"userId": "lin", "text": "one"}).ok().get("sessionKey").(string)
	seen := first.until("lin's turn", is("turn.started"))
	mine := w.follow("?type=turn.finished,message.accepted&session="+url.QueryEscape(lin), nil)
	w.chat(obj{"userId": "kim", "text": "two"}).ok()
	w.chat(obj{"userId": "lin", "text": "three"}).ok()
	for _, e := range mine.until("the second end", is("turn.finished")) {
		if e.obj["sessionKey"] != lin || e.name != "message.accepted" && e.name != "turn.finished" {
			t.Errorf("%s of %v came through", e.name, e.obj["sessionKey"])
		}
	}
	// Whoever comes back gets what came meanwhile, by either way of asking.
	after := seen[len(seen)-1].id
	only := "?session=" + url.QueryEscape(lin) + "&after="
	for _, back := range []*tail{w.follow(only+after, nil), w.follow(only+"nonsense", map[string]string{"Last-Event-ID": after})} {
		if got := strings.Join(namesOf(back.until("the end", is("turn.finished"))), " "); got != "message.state turn.finished" {
			t.Errorf("after %s: %s", after, got)
		}
	}
	strange := w.follow("?after=0", nil)
	if got := namesOf(strange.until("a turn", is("turn.started"))); got[0] != "missed" || !slices.Contains(got, "message.accepted") {
		t.Errorf("after an id of nobody: %v", got)
	}
}

func TestLiveRefuses(t *testing.T) {
	w := newWorld(t, options{})
	w.admin(http.MethodGet, "/events?type=everything", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodGet, "/events?type=missed", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodGet, "/events?session=nonsense", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.do(request{method: http.MethodGet, path: "/admin/v1/events", token: teamToken}).want(http.StatusUnauthorized, models.CodeUnauthorized)
	tails := make([]*tail, 32)
	for i := range tails {
		tails[i] = w.follow("", nil)
	}
	full := w.admin(http.MethodGet, "/events", nil).want(http.StatusTooManyRequests, models.CodeRateLimited)
	if full.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	tails[0].leave()
	eventually(t, "the place is free", func() bool {
		watcher, err := w.gateway.Live().Watch(live.Filter{}, "")
		if err == nil {
			watcher.Close()
		}
		return err == nil
	})
}

// TestDeafWatchersAreCut has a client that never reads: nobody who publishes waits for
// it, and it does not keep its place.
func TestDeafWatchersAreCut(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.WriteTimeout = 200 * time.Millisecond }})
	w.raw("GET /admin/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + adminToken + "\r\n\r\n")
	large := live.Event{Type: live.JobFinished, Job: strings.Repeat("x", 256<<10)}
	ended := `http_request_duration_seconds_count{code="200",method="GET",route="/admin/v1/events"} 1`
	eventually(t, "the handler has ended", func() bool {
		w.gateway.Live().Publish(large)
		metrics := w.do(request{method: http.MethodGet, path: "/metrics"}).ok()
		return strings.Contains(string(metrics.body), ended)
	})
}

// TestLiveEndsWithTheGateway sees the last events, and then the end.
func TestLiveEndsWithTheGateway(t *testing.T) {
	w := newWorld(t, options{})
	shown := w.follow("", nil)
	w.gateway.Live().Close()
	for range shown.events {
		continue
	}
	w.admin(http.MethodGet, "/events", nil).want(http.StatusServiceUnavailable, models.CodeUnavailable)
}

package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/internal/signature"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// hooked is what a URL got.
type hooked struct {
	header http.Header
	body   string
}

// newHook answers with the given statuses, then with 200, and keeps what it gets.
func newHook(t *testing.T, statuses ...int) (*httptest.Server, func() []hooked) {
	t.Helper()
	var mu sync.Mutex
	var got []hooked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, hooked{r.Header, string(body)})
		if n := len(got); n <= len(statuses) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(statuses[n-1])
		}
	}))
	t.Cleanup(server.Close)
	return server, func() []hooked {
		mu.Lock()
		defer mu.Unlock()
		return append([]hooked(nil), got...)
	}
}

// guarded is a client as the program makes it, for which only the server is allowed of
// what is private.
func guarded(t *testing.T, server *httptest.Server) *http.Client {
	t.Helper()
	policy, err := dial.ParsePolicy(nil, []string{server.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	guard := dial.New(policy)
	t.Cleanup(guard.CloseIdleConnections)
	client := guard.HTTPClient(10 * time.Second)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func TestTaskPostsToAURL(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	server, got := newHook(t, http.StatusServiceUnavailable)
	r := newRig(t)
	r.settings.TaskHooks = guarded(t, server)
	r.start()
	r.scheduled("hook", func(t *models.Task) { t.Deliver = &models.TaskTarget{URL: server.URL + "/in", Secret: secret} })
	run := r.ran("hook", 1)
	if run.State != models.RunDone || run.DeliveryState != models.RunDeliveryDelivered || run.SessionKey != "agent:assistant:channel:task:scope:task:hook" {
		t.Fatalf("run %+v", run)
	}
	posts := got()
	if len(posts) != 2 || posts[0].body != posts[1].body {
		t.Fatalf("posts %+v", posts)
	}
	for _, p := range posts {
		var body struct{ ID, TaskID, InboundID, Text string }
		if err := json.Unmarshal([]byte(p.body), &body); err != nil || body.TaskID != "hook" || body.Text != "re: summarise hook" || body.InboundID != run.InboundID {
			t.Errorf("posted %s, %v", p.body, err)
		}
		if p.header.Get("Idempotency-Key") != body.ID || body.ID == "" {
			t.Errorf("headers %v", p.header)
		}
		if want := signature.Sign(secret, p.header.Get("X-Chatkeep-Timestamp"), []byte(p.body)); p.header.Get("X-Chatkeep-Signature") != want {
			t.Errorf("signature %q, want %q", p.header.Get("X-Chatkeep-Signature"), want)
		}
	}
	view, err := r.gateway.Task(context.Background(), "hook")
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := json.Marshal(view); err != nil || strings.Contains(string(shown), secret) || !strings.Contains(string(shown), models.Hidden) {
		t.Errorf("shown is %s, %v", shown, err)
	}
}

// What a URL refuses is final, and nothing is posted anywhere else; what it puts off is
// tried again, but not for ever.
func TestTaskHookThatRefuses(t *testing.T) {
	t.Parallel()
	redirects, redirected := newHook(t, http.StatusTemporaryRedirect)
	forbids, forbidden := newHook(t, http.StatusForbidden)
	for name, c := range map[string]struct {
		server *httptest.Server
		got    func() []hooked
		url    string
		why    string
		posts  int
	}{
		"redirect": {redirects, redirected, redirects.URL, "the URL answered 307", 1},
		"refused":  {forbids, forbidden, forbids.URL, "the URL answered 403", 1},
		"private":  {forbids, forbidden, "http://127.0.0.1:1/", "not public", 0},
		"metadata": {forbids, forbidden, "http://169.254.169.254/latest", "not public", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(c.got())
			r := newRig(t)
			r.settings.TaskHooks = guarded(t, c.server)
			r.start()
			r.scheduled("hook", func(t *models.Task) { t.Deliver, t.NotifyAfter = &models.TaskTarget{URL: c.url}, 1 })
			if run := r.ran("hook", 1); run.State != models.RunDone || run.DeliveryState != models.RunDeliveryFailed {
				t.Errorf("run %+v", run)
			}
			d := r.deliveries()
			if failed := d[len(d)-1]; failed.State != models.DeliveryFailed || !strings.Contains(failed.Error, c.why) || strings.Contains(failed.Error, "127.0.0.1") {
				t.Errorf("delivery is %s: %s", failed.State, failed.Error)
			}
			if n := len(c.got()) - before; n != c.posts {
				t.Errorf("%d posts", n)
			}
			r.until("the owner is told", func() bool { return len(r.platform.screen()) == 1 }) // a failed delivery counts
		})
	}
}

// The last attempt that is allowed fails for good. A URL that is down is not forgotten
// before.
func TestTaskHookGivesUp(t *testing.T) {
	t.Parallel()
	server, got := newHook(t, http.StatusBadGateway, http.StatusBadGateway)
	r := newRig(t)
	r.settings.TaskHooks = guarded(t, server)
	r.start()
	r.scheduled("hook", func(t *models.Task) { t.Deliver = &models.TaskTarget{URL: server.URL} })
	r.until("it was tried", func() bool { return len(got()) > 0 })
	r.until("it waits", func() bool {
		d := r.deliveries()
		return len(d) == 1 && d[0].State == models.DeliveryPending && d[0].Attempts == 1
	})
	sender := r.gateway.Sender("task", "hook")
	d := *r.deliveries()[0]
	d.Attempts, d.Target.Ref = 11, []byte(server.URL)
	_, err := sender.Send(context.Background(), &d)
	if err == nil || !strings.Contains(err.Error(), "given up after 12 attempts") {
		t.Errorf("the twelfth attempt: %v", err)
	}
}

// A server that is not there is Unknown: it is tried again, and recognised by its id.
func TestTaskHookWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) > 1 {
			return
		}
		if hijacker, ok := w.(http.Hijacker); ok {
			var conn net.Conn
			if conn, _, _ = hijacker.Hijack(); conn != nil {
				_ = conn.Close()
			}
		}
	}))
	defer server.Close()
	r := newRig(t)
	r.settings.TaskHooks = guarded(t, server)
	r.start()
	r.scheduled("hook", func(t *models.Task) { t.Deliver = &models.TaskTarget{URL: server.URL} })
	if run := r.ran("hook", 1); run.DeliveryState != models.RunDeliveryDelivered || calls.Load() != 2 {
		t.Errorf("delivery is %s after %d posts", run.DeliveryState, calls.Load())
	}
}

// Nothing is posted for a task that was deleted.
func TestTaskHookOfADeletedTask(t *testing.T) {
	t.Parallel()
	server, got := newHook(t)
	r := newRig(t)
	r.settings.TaskHooks = guarded(t, server)
	r.start()
	r.scheduled("hook", func(t *models.Task) {
		t.Deliver, t.Prompt = &models.TaskTarget{URL: server.URL, Secret: "s3cret"}, hold
	})
	r.running(hold)
	if err := r.gateway.DeleteTask(context.Background(), "hook"); err != nil {
		t.Fatal(err)
	}
	r.mind.release()
	r.until("the delivery is refused", func() bool {
		d := r.deliveries()
		return len(d) == 1 && d[0].State == models.DeliveryFailed && strings.Contains(d[0].Error, "deleted")
	})
	if len(got()) > 0 {
		t.Errorf("posted %+v", got())
	}
	if _, err := r.store.Task(context.Background(), "hook"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

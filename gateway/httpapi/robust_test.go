package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/echo"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/models"
)

func TestRequestIDs(t *testing.T) {
	w := newWorld(t, options{})
	get := func(id string) string {
		return w.do(request{method: http.MethodGet, path: "/nothing", header: map[string]string{"X-Request-Id": id}}).want(404, models.CodeNotFound).header.Get("X-Request-ID")
	}
	for _, id := range []string{"r-1", "a b:c/d", strings.Repeat("x", 256)} {
		if got := get(id); got != id {
			t.Errorf("%q was answered as %q", id, got)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 257), "a\xff", "a\tb"} {
		if got := get(id); got == id || len(got) != 36 {
			t.Errorf("%q was answered as %q", id, got)
		}
	}
}

// panicking is an agent with a bug.
type panicking struct{}

func (panicking) Respond(_ context.Context, r *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	if r.Stream {
		emit(agents.Event{Delta: "half an ans"})
	}
	panic("canary-panic")
}

func TestPanics(t *testing.T) {
	w := newWorld(t, options{
		http: func(c *httpapi.Config) {
			c.Redacted = func() ([]byte, error) { panic("canary-panic") }
			c.Agents = append(c.Agents, httpapi.AgentInfo{ID: "panicking"})
		},
		settings: func(s *gateway.Settings) {
			s.Agents["panicking"] = gateway.Agent{ID: "panicking", Agent: panicking{}, Timeout: time.Minute}
		},
	})
	trace := map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Request-Id": "r-42"}
	a := w.do(request{method: http.MethodGet, path: "/admin/v1/config", token: adminToken, header: trace}).want(http.StatusServiceUnavailable, models.CodeUnavailable)
	if strings.Contains(string(a.body), "canary") {
		t.Errorf("the panic is shown: %s", a.body)
	}
	for _, want := range []string{"panic.value=string", "robust_test.go", "4bf92f3577b34da6a3ce929d0e0e4736", "r-42", "/admin/v1/config"} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log does not hold %s", want)
		}
	}
	ask := obj{"model": "panicking", "messages": []obj{{"role": "user", "content": "hi"}}}
	w.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: ask}).want(http.StatusServiceUnavailable, models.CodeUnavailable)
	ask["stream"] = true
	res, err := w.client.Do(w.build(t.Context(), request{method: http.MethodPost, path: "/v1/chat/completions", body: ask}))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a stream that broke ended as if it were whole: %s", body)
	}
	w.do(request{method: http.MethodPost, path: "/v1/chat/completions", header: map[string]string{"X-Chatkeep-Chat-Id": "c"}, body: obj{
		"model": "panicking", "messages": []obj{{"role": "user", "content": "hi"}},
	}}).want(http.StatusBadGateway, models.CodeAgentFailed)
	w.chat(obj{"userId": "lin", "text": "still here"}).content("still here")
	if log := w.log.String(); strings.Contains(log, "canary") || !strings.Contains(log, "agent panicked") {
		t.Errorf("the log holds what the panic says, or not where it was: %s", log)
	}
}

// TestWaitsOutlastTheReadTimeout: the server's read timeout is for bodies, not for
// clients that wait for an answer.
func TestWaitsOutlastTheReadTimeout(t *testing.T) {
	const readTimeout = 200 * time.Millisecond
	w := newWorld(t, options{
		echo:   echo.Config{Delay: 4 * readTimeout},
		server: func(s *http.Server) { s.ReadTimeout = readTimeout },
		http:   func(c *httpapi.Config) { c.WriteTimeout = readTimeout },
	})
	w.chat(obj{"userId": "lin", "text": "slow"}).content("slow")
	res, err := w.client.Do(w.build(t.Context(), request{method: http.MethodPost, path: "/v1/chat", body: obj{"userId": "lin", "text": "slower", "stream": true}}))
	if err != nil {
		t.Fatal(err)
	}
	if a := readAnswer(t, res); !strings.Contains(string(a.body), "event: done") {
		t.Errorf("the stream was cut: %s", a.body)
	}
}

// raw opens a connection and writes the beginning of a request.
func (w *world) raw(head string) net.Conn {
	w.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	if deadline, ok := w.t.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, head); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

func TestSlowBodiesAreCut(t *testing.T) {
	w := newWorld(t, options{server: func(s *http.Server) {
		s.ReadHeaderTimeout, s.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
	}})
	headers := w.raw("POST /v1/chat HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	if rest, _ := io.ReadAll(headers); strings.Contains(string(rest), " 200 ") {
		t.Errorf("half a header was answered: %s", rest)
	}
	body := w.raw("POST /v1/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"userId\":")
	res, err := http.ReadResponse(bufio.NewReader(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	readAnswer(t, res).want(http.StatusBadRequest, models.CodeInvalidRequest)
	if n := len(w.admin(http.MethodGet, "/inbound", nil).ok().items()); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
}

// TestDeafClientsAreCut has clients that send a request and never read the answer.
func TestDeafClientsAreCut(t *testing.T) {
	huge := strings.Repeat("x", 8<<20) // more than the kernel's buffers hold
	w := newWorld(t, options{
		http: func(c *httpapi.Config) {
			c.WriteTimeout = 200 * time.Millisecond
			c.Redacted = func() ([]byte, error) { return []byte(`"` + huge + `"`), nil }
		},
		settings: func(s *gateway.Settings) {
			s.Agents["assistant"] = gateway.Agent{ID: "assistant", Agent: talkative{huge}, Timeout: time.Minute}
		},
	})
	body := `{"model":"assistant","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	w.raw(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	w.raw("GET /admin/v1/config HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + adminToken + "\r\n\r\n")
	finished := regexp.MustCompile(`chatkeep_http_request_duration_seconds_count\{[^}]*route="(/v1/chat/completions|/admin/v1/config)"\} 1`)
	eventually(t, "both handlers have ended", func() bool {
		metrics := w.do(request{method: http.MethodGet, path: "/metrics"}).ok()
		return len(finished.FindAll(metrics.body, -1)) == 2
	})
}

// talkative is an agent with a lot to say.
type talkative struct{ text string }

func (a talkative) Respond(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	for range 4 {
		emit(agents.Event{Delta: a.text})
		if ctx.Err() != nil {
			return nil, &agents.Error{Kind: agents.Transient, Err: ctx.Err()}
		}
	}
	return &agents.Response{Messages: []*models.SessionMessage{{Role: models.RoleAssistant, Content: a.text}}}, nil
}

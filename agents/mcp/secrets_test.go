package mcp

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
)

// A server over HTTP gets its headers with every request; where it redirects to gets none.
func TestHeadersGoToTheServerAlone(t *testing.T) {
	var with, without, leaked atomic.Int64
	handler := mcptest.Handler((&mcptest.Server{}).MCP(), time.Minute)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			leaked.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	var redirect atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "s3cret" {
			with.Add(1)
		} else {
			without.Add(1)
		}
		if redirect.Load() {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	for _, s := range []*httptest.Server{server, elsewhere} {
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
	}
	m, _ := manage(t, Server{Name: "web", URL: server.URL, Headers: map[string]string{"X-Key": "s3cret"}})
	if got := call(t, find(t, m, "web", "web__echo"), `{"text":"hi"}`); got.Text != "hi" {
		t.Fatalf("got %+v", got)
	}
	redirect.Store(true)
	tool := find(t, m, "web", "web__echo")
	_, _ = tool.Call(t.Context(), []byte(`{"text":"hi"}`), "key") // the other server does not know the session
	if with.Load() == 0 || without.Load() != 0 || leaked.Load() != 0 {
		t.Errorf("%d requests with the header, %d without, %d leaked", with.Load(), without.Load(), leaked.Load())
	}
}

// A command gets what is configured for it; the time that a call may take is said with the tool.
func TestEnvironmentAndTimeoutOfAServer(t *testing.T) {
	command := command("server")
	m, _ := manage(t, Server{Name: "local", Command: command[2:], Env: map[string]string{actAs: "server"}, Timeout: 5 * time.Second})
	tool := find(t, m, "local", "local__echo")
	if got := call(t, tool, `{"text":"hi"}`); got.Text != "hi" || tool.Spec().Timeout != 5*time.Second {
		t.Errorf("got %+v, timeout %s", got, tool.Spec().Timeout)
	}
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestFloodArrives(t *testing.T) {
	m, _ := manage(t, Server{Name: "web", URL: serve(t, &mcptest.Server{})}, Server{Name: "local", Command: command("server")})
	for _, server := range []string{"web", "local"} {
		if got := call(t, find(t, m, server, server+"__flood"), `{"bytes":5000000}`); len(got.Text) != 5_000_000 {
			t.Errorf("%s: %d bytes", server, len(got.Text))
		}
	}
}

// What is more than a message may have ends the connection, not the program.
func TestFloodWithoutEnd(t *testing.T) {
	m, _ := manage(t, Server{Name: "web", URL: serve(t, &mcptest.Server{})}, Server{Name: "local", Command: command("server")})
	for _, server := range []string{"web", "local"} {
		tool := find(t, m, server, server+"__flood")
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		_, err := tool.Call(ctx, fmt.Appendf(nil, `{"bytes":%d}`, maxMessage+1), "key")
		cancel()
		if err == nil {
			t.Errorf("%s: a result of more than %d bytes came through", server, maxMessage)
		}
	}
}

func TestEndOfContextEndsTheCall(t *testing.T) {
	forget := make(chan struct{})
	defer close(forget)
	m, _ := manage(t,
		Server{Name: "web", URL: serve(t, &mcptest.Server{Forget: forget})}, Server{Name: "local", Command: command("server")})
	c := clock.Real()
	for _, name := range []string{"web__hang", "web__deaf", "local__hang", "local__deaf"} {
		server, _, _ := strings.Cut(name, "__")
		tool := find(t, m, server, name)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := c.Now()
		_, err := tool.Call(ctx, []byte(`{}`), "key")
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || c.Now().Sub(began) > 2*time.Second {
			t.Errorf("%s: %v after %s", name, err, c.Now().Sub(began))
		}
		if got := call(t, find(t, m, server, server+"__echo"), `{"text":"still here"}`); got.Text != "still here" {
			t.Errorf("after %s: %+v", name, got)
		}
	}
}

// A server that dies in a call costs that call. It is there again soon after.
func TestServerDies(t *testing.T) {
	m, log := manage(t, Server{Name: "local", Command: command("server")})
	for i, name := range []string{"local__die", "local__panic"} {
		tool := find(t, m, "local", name)
		if _, err := tool.Call(t.Context(), []byte(`{}`), "key"); !errors.Is(err, errAbsent) {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, "the restart", func() bool { return strings.Count(log.String(), "MCP server connected") == i+2 })
		if got := call(t, find(t, m, "local", "local__echo"), `{"text":"again"}`); got.Text != "again" {
			t.Errorf("after %s: %+v", name, got)
		}
	}
	if !strings.Contains(log.String(), "asked to panic") {
		t.Error("the log does not have what the server wrote before its end")
	}
}

// A server that reads nothing blocks the writes to it. The connection is then given
// up, so that no goroutine stays behind.
func TestBlockedWriteIsGivenUp(t *testing.T) {
	l := newLink(Server{Name: "blocked", Command: command("blocked")}, nil, clock.Real(), nopLog)
	w, err := l.dial()
	if err != nil {
		t.Fatal(err)
	}
	p := w.(*process)
	wrote := make(chan error, 1)
	go func() {
		_, err := p.pipe.Write(make([]byte, 1<<20))
		wrote <- err
	}()
	fake := clock.NewFake(time.Time{})
	c := &conn{wire: w, clock: fake}
	killed := make(chan struct{})
	go func() { defer close(killed); c.killUnless(make(chan struct{})) }()
	eventually(t, "the end", func() bool {
		fake.Advance(deafTimeout)
		select {
		case err := <-wrote:
			return err != nil
		default:
			return false
		}
	})
	<-killed
}

// wireServer answers by hand, as no library would.
func wireServer(t *testing.T, results string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		id := "0"
		if _, after, ok := strings.Cut(string(raw), `"id":`); ok {
			id = strings.TrimRight(after[:strings.IndexAny(after, ",}")], " ")
		}
		answer := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`)
		}
		switch text := string(raw); {
		case strings.Contains(text, `"initialize"`):
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`)
		case strings.Contains(text, `"tools/list"`):
			answer(`{"tools":[{"name":"bad name 名","description":"\u0000 d` + "\xff" + `","inputSchema":{}},{"name":"ok","inputSchema":{"type":"object"}}]}`)
		case strings.Contains(text, `"tools/call"`):
			answer(results)
		case strings.Contains(text, `"server/discover"`):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func TestInvalidText(t *testing.T) {
	m, _ := manage(t, Server{Name: "w", URL: wireServer(t, `{"content":[{"type":"text","text":"a`+"\xff\xfe"+`b\u0000c"}]}`)})
	got := call(t, find(t, m, "w", "w__ok"), `{}`)
	if !utf8.ValidString(got.Text) || strings.Contains(got.Text, "\x00") || !strings.HasPrefix(got.Text, "a\uFFFD") || !strings.HasSuffix(got.Text, "b\uFFFDc") {
		t.Errorf("got %q", got.Text)
	}
	tools, _ := m.Toolset([]string{"w"}).Tools(t.Context())
	for _, tool := range tools {
		spec := tool.Spec()
		if !utf8.ValidString(spec.Description) || strings.Contains(spec.Description, "\x00") {
			t.Errorf("description %q", spec.Description)
		}
	}
}

// A result that cannot be read costs its call.
func TestMalformedResult(t *testing.T) {
	for _, results := range []string{`{"content":[{"type":"hologram"}]}`, `"what"`, `{"content":null}`, `{`} {
		m, _ := manage(t, Server{Name: "w", URL: wireServer(t, results)})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		got, err := find(t, m, "w", "w__ok").Call(ctx, []byte(`{}`), "key")
		cancel()
		if err == nil && (got.Text != "" || len(got.Images) != 0) {
			t.Errorf("%s: %+v, %v", results, got, err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the call hung", results)
		}
		m.Close()
	}
}

package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// actAs makes this program the server of a test instead.
const actAs = "MCPTEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "":
		goleak.VerifyTestMain(m)
	case "server":
		fmt.Println("Welcome to the server, listening on stdio")
		fmt.Fprintln(os.Stderr, "server starts")
		_ = (&mcptest.Server{}).Stdio(context.Background())
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "blocked":
		select {} // reads nothing, ends by nothing but force
	}
}

// command is a server of this program that behaves as told.
func command(as string) []string { return []string{"env", actAs + "=" + as, os.Args[0]} }

// logged is a log that a test can look into.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// manage returns a manager that the test closes.
func manage(t *testing.T, servers ...Server) (*Manager, *logged) {
	t.Helper()
	log := &logged{}
	transport := &http.Transport{}
	m := New(servers, &http.Client{Transport: transport}, clock.Real(), slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() {
		m.Close()
		transport.CloseIdleConnections()
	})
	return m, log
}

// serve serves over HTTP until the test ends.
func serve(t *testing.T, s *mcptest.Server) string {
	t.Helper()
	server := httptest.NewServer(mcptest.Handler(s.MCP(), time.Minute))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// find returns the one tool with a name.
func find(t *testing.T, m *Manager, server, name string) agents.Tool {
	t.Helper()
	tools, err := m.Toolset([]string{server}).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s among %d", name, len(tools))
	return nil
}

func call(t *testing.T, tool agents.Tool, args string) agents.ToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	result, err := tool.Call(ctx, []byte(args), "key")
	if err != nil {
		t.Fatalf("%s: %v", tool.Spec().Name, err)
	}
	return result
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for !holds() {
		if clock.Sleep(ctx, clock.Real(), 20*time.Millisecond) != nil {
			t.Fatalf("never happened: %s", what)
		}
	}
}

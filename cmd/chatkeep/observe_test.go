package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/chatkeep/chatkeep/internal/tracing/tracingtest"
)

// TestObservedUntilTheEnd follows a server that is stopped: the events end in order, and
// what was traced until then is with the collector.
func TestObservedUntilTheEnd(t *testing.T) {
	receiver := tracingtest.New()
	t.Cleanup(receiver.Close)
	p := newPlace(t, "server: {shutdownGrace: 20s}\n")
	server, url := p.serve("CHATKEEP_TRACING_ENDPOINT=" + receiver.URL())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/admin/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	lines := bufio.NewReader(events.Body)
	if first, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(first, ":") {
		t.Fatalf("the events begin with %q, %v", first, err)
	}
	if said := say(t, url, "lin", "", "c4n4ry"); said.status != http.StatusOK {
		t.Fatalf("said: %+v", said)
	}
	server.signal(syscall.SIGTERM)
	rest, err := io.ReadAll(lines)
	if err != nil || !bytes.Contains(rest, []byte("event: turn.finished")) || bytes.Contains(rest, []byte("c4n4ry")) {
		t.Errorf("%v; the events were:\n%s", err, rest)
	}
	if code := server.wait(); code != exitDone || strings.Contains(server.err.String(), "connections were cut") {
		t.Errorf("serve: exit %d: %s", code, server.err.String())
	}
	if len(receiver.Find("turn")) != 1 || len(receiver.Find("POST /v1/chat")) != 1 || len(receiver.Problems()) > 0 {
		t.Errorf("spans %+v, problems %v", receiver.Spans(), receiver.Problems())
	}
	if bytes.Contains(receiver.Raw(), []byte("c4n4ry")) {
		t.Error("a span holds what was said")
	}
}

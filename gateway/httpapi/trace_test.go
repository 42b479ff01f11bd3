package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/internal/tracing/tracingtest"
	"github.com/chatkeep/chatkeep/models"
)

// TestTracedRequests follows a caller's trace through the request into the turn.
func TestTracedRequests(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	receiver := tracingtest.New()
	t.Cleanup(receiver.Close)
	tracer, err := tracing.New(tracing.Config{Endpoint: receiver.URL(), Version: "test", Replica: "test"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	w := newWorld(t, options{tracer: tracer})
	parent := map[string]string{"traceparent": "00-" + trace + "-" + span + "-01"}
	w.do(request{method: http.MethodPost, path: "/v1/chat?note=c4n4ry", header: parent, body: obj{"userId": "lin", "text": "c4n4ry"}}).ok()
	w.admin(http.MethodPost, "/access/requests/c4n4ry/approve", nil).want(http.StatusNotFound, models.CodeNotFound)
	w.do(request{method: http.MethodGet, path: "/healthz"}).ok()
	w.do(request{method: http.MethodGet, path: "/nowhere/c4n4ry"}).want(http.StatusNotFound, models.CodeNotFound)
	live := w.follow("", nil)
	live.leave()
	eventually(t, "the turn is told of", func() bool { return w.gateway.Running() == 0 })
	tracer.Close()

	requests := map[string]tracingtest.Span{}
	for _, s := range receiver.Spans() {
		if strings.Contains(s.Name, "/") {
			requests[s.Name] = s
		}
	}
	chat, approve := requests["POST /v1/chat"], requests["POST /admin/v1/access/requests/:code/approve"]
	if len(requests) != 2 || chat.Trace != trace || chat.Parent != span || chat.Attributes["http.response.status_code"] != "200" ||
		approve.Attributes["http.response.status_code"] != "404" || approve.Trace == trace || approve.Failed {
		t.Errorf("requests: %+v", requests)
	}
	accept, turn := receiver.Find("accept"), receiver.Find("turn")
	if len(accept) != 1 || len(turn) != 1 || accept[0].Parent != chat.ID || turn[0].Parent != accept[0].ID || turn[0].Trace != trace {
		t.Errorf("accept %+v, turn %+v", accept, turn)
	}
	if raw := receiver.Raw(); bytes.Contains(raw, []byte("c4n4ry")) || bytes.Contains(raw, []byte("canary")) {
		t.Errorf("a span holds a text, a path or a token: %q", raw)
	}
}

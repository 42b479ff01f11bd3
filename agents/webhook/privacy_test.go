package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// What a service says of a failure may quote the conversation: only a code is told.
func TestErrorsQuoteNothing(t *testing.T) {
	const said = "my salary is 5000"
	for body, want := range map[string]string{
		"":  "status 400",
		"e": "service reports a failure",
		"c": "service reports a failure: code out_of_stock",
		"w": "service reports a failure",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if body == "" {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprint(w, said)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			data := map[string]string{"e": said, "c": `{"message":"` + said + `","code":"out_of_stock"}`, "w": `{"message":"` + said + `","code":"` + said + `"}`}[body]
			_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", data)
		}))
		agent, err := New(Config{URL: server.URL + "?key=s3cret", RetryBudget: -1}, server.Client(), clock.Real())
		if err != nil {
			t.Fatal(err)
		}
		_, err = agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if err == nil || strings.Contains(err.Error(), "salary") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
		server.Close()
		if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a connection that fails says %v", err)
		}
	}
}

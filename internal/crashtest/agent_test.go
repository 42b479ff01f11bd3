package crashtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// mind is the user's own service behind the webhook agent. It answers "re: " and
// what was said, takes its time, and sees what no client of the gateway sees: who
// calls when, and whether two calls for one session overlap.
type mind struct {
	url  string
	pace time.Duration

	mu       sync.Mutex
	calls    []*call
	active   map[string]int // calls by session
	overlaps []string
	release  chan struct{} // ends the waiting of held calls
}

// call is one request of a replica for an answer.
type call struct {
	session, inbound string
	text             string // what the person said last
	replica          string
	began, ended     time.Time // ended is zero while it runs
	cut              bool      // the caller went away
}

// hold in a message makes its call wait until [mind.let].
const hold = "hold"

func newMind(t *testing.T, pace time.Duration) *mind {
	m := &mind{pace: pace, active: map[string]int{}, release: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(m.serve))
	m.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return m
}

// let ends the waiting of all calls that are held, now and later.
func (m *mind) let() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.release:
	default:
		close(m.release)
	}
}

func (m *mind) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		InboundID  string `json:"inboundId"`
		SessionKey string `json:"sessionKey"`
		Messages   []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	c := &call{
		session: body.SessionKey, inbound: body.InboundID, text: body.Messages[len(body.Messages)-1].Content,
		replica: strings.TrimPrefix(r.URL.Path, "/"),
	}
	m.begin(c)
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasPrefix(body.Messages[0].Content, "You condense") { // a summary is asked for
		m.event(w, "done", map[string]string{"content": "what was said"})
		m.end(c, false)
		return
	}
	m.event(w, "delta", map[string]string{"text": "re: "})
	cut := false
	wait := time.After(m.pace)
	if strings.Contains(c.text, hold) {
		wait = nil
	}
	select {
	case <-wait:
	case <-m.release:
	case <-r.Context().Done():
		cut = true
	}
	m.end(c, cut)
	if !cut {
		m.event(w, "done", map[string]string{"content": answerTo(c.text)})
	}
}

func answerTo(text string) string { return "re: " + text }

func (m *mind) event(w http.ResponseWriter, name string, data map[string]string) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings always encode
	}
	_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	_ = http.NewResponseController(w).Flush()
}

func (m *mind) begin(c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.began = time.Now()
	if m.active[c.session]++; m.active[c.session] > 1 {
		m.overlaps = append(m.overlaps, c.session)
	}
	m.calls = append(m.calls, c)
}

func (m *mind) end(c *call, cut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.ended, c.cut = time.Now(), cut
	m.active[c.session]--
}

// seen returns the calls so far, in order.
func (m *mind) seen() []call {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]call, len(m.calls))
	for i, c := range m.calls {
		out[i] = *c
	}
	return out
}

// of returns the calls for what was said in text.
func (m *mind) of(text string) []call {
	var out []call
	for _, c := range m.seen() {
		if c.text == text {
			out = append(out, c)
		}
	}
	return out
}

func (m *mind) overlapping() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.overlaps...)
}

package openai

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leapClock is a clock on which every wait between retries is over at once. Longer
// ones, which bound something, never end.
type leapClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func newLeapClock() *leapClock { return &leapClock{now: time.Unix(1_750_000_000, 0)} }

func (c *leapClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *leapClock) NewTimer(d time.Duration) *clock.Timer {
	if d >= time.Minute {
		return clock.NewFake(time.Time{}).NewTimer(d)
	}
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.waits = append(c.waits, d)
	c.mu.Unlock()
	return clock.NewFake(time.Time{}).NewTimer(0)
}

// newClient returns a client that the test closes.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newAgent returns an agent before server, whose waits leap.
func newAgent(t *testing.T, server *agenttest.Server, change func(*Config)) (*Agent, *leapClock) {
	t.Helper()
	cfg := Config{BaseURL: server.Start(t), Model: "test-model", Timeout: 20 * time.Second}
	if change != nil {
		change(&cfg)
	}
	leap := newLeapClock()
	agent, err := New(cfg, newClient(t), leap)
	if err != nil {
		t.Fatal(err)
	}
	return agent, leap
}

// recorder keeps what a turn emitted.
type recorder struct {
	events []agents.Event
}

func (r *recorder) emit(e agents.Event) { r.events = append(r.events, e) }

// shown is what the user sees in the end.
func (r *recorder) shown() string {
	var text strings.Builder
	for _, e := range r.events {
		if e.Restart {
			text.Reset()
		}
		text.WriteString(e.Delta)
	}
	return text.String()
}

func (r *recorder) restarts() int {
	n := 0
	for _, e := range r.events {
		if e.Restart {
			n++
		}
	}
	return n
}

func checkNoRejections(t *testing.T, server *agenttest.Server) {
	t.Helper()
	for _, r := range server.Rejections() {
		t.Errorf("the server refused a request: %s\n%s", r.Message, r.Body)
	}
}

//go:fix inline
func phases(events []agents.Event) []string {
	var out []string
	for _, e := range events {
		if e.Tool != nil {
			out = append(out, e.Tool.Name+" "+string(e.Tool.Phase))
		}
	}
	slices.Sort(out)
	return out
}

package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func TestCounters(t *testing.T) {
	c := clock.NewFake(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
	m := telemetry.New("1.2.3", c)
	m.Accepted("api", "message", 3*time.Millisecond)
	m.DeliveryAttempt("feishu", "delivered")
	m.Request("BREW", "/v1/chat", 405, time.Second)
	_ = m.Store().Statement(t.Context(), "SELECT 1")
	_ = m.Store().Commit(t.Context())
	_ = m.Store().Committed(t.Context())
	ended := m.TurnStarted()
	wantLines(t, scrape(t, m), "chatkeep_turns_running 1")
	c.Advance(3 * time.Second)
	ended("done")
	wantLines(t, scrape(t, m),
		`chatkeep_build_info{version="1.2.3"} 1`,
		`chatkeep_accepted_messages_total{channel="api",kind="message"} 1`,
		`chatkeep_accept_duration_seconds_bucket{le="0.005"} 1`,
		`chatkeep_delivery_attempts_total{channel="feishu",result="delivered"} 1`,
		`chatkeep_http_request_duration_seconds_count{code="405",method="other",route="/v1/chat"} 1`,
		"chatkeep_store_statements_total 1",
		`chatkeep_store_commits_total{phase="committed"} 1`,
		"chatkeep_turns_running 0",
		`chatkeep_turn_duration_seconds_sum{outcome="done"} 3`,
	)
}

func TestCountsAreCached(t *testing.T) {
	c := clock.NewFake(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
	m := telemetry.New("test", c)
	asked := 0
	var fails error
	m.WatchCounts(func(context.Context) (telemetry.Counts, error) {
		asked++
		return telemetry.Counts{Inbound: map[string]int{"received": asked}}, fails
	})
	for range 3 {
		wantLines(t, scrape(t, m), `chatkeep_inbound_messages{state="received"} 1`, "chatkeep_store_up 1")
	}
	if asked != 1 {
		t.Errorf("the database was asked %d times, want once", asked)
	}
	c.Advance(11 * time.Second)
	fails = errors.New("down")
	got := scrape(t, m)
	wantLines(t, got, "chatkeep_store_up 0")
	if strings.Contains(got, "chatkeep_inbound_messages{") {
		t.Error("counts are shown although they could not be read")
	}
	scrape(t, m)
	if asked != 2 {
		t.Errorf("the database was asked %d times, want twice", asked)
	}
}

func TestChannels(t *testing.T) {
	start := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	m := telemetry.New("test", clock.NewFake(start))
	m.WatchChannels(func() []telemetry.Channel {
		return []telemetry.Channel{
			{Channel: "feishu", Account: "main", Connected: true, LastEventAt: start.Add(-time.Minute)},
			{Channel: "dingtalk", Account: "main"},
		}
	})
	got := scrape(t, m)
	wantLines(t, got,
		`chatkeep_channel_connected{account="main",channel="feishu"} 1`,
		`chatkeep_channel_connected{account="main",channel="dingtalk"} 0`,
		`chatkeep_channel_last_event_age_seconds{account="main",channel="feishu"} 60`,
	)
	if strings.Contains(got, `age_seconds{account="main",channel="dingtalk"}`) {
		t.Error("an account without events shows an age")
	}
}

func TestNilDoesNothing(t *testing.T) {
	var m *telemetry.Metrics
	m.Accepted("api", "message", 0)
	m.TurnStarted()("done")
	m.DeliveryAttempt("api", "delivered")
	m.Request("GET", "/", 200, 0)
	m.WatchCounts(nil)
	m.WatchChannels(nil)
	if m.Store() != nil {
		t.Error("nil metrics have a store observer")
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("nil metrics answer %d, want 404", w.Code)
	}
}

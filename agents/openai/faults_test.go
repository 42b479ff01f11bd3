package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
)

// text is long enough for some twenty chunks.
const text = "An answer that is long enough to be cut in many places, 也有一些中文字在里面。"

func TestRecoversFromFaults(t *testing.T) {
	faults := map[string]agenttest.Reply{
		"rate limit":           agenttest.RateLimited(3),
		"rate limit, no time":  agenttest.RateLimited(0),
		"server error":         agenttest.Fail(http.StatusInternalServerError, "", "oops"),
		"bad gateway page":     {Status: http.StatusBadGateway, Body: "<html>bad gateway</html>", ContentType: "text/html"},
		"error without a body": {Status: http.StatusServiceUnavailable},
		"web page":             agenttest.HTML(),
		"no body":              {Status: http.StatusOK},
		"not JSON":             {Status: http.StatusOK, Body: "hello"},
		"no choices":           {Fault: agenttest.FaultNoChoices},
		"stream without end":   {Status: http.StatusOK, ContentType: "text/event-stream", Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n"},
		"empty stream":         {Status: http.StatusOK, ContentType: "text/event-stream"},
		"error event":          {Status: http.StatusOK, ContentType: "text/event-stream", Body: "event: error\ndata: {\"message\":\"busy\"}\n\n"},
		"stream of junk":       {Status: http.StatusOK, ContentType: "text/event-stream", Body: "data: junk\n\ndata: [DONE]\n\n"},
	}
	for _, fault := range []agenttest.Fault{agenttest.FaultCut, agenttest.FaultHangUp, agenttest.FaultBroken, agenttest.FaultError} {
		for after := 0; after <= 10; after += 2 {
			faults[fmt.Sprintf("%s after %d", fault, after)] = agenttest.Reply{Text: text, ChunkRunes: 4, Fault: fault, After: after}
		}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			server := agenttest.NewServer(agenttest.ServerOptions{})
			agent, leap := newAgent(t, server, nil)
			for _, form := range forms {
				fault.NoStream = form.noStream
				server.Script(fault, fault, agenttest.Reply{Text: text, NoStream: form.noStream})
				var seen recorder
				response, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), seen.emit)
				if err != nil {
					t.Fatalf("%s: %v", form.name, err)
				}
				if got := response.Final().Content; got != text {
					t.Errorf("%s: answer %q", form.name, got)
				}
				if shown := seen.shown(); form.stream && shown != text {
					t.Errorf("%s: shown %q", form.name, shown)
				}
			}
			if len(leap.waits) < 2*len(forms) {
				t.Errorf("waited %v, want a pause before every new try", leap.waits)
			}
			checkNoRejections(t, server)
		})
	}
}

func TestRetriesAreBounded(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, leap := newAgent(t, server, nil)
	server.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply { return agenttest.Fail(500, "", "oops") })
	start := leap.Now()
	_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if agents.KindOf(err) != agents.Transient {
		t.Errorf("got %v, want a transient failure", err)
	}
	if took := leap.Now().Sub(start); took > 20*time.Second {
		t.Errorf("retried for %s", took)
	}
	if calls := len(server.Calls()); calls < 4 || calls > 25 {
		t.Errorf("%d calls", calls)
	}
}

func TestRetryAfter(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, leap := newAgent(t, server, nil)
	server.Script(agenttest.RateLimited(7), agenttest.Say("ok"))
	if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); err != nil {
		t.Fatal(err)
	}
	if len(leap.waits) != 1 || leap.waits[0] < 7*time.Second || leap.waits[0] > 8*time.Second {
		t.Errorf("waited %v, was asked for 7s", leap.waits)
	}

	server.Script(agenttest.RateLimited(60))
	_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	var failure *agents.Error
	if !asError(err, &failure) || failure.Kind != agents.Transient || failure.RetryAfter != time.Minute {
		t.Errorf("got %v, want a transient failure that says when", err)
	}
	if len(leap.waits) != 1 {
		t.Errorf("waited %v though the time asked for is beyond the budget", leap.waits)
	}
}

func TestSilenceEndsAtTheTimeout(t *testing.T) {
	for _, form := range forms {
		for _, after := range []int{0, 3} {
			server := agenttest.NewServer(agenttest.ServerOptions{})
			agent, _ := newAgent(t, server, func(c *Config) { c.Timeout = 100 * time.Millisecond })
			server.Script(agenttest.Reply{Text: text, NoStream: form.noStream, Fault: agenttest.FaultSilence, After: after})
			_, err := agent.Respond(t.Context(), agenttest.NewRequest(form.stream), func(agents.Event) {})
			if agents.KindOf(err) != agents.Timeout {
				t.Errorf("%s, after %d: %v, want a timeout", form.name, after, err)
			}
		}
	}
}

func TestSlowStreamEndsAtTheTimeout(t *testing.T) {
	server := agenttest.NewServer(agenttest.ServerOptions{})
	agent, _ := newAgent(t, server, func(c *Config) { c.Timeout = 300 * time.Millisecond })
	server.Script(agenttest.Reply{Text: strings.Repeat("x", 10_000), ChunkRunes: 1, ChunkDelay: 10 * time.Millisecond})
	_, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if agents.KindOf(err) != agents.Timeout {
		t.Errorf("got %v, want a timeout in the middle", err)
	}
}

func TestUnreachable(t *testing.T) {
	agent, err := New(Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m", RetryBudget: -1}, newClient(t), newLeapClock())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); agents.KindOf(err) != agents.Transient {
		t.Errorf("got %v, want a transient failure", err)
	}
	if err := agent.Probe(t.Context()); agents.KindOf(err) != agents.Transient {
		t.Errorf("probe: %v, want a transient failure", err)
	}
}

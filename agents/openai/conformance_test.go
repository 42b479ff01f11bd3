package openai

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestConformance(t *testing.T) {
	replies := map[agenttest.Behaviour]agenttest.Reply{
		agenttest.Answers:      agenttest.Say("An answer that comes in several pieces."),
		agenttest.Hangs:        {Fault: agenttest.FaultSilence},
		agenttest.HangsMidway:  {Text: "An answer that stops in the middle.", Fault: agenttest.FaultSilence, After: 3},
		agenttest.Recovers:     agenttest.Say("An answer at last, after a failure."),
		agenttest.Fails:        agenttest.Fail(http.StatusServiceUnavailable, "overloaded", "busy"),
		agenttest.Refuses:      agenttest.Fail(http.StatusNotFound, "model_not_found", "no such model"),
		agenttest.Unauthorized: agenttest.Fail(http.StatusForbidden, "forbidden", "no"),
		agenttest.Overflows:    agenttest.Fail(http.StatusBadRequest, "context_length_exceeded", "too long"),
	}
	var behaviours []agenttest.Behaviour
	for b := range replies {
		behaviours = append(behaviours, b)
	}
	agenttest.TestAgent(t, agenttest.Suite{
		Behaviours: behaviours,
		New: func(t *testing.T, b agenttest.Behaviour) (agents.Agent, func()) {
			t.Helper()
			provider := agenttest.NewServer(agenttest.ServerOptions{})
			provider.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply { return replies[b] })
			if b == agenttest.Recovers {
				provider.Script(agenttest.Reply{Text: "An answer that breaks off.", Fault: agenttest.FaultHangUp, After: 3})
			}
			server := httptest.NewServer(provider)
			transport := &http.Transport{}
			agent, err := New(Config{BaseURL: server.URL, Model: "m", RetryBudget: 2 * time.Second}, &http.Client{Transport: transport}, clock.Real())
			if err != nil {
				t.Fatal(err)
			}
			return agent, func() {
				transport.CloseIdleConnections()
				server.CloseClientConnections()
				server.Close()
			}
		},
	})
}

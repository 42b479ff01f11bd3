package echo_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/echo"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	paces := map[agenttest.Behaviour]echo.Config{
		agenttest.Answers:     {ChunkRunes: 3, ChunkDelay: time.Millisecond},
		agenttest.Hangs:       {Delay: time.Hour},
		agenttest.HangsMidway: {ChunkRunes: 3, ChunkDelay: time.Hour},
	}
	agenttest.TestAgent(t, agenttest.Suite{
		Behaviours: []agenttest.Behaviour{agenttest.Answers, agenttest.Hangs, agenttest.HangsMidway},
		New: func(_ *testing.T, b agenttest.Behaviour) (agents.Agent, func()) {
			return echo.New(paces[b], clock.Real()), func() {}
		},
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Real()
		start := c.Now()
		agent := echo.New(echo.Config{Delay: 3 * time.Second, ChunkDelay: time.Second, ChunkRunes: 2}, c)
		req := &agents.Request{Stream: true, Messages: []*models.SessionMessage{
			{Role: models.RoleUser, Content: "earlier"},
			{Role: models.RoleUser, Content: "你好👋ab"},
			{Role: models.RoleAssistant, Content: "not this"},
		}}
		var deltas []string
		var at []time.Duration
		response, err := agent.Respond(t.Context(), req, func(e agents.Event) {
			deltas = append(deltas, e.Delta)
			at = append(at, c.Now().Sub(start))
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"你好", "👋a", "b"}; !slices.Equal(deltas, want) {
			t.Errorf("deltas %q, want %q", deltas, want)
		}
		if want := []time.Duration{3 * time.Second, 4 * time.Second, 5 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("at %v, want %v", at, want)
		}
		if got := response.Final().Content; got != "你好👋ab" {
			t.Errorf("answer %q", got)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := echo.New(echo.Config{Delay: time.Minute, Timeout: time.Second}, clock.Real())
		_, err := agent.Respond(t.Context(), agenttest.NewRequest(false), func(agents.Event) {})
		if agents.KindOf(err) != agents.Timeout {
			t.Errorf("got %v, want a timeout", err)
		}
	})
}

func TestNothingToEcho(t *testing.T) {
	req := &agents.Request{Messages: []*models.SessionMessage{
		{Role: models.RoleUser, Content: "text"},
		{Role: models.RoleUser, Images: []string{"https://example.com/a.png"}},
	}}
	response, err := echo.New(echo.Config{}, clock.Real()).Respond(t.Context(), req, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Final().Content; got != "…" {
		t.Errorf("answer %q, want the sign for nothing", got)
	}
}

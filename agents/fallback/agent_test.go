package fallback_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/echo"
	"github.com/chatkeep/chatkeep/agents/fallback"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member is an agent that is a function, and remembers what it was asked.
type member struct {
	respond func(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error)

	mu    sync.Mutex
	asked []*agents.Request
}

func (m *member) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	m.mu.Unlock()
	return m.respond(ctx, req, emit)
}

func says(text string) *member {
	return &member{respond: func(_ context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		emit(agents.Event{Delta: text})
		return &agents.Response{Messages: []*models.SessionMessage{{Role: models.RoleAssistant, Content: text}}, FinishReason: "stop"}, nil
	}}
}

// fails shows something, if anything, and then fails.
func fails(kind agents.ErrorKind, shown string) *member {
	return &member{respond: func(_ context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		if shown != "" {
			emit(agents.Event{Delta: shown})
		}
		return nil, &agents.Error{Kind: kind, Err: errors.New("broken")}
	}}
}

func silent() *member {
	return &member{respond: func(ctx context.Context, _ *agents.Request, _ func(agents.Event)) (*agents.Response, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
}

func row(t *testing.T, cfg fallback.Config, members ...*member) *fallback.Agent {
	t.Helper()
	var list []fallback.Member
	for _, m := range members {
		list = append(list, fallback.Member{ID: "agent", Agent: m})
	}
	agent, err := fallback.New(cfg, clock.Real(), list...)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func TestConformance(t *testing.T) {
	failing := map[agenttest.Behaviour]agents.ErrorKind{
		agenttest.Fails: agents.Transient, agenttest.Refuses: agents.Permanent,
		agenttest.Unauthorized: agents.Auth, agenttest.Overflows: agents.Overflow,
	}
	second := map[agenttest.Behaviour]echo.Config{
		agenttest.Answers:     {ChunkRunes: 5},
		agenttest.Recovers:    {ChunkRunes: 5},
		agenttest.Hangs:       {Delay: time.Hour},
		agenttest.HangsMidway: {ChunkRunes: 5, ChunkDelay: time.Hour},
	}
	behaviours := []agenttest.Behaviour{
		agenttest.Answers, agenttest.Recovers, agenttest.Hangs, agenttest.HangsMidway,
		agenttest.Fails, agenttest.Refuses, agenttest.Unauthorized, agenttest.Overflows,
	}
	agenttest.TestAgent(t, agenttest.Suite{
		Behaviours: behaviours,
		New: func(t *testing.T, b agenttest.Behaviour) (agents.Agent, func()) {
			t.Helper()
			members := []fallback.Member{{ID: "a", Agent: fails(agents.Transient, "half an ")}}
			if kind, ok := failing[b]; ok {
				members = []fallback.Member{{ID: "a", Agent: fails(kind, "")}}
			} else {
				members = append(members, fallback.Member{ID: "b", Agent: echo.New(second[b], clock.Real())})
			}
			if b == agenttest.Answers || b == agenttest.HangsMidway {
				members = members[1:]
			}
			agent, err := fallback.New(fallback.Config{}, clock.Real(), members...)
			if err != nil {
				t.Fatal(err)
			}
			return agent, func() {}
		},
	})
}

func TestGoesOnWhenTheProviderFails(t *testing.T) {
	for _, kind := range []agents.ErrorKind{agents.Transient, agents.Auth, agents.Timeout} {
		first, second := fails(kind, "half"), says("whole")
		var events []agents.Event
		req := agenttest.NewRequest(true)
		req.Model = "the first one's"
		response, err := row(t, fallback.Config{}, first, second).Respond(t.Context(), req, func(e agents.Event) { events = append(events, e) })
		if err != nil || response.Final().Content != "whole" {
			t.Fatalf("%s: %v, %v", kind, response, err)
		}
		if want := []agents.Event{{Delta: "half"}, {Restart: true}, {Delta: "whole"}}; !slices.Equal(events, want) {
			t.Errorf("%s: events %+v, want %+v", kind, events, want)
		}
		if first.asked[0].Model != "the first one's" || second.asked[0].Model != "" || req.Model == "" {
			t.Errorf("models %q and %q, want the override at the first alone", first.asked[0].Model, second.asked[0].Model)
		}
	}
}

func TestStopsAtTheRequestsOwnFault(t *testing.T) {
	for _, kind := range []agents.ErrorKind{agents.Overflow, agents.Permanent} {
		second := says("whole")
		_, err := row(t, fallback.Config{}, fails(kind, ""), second).Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if agents.KindOf(err) != kind || len(second.asked) != 0 {
			t.Errorf("%v, second asked %d times; want kind %s and no other asked", err, len(second.asked), kind)
		}
	}
}

// costs is what a member does, at a price.
func costs(m *member, usage models.Usage) *member {
	return &member{respond: func(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		response, err := m.respond(ctx, req, emit)
		if err == nil {
			response.Usage = usage
		}
		return response, agents.WithUsage(err, usage)
	}}
}

// Whoever failed is paid as well.
func TestFailuresCost(t *testing.T) {
	price := models.Usage{PromptTokens: 10, CompletionTokens: 2}
	failing := costs(fails(agents.Transient, ""), price)
	response, err := row(t, fallback.Config{}, failing, costs(says("whole"), price)).Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if err != nil || response.Usage != price.Add(price) {
		t.Errorf("%+v, %v", response, err)
	}
	response, err = row(t, fallback.Config{}, failing, says("whole")).Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if err != nil || response.Usage != (models.Usage{}) {
		t.Errorf("usage of an answer that nobody counted is %+v, %v", response, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	last := &member{respond: func(context.Context, *agents.Request, func(agents.Event)) (*agents.Response, error) {
		cancel()
		return nil, context.Cause(ctx)
	}}
	for _, others := range [][]*member{{failing, failing}, {failing, costs(fails(agents.Overflow, ""), price)}, {failing, costs(last, price)}} {
		_, err = row(t, fallback.Config{}, others...).Respond(ctx, agenttest.NewRequest(true), func(agents.Event) {})
		if agents.UsageOf(err) != price.Add(price) {
			t.Errorf("%v cost %+v", err, agents.UsageOf(err))
		}
	}
}

func TestAllFail(t *testing.T) {
	_, err := row(t, fallback.Config{}, fails(agents.Auth, ""), fails(agents.Transient, "")).Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
	if agents.KindOf(err) != agents.Auth {
		t.Errorf("got %v, want the first agent's failure", err)
	}
}

func TestSilentAgentIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := clock.Real().Now()
		agent := row(t, fallback.Config{Timeout: 90 * time.Second}, silent(), silent(), says("whole"))
		response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if err != nil || response.Final().Content != "whole" {
			t.Fatalf("%v, %v", response, err)
		}
		if took := clock.Real().Now().Sub(start); took != time.Minute {
			t.Errorf("took %s, want two shares of 30s", took)
		}
	})
}

func TestTalkingAgentHasAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &member{respond: func(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
			emit(agents.Event{Delta: "slow"})
			if err := clock.Sleep(ctx, clock.Real(), 80*time.Second); err != nil {
				return nil, err
			}
			return &agents.Response{Messages: []*models.SessionMessage{{Role: models.RoleAssistant, Content: "slow"}}}, nil
		}}
		response, err := row(t, fallback.Config{Timeout: 90 * time.Second}, slow, says("other")).Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if err != nil || response.Final().Content != "slow" {
			t.Errorf("%v, %v", response, err)
		}
	})
}

func TestTurnEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := clock.Real().Now()
		_, err := row(t, fallback.Config{Timeout: time.Minute}, silent(), silent()).Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if took := clock.Real().Now().Sub(start); agents.KindOf(err) != agents.Timeout || took != time.Minute {
			t.Errorf("%v after %s, want a timeout after 1m", err, took)
		}
	})
}

func TestDeadAgentIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turns = 3000
		dead, alive := fails(agents.Transient, ""), says("ok")
		agent := row(t, fallback.Config{}, dead, alive)
		for range turns { // ten minutes, five turns a second
			if _, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {}); err != nil {
				t.Fatal(err)
			}
			if err := clock.Sleep(t.Context(), clock.Real(), 200*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(dead.asked); n < 15 || n > 40 {
			t.Errorf("the dead agent was asked %d times in ten minutes", n)
		}
		if len(alive.asked) != turns {
			t.Errorf("the other one was asked %d times", len(alive.asked))
		}
		dead.respond = says("back").respond
		if err := clock.Sleep(t.Context(), clock.Real(), 31*time.Second); err != nil {
			t.Fatal(err)
		}
		response, err := agent.Respond(t.Context(), agenttest.NewRequest(true), func(agents.Event) {})
		if err != nil || response.Final().Content != "back" {
			t.Errorf("%v, %v; want the first agent again", response, err)
		}
	})
}

func TestNoMembers(t *testing.T) {
	if _, err := fallback.New(fallback.Config{}, clock.Real()); err == nil {
		t.Error("an empty row was accepted")
	}
}

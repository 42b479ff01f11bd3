package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// What a turn spent before its model failed counts: else a budget would hold for turns
// that succeed alone.
func TestFailedTurnsCostWhatTheySpent(t *testing.T) {
	r := newToolRig(t, 100_000, 30*time.Second, function{"look", func() agents.ToolResult { return agents.ToolResult{Text: "seen"} }})
	r.settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 1}
	r.provider.Script(
		agenttest.Reply{Reasoning: new(string), ToolCalls: []agenttest.ReplyCall{{ID: "1", Name: "look", Arguments: "{}"}}},
		agenttest.Fail(http.StatusBadRequest, "bad_request", "no"))
	r.start()
	r.say(whisper("m1", "ann", "go"))
	r.ends("m1", models.InboundFailed)
	day := store.DayOf(r.gateway.Today())
	users, err := r.gateway.Usage(context.Background(), store.UsageQuery{By: store.ByUser, From: day - 1, To: day})
	if err != nil || len(users) != 1 || users[0].PromptTokens == 0 || users[0].Errors != 1 {
		t.Errorf("usage %+v, %v", users, err)
	}
	r.say(whisper("m2", "ann", "again"))
	if in := r.ends("m2", models.InboundFailed); in.Code != models.CodeBudgetExceeded {
		t.Errorf("code %s", in.Code)
	}
}

// A turn that was ended from outside, or that its replica lost, counts by what it is
// known to have spent, once, and is no turn by itself.
func TestTurnsThatAreNotStoredCostWhatTheySpent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(r *rig)
		state models.InboundState
		want  store.UsageCount // with the turns that were stored
	}{
		"stopped":     {func(r *rig) { r.say(whisper("c1", "ann", "/stop")) }, models.InboundCancelled, store.UsageCount{PromptTokens: 300, CompletionTokens: 100}},
		"superseded":  {func(r *rig) { r.say(whisper("c1", "ann", "/reset")) }, models.InboundSuperseded, store.UsageCount{PromptTokens: 300, CompletionTokens: 100}},
		"interrupted": {func(r *rig) { r.say(whisper("m2", "ann", "now this")) }, models.InboundSuperseded, store.UsageCount{PromptTokens: 330, CompletionTokens: 110, Turns: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 1_000_000}
			r.settings.Queue.Mode = gateway.Interrupt
			r.mind.does(func(ctx context.Context, req *agents.Request) (*agents.Response, error) {
				if req.Text != "work on" {
					return costing(40)(ctx, req)
				}
				<-ctx.Done()
				return nil, agents.WithUsage(context.Cause(ctx), models.Usage{PromptTokens: 300, CompletionTokens: 100})
			})
			r.start()
			r.say(whisper("m1", "ann", "work on"))
			r.running("work on")
			c.end(r)
			r.ends("m1", c.state)
			r.costs(c.want)
		})
	}
}

// What nobody counted is estimated by what was heard.
func TestStoppedTurnCostsWhatWasHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 1}
	r.start()
	r.say(whisper("m1", "ann", wait))
	r.running(wait)
	r.say(whisper("c1", "ann", "/stop"))
	r.ends("m1", models.InboundCancelled)
	r.until("it is counted", func() bool { return r.cost().CompletionTokens > 0 })
	r.say(whisper("m2", "ann", "more"))
	if in := r.ends("m2", models.InboundFailed); in.Code != models.CodeBudgetExceeded || r.cost().PromptTokens == 0 {
		t.Errorf("code %s, cost %+v", in.Code, r.cost())
	}
}

// lossy is a store that finds, or only says, that the first commit's lane is lost.
type lossy struct {
	store.Store

	commits atomic.Int32
	stores  bool // the commit took place; its answer did not come
}

func (l *lossy) CommitTurn(ctx context.Context, c *store.TurnCommit) (*store.TurnCommitted, error) {
	switch l.commits.Add(1) {
	case 1:
		if !l.stores {
			return nil, store.ErrLeaseLost
		}
		_, err := l.Store.CommitTurn(ctx, c)
		return nil, errors.Join(store.ErrUnavailable, err)
	default:
		return l.Store.CommitTurn(ctx, c)
	}
}

func TestTurnThatLostItsLaneCostsWhatItSpent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stores bool
		want   store.UsageCount
	}{
		"lost":         {false, store.UsageCount{PromptTokens: 60, CompletionTokens: 20, Turns: 1}}, // it ran twice
		"not answered": {true, store.UsageCount{PromptTokens: 30, CompletionTokens: 10, Turns: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 1_000_000}
			r.store = &lossy{Store: r.store, stores: c.stores}
			r.mind.respond = costing(40)
			r.start()
			r.say(whisper("m1", "ann", "hello"))
			r.ends("m1", models.InboundDone)
			r.costs(c.want)
		})
	}
}

// cost is what all were counted for.
func (r *rig) cost() (c store.UsageCount) {
	r.t.Helper()
	day := store.DayOf(r.gateway.Today())
	days, err := r.gateway.Usage(context.Background(), store.UsageQuery{By: store.ByDay, From: day - 1, To: day})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range days {
		c = c.Add(d.UsageCount)
	}
	return c
}

// costs waits until ann was counted for so much, in usage and in the budget.
func (r *rig) costs(want store.UsageCount) {
	r.t.Helper()
	tokens := want.PromptTokens + want.CompletionTokens
	r.until(fmt.Sprintf("%+v is counted", want), func() bool {
		budget, err := r.gateway.Budget(context.Background(), store.BudgetUser, "chat/main/ann")
		if err != nil || budget.Tokens > tokens {
			r.t.Fatalf("budget %+v, %v", budget, err)
		}
		return r.cost() == want && budget.Tokens == tokens
	})
}

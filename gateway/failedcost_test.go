package gateway_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
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

package toolloop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// Results that outgrow the window are shortened until the turn fits.
func TestResultsShrinkWhereTheyOverflow(t *testing.T) {
	long := tool{"long", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
		return agents.ToolResult{Text: strings.Repeat("result ", 2000)}, nil
	}}
	for window, fits := range map[int]bool{2000: true, 100: false} {
		asked := 0
		model := func(_ context.Context, messages []*models.SessionMessage, _ []agents.ToolSpec) (*Completion, error) {
			asked++
			size := 0
			for _, m := range messages {
				size += len(m.Content)
			}
			switch {
			case size == 0:
				calls := []models.ToolCall{{Name: long.name}, {Name: long.name}}
				return &Completion{Message: &models.SessionMessage{Role: models.RoleAssistant, ToolCalls: calls}}, nil
			case size > window:
				return nil, &agents.Error{Kind: agents.Overflow, Err: errors.New("too long")}
			}
			return &Completion{Message: &models.SessionMessage{Role: models.RoleAssistant, Content: "done"}}, nil
		}
		response, err := Run(t.Context(), Config{MaxResultBytes: 10_000}, clock.Real(), &agents.Request{Tools: toolset{long}}, model, func(agents.Event) {})
		if fits {
			if err != nil || response.Final().Content != "done" || len(response.Messages) != 4 || !strings.Contains(response.Messages[1].Content, "cut") {
				t.Errorf("window %d: %+v, %v", window, response, err)
			}
		} else if agents.KindOf(err) != agents.Overflow || asked > 5 {
			t.Errorf("window %d: %v after %d requests", window, err, asked)
		}
	}
}

// An overflow that is not the results' is the caller's to deal with.
func TestOverflowOfTheContextIsTheTurnsFailure(t *testing.T) {
	asked := 0
	model := func(context.Context, []*models.SessionMessage, []agents.ToolSpec) (*Completion, error) {
		asked++
		return nil, &agents.Error{Kind: agents.Overflow, Err: errors.New("too long")}
	}
	_, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{Tools: toolset{says("x")}}, model, func(agents.Event) {})
	if agents.KindOf(err) != agents.Overflow || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

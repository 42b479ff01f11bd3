package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store"
)

// A focused slot shows the first stored system message, however old it is.
func TestFocusKeepsTheFirstSystemMessage(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	r.settings.MaxMessages = 6
	r.start()
	r.ask()
	ctx := t.Context()
	err := r.store.ChangeSession(ctx, r.key, func(tx store.SessionTx) error {
		slot := &models.ContextSlot{ID: "work", Mode: models.SlotFocused, Focused: &models.Focus{KeepSystem: true, RecentMessages: 3}}
		if err := tx.CreateSlot(slot); err != nil {
			return err
		}
		messages := []*models.SessionMessage{{ID: "rules", Role: models.RoleSystem, Content: "the rules"}}
		for i := range 1200 {
			messages = append(messages, &models.SessionMessage{ID: fmt.Sprint("u", i), Role: models.RoleUser, Content: fmt.Sprint("said ", i)})
		}
		return tx.Append("work", messages, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	view, err := r.gateway.Context(ctx, r.key, "work")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range view.Messages {
		got = append(got, m.Content)
	}
	equal(t, "context", got, "the rules", "said 1197", "said 1198", "said 1199")
}

// described is a tool whose description has a length.
type described struct {
	function

	length int
}

func (d described) Spec() agents.ToolSpec {
	spec := d.function.Spec()
	spec.Description = strings.Repeat("word", d.length)
	return spec
}

// Schemas count against the window, and those beyond their budget are left out.
func TestToolsHaveABudget(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	agent := r.settings.Agents["assistant"]
	agent.ContextWindow, agent.MaxTokens = 8000, 1000
	agent.Tools = fixed{described{function{name: "a"}, 300}, described{function{name: "b"}, 3000}, described{function{name: "c"}, 300}}
	r.settings.Agents["assistant"] = agent
	r.start()
	r.ask()
	view, _ := r.view()
	if view.Tools.Count != 3 || view.Tools.Tokens < 3600 || len(view.Tools.Left) != 0 || view.Limit != 8000-1000-view.Tools.Tokens {
		t.Errorf("without a budget: %+v, limit %d", view.Tools, view.Limit)
	}
	budget := &models.Budget{Tools: 1000, Reserve: 2000}
	if _, err := r.gateway.PatchSlot(t.Context(), r.key, models.DefaultSlot, func(s *models.ContextSlot) { s.Budget = budget }); err != nil {
		t.Fatal(err)
	}
	view, _ = r.view()
	if view.Tools.Count != 2 || !slices.Equal(view.Tools.Left, []string{"b"}) || view.Limit != 8000-2000-view.Tools.Tokens {
		t.Errorf("with a budget: %+v, limit %d", view.Tools, view.Limit)
	}
	r.ask()
	request := r.mind.last()
	tools, err := request.Tools.Tools(t.Context())
	if err != nil || len(tools) != 2 || request.Window != 6000 {
		t.Errorf("%d tools, window %d, %v", len(tools), request.Window, err)
	}
}

package toolloop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// flood is a tool whose result has as many bytes as it is asked for.
var flood = tool{"flood", func(_ context.Context, arguments json.RawMessage, _ string) (agents.ToolResult, error) {
	var args struct{ Bytes int }
	err := json.Unmarshal(arguments, &args)
	return agents.ToolResult{Text: strings.Repeat("flood ", args.Bytes/6)}, err
}}

// size counts a request as a provider would.
func size(messages []*models.SessionMessage, specs []agents.ToolSpec) int {
	n := 0
	for _, m := range messages {
		n += tokens.Message(m, nil)
	}
	for _, spec := range specs {
		n += tokens.Tool(spec.Name, spec.Description, spec.Parameters, nil)
	}
	return n
}

// valid says what is wrong with the order of messages.
func valid(messages []*models.SessionMessage) error {
	open, started := map[string]bool{}, false
	for i, m := range messages {
		switch {
		case m.Role == models.RoleTool && !open[m.ToolCallID]:
			return fmt.Errorf("message %d answers no call", i)
		case m.Role != models.RoleTool && len(open) > 0:
			return fmt.Errorf("message %d: calls are not answered", i)
		case m.Role != models.RoleSystem && !started && m.Role != models.RoleUser:
			return fmt.Errorf("message %d: starts with %s", i, m.Role)
		}
		started = started || m.Role != models.RoleSystem
		delete(open, m.ToolCallID)
		for _, call := range m.ToolCalls {
			open[call.ID] = true
		}
	}
	return nil
}

// Whatever the tools bring, each request keeps to the window and is valid, and the
// answer has every call with its result.
func TestATurnNeverOutgrowsTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window, question = 8000, "what now?"
		var history []*models.SessionMessage
		say := func(role models.Role, text string) {
			history = append(history, &models.SessionMessage{Role: role, Content: text})
		}
		say(models.RoleSystem, "You help.")
		for i := range rapid.IntRange(0, 6).Draw(t, "exchanges") {
			say(models.RoleUser, strings.Repeat("word ", rapid.IntRange(1, 900).Draw(t, "words")))
			if rapid.Bool().Draw(t, "tools") {
				id := fmt.Sprint("old", i)
				history = append(history, &models.SessionMessage{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: id, Name: "flood", Arguments: "{}"}}},
					&models.SessionMessage{Role: models.RoleTool, ToolCallID: id, Content: "result"})
			}
			say(models.RoleAssistant, "answer")
		}
		say(models.RoleUser, question)
		rounds, called := rapid.IntRange(0, 9).Draw(t, "rounds"), 0
		asked := 0
		model := func(_ context.Context, messages []*models.SessionMessage, specs []agents.ToolSpec) (*Completion, error) {
			asked++
			if n := size(messages, specs); n > window {
				t.Fatalf("request %d has %d tokens", asked, n)
			}
			if err := valid(messages); err != nil {
				t.Fatalf("request %d: %v", asked, err)
			}
			if messages[0].Content != "You help." {
				t.Fatalf("request %d starts with %q", asked, messages[0].Content)
			}
			found := false
			for _, m := range messages {
				found = found || m.Content == question
			}
			if !found {
				t.Fatalf("request %d lost the question", asked)
			}
			m := &models.SessionMessage{Role: models.RoleAssistant, Content: "done"}
			if asked <= rounds {
				m.Content = ""
				for range rapid.IntRange(1, 4).Draw(t, "calls") {
					called++
					m.ToolCalls = append(m.ToolCalls, models.ToolCall{Name: "flood", Arguments: fmt.Sprintf(`{"bytes":%d,"note":%q}`,
						rapid.IntRange(0, 80_000).Draw(t, "bytes"), strings.Repeat("n", rapid.IntRange(0, 3000).Draw(t, "note")))})
				}
			}
			return &Completion{Message: m}, nil
		}
		response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{Messages: history, Tools: toolset{flood}, Window: window}, model, func(agents.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		if want := rounds + called + 1; len(response.Messages) != want {
			t.Fatalf("%d messages, want %d", len(response.Messages), want)
		}
		if err := valid(append([]*models.SessionMessage{{Role: models.RoleUser}}, response.Messages...)); err != nil {
			t.Fatal(err)
		}
	})
}

// Where nothing is too much, nothing is touched.
func TestATurnThatFitsIsSentWhole(t *testing.T) {
	model := &script{rounds: [][]models.ToolCall{{{Name: "flood", Arguments: `{"bytes":6000}`}}}}
	history := []*models.SessionMessage{{Role: models.RoleUser, Content: "a"}, {Role: models.RoleAssistant, Content: "b"}, {Role: models.RoleUser, Content: "c"}}
	response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{Messages: history, Tools: toolset{flood}, Window: 4000}, model.ask, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(response.Messages[1].Content); got != 6000 || len(model.asked[1]) != 5 {
		t.Errorf("the result has %d bytes, %d messages were sent", got, len(model.asked[1]))
	}
}

package toolloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// guarded is a tool whose calls a person must approve.
type guarded struct{ tool }

func (g guarded) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: g.name, NeedsApproval: true}
}

// acts counts what it does.
func acts(name string, ran *[]string) tool {
	return tool{name, func(_ context.Context, args json.RawMessage, key string) (agents.ToolResult, error) {
		*ran = append(*ran, name+string(args)+key)
		return agents.ToolResult{Text: "did " + name}, nil
	}}
}

func run(t *testing.T, req *agents.Request, model Model) *agents.Response {
	t.Helper()
	response, err := Run(t.Context(), Config{MaxResultBytes: 2000}, clock.Real(), req, model, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// A call that a person must approve is not made: the model is told that it waits, the
// others of the round run, and the turn ends with its answer.
func TestCallsThatNeedApprovalAreHeld(t *testing.T) {
	var ran []string
	thought := "Dangerous."
	model := &script{rounds: [][]models.ToolCall{
		{{ID: "1", Name: "drop", Arguments: `{ "b":1, "a":2 }`}, {ID: "2", Name: "look"}, {ID: "3", Name: "drop", Arguments: `not json`}},
		{{ID: "4", Name: "drop", Arguments: `{"a":2,"b":1}`}},
	}}
	ask := func(ctx context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*Completion, error) {
		c, err := model.ask(ctx, messages, tools)
		c.Message.Reasoning = &thought
		return c, err
	}
	response := run(t, &agents.Request{InboundID: "inb", Tools: toolset{guarded{acts("drop", &ran)}, acts("look", &ran)}}, ask)
	if len(ran) != 1 || !strings.HasPrefix(ran[0], "look{}") {
		t.Errorf("ran %q", ran)
	}
	if len(response.Held) != 1 {
		t.Fatalf("held %+v", response.Held)
	}
	held := response.Held[0]
	if held.Tool != "drop" || string(held.Arguments) != `{"a":2,"b":1}` || held.Key == "" || *held.Reasoning != thought {
		t.Errorf("held %+v", held)
	}
	for i, want := range map[int]string{1: "a person must approve", 2: "did look", 3: "not valid JSON", 5: "waits for a person's approval already", 6: "done"} {
		if got := response.Messages[i].Content; !strings.Contains(got, want) {
			t.Errorf("message %d is %q, want %q", i, got, want)
		}
	}
}

func TestHeldCallsAreBounded(t *testing.T) {
	var ran []string
	var calls []models.ToolCall
	for i := range maxHeld + 3 {
		calls = append(calls, models.ToolCall{Name: "drop", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	model := &script{rounds: [][]models.ToolCall{calls}}
	response := run(t, &agents.Request{Tools: toolset{guarded{acts("drop", &ran)}}}, model.ask)
	if len(response.Held) != maxHeld || len(ran) != 0 || !strings.Contains(response.Messages[maxHeld+1].Content, "too many calls") {
		t.Errorf("held %d, ran %d", len(response.Held), len(ran))
	}
}

// A turn may begin with a call that was decided on: the model sees the call and what
// became of it as if it had just asked.
func TestTurnBeginsWithADecidedCall(t *testing.T) {
	var ran []string
	thought := "Dangerous."
	held := agents.HeldCall{Tool: "drop", Arguments: json.RawMessage(`{"a":2}`), Key: "the key", Reasoning: &thought}
	makes := func(ctx context.Context, call func(context.Context) agents.ToolResult) agents.ToolResult {
		return call(ctx)
	}
	for name, test := range map[string]struct {
		tools   toolset
		resolve func(context.Context, func(context.Context) agents.ToolResult) agents.ToolResult
		result  string
		ran     []string
	}{
		"approved":    {toolset{guarded{acts("drop", &ran)}}, makes, "did drop", []string{`drop{"a":2}the key`}},
		"gone by now": {toolset{says("other")}, makes, `there is no tool "drop" any more`, nil},
		"no tools":    {nil, makes, `there is no tool "drop" any more`, nil},
		"known before": {toolset{guarded{acts("drop", &ran)}}, func(context.Context, func(context.Context) agents.ToolResult) agents.ToolResult {
			return refusal(errors.New("denied by lin"))
		}, "Error: denied by lin", nil},
	} {
		ran = nil
		model := &script{}
		user := &models.SessionMessage{Role: models.RoleUser, Content: "I approve."}
		var events []agents.ToolPhase
		response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{
			InboundID: "inb", Tools: test.tools, Messages: []*models.SessionMessage{user}, Decided: &agents.DecidedCall{HeldCall: held, Resolve: test.resolve},
		}, model.ask, func(e agents.Event) { events = append(events, e.Tool.Phase) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(ran, test.ran) || len(events) != 2 || len(response.Held) != 0 {
			t.Errorf("%s: ran %q, events %v, held %v", name, ran, events, response.Held)
		}
		asked := model.asked[0]
		if len(asked) != 3 || asked[1].ToolCalls[0].Name != "drop" || *asked[1].Reasoning != thought || asked[1].ToolCalls[0].ID != asked[2].ToolCallID ||
			!strings.Contains(asked[2].Content, test.result) {
			t.Errorf("%s: asked %+v", name, asked)
		}
		if len(response.Messages) != 3 || response.Final().Content != "done" {
			t.Errorf("%s: answered %+v", name, response.Messages)
		}
	}
}

// What is too large for the model is kept whole, and the model is told how to go on.
func TestLargeResultsAreKept(t *testing.T) {
	whole := strings.Repeat("结果 result ", 1000)
	kept := map[string]string{}
	req := &agents.Request{
		Tools: toolset{says(whole), says("small")},
		Keep: func(_ context.Context, tool, text string) (string, error) {
			if tool != validName(whole) {
				t.Errorf("%q is kept", tool)
			}
			id := fmt.Sprintf("r%d", len(kept)+1)
			kept[id] = text
			return id, nil
		},
	}
	// A model calls tools by names that fit.
	req.Tools = toolset{tool{validName(whole), says(whole).call}, says("small")}
	overflows := 1
	model := &script{rounds: [][]models.ToolCall{{{Name: validName(whole)}, {Name: "small"}}}}
	ask := func(ctx context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*Completion, error) {
		if overflows > 0 && len(messages) > 0 {
			overflows--
			return nil, &agents.Error{Kind: agents.Overflow, Err: errors.New("too long")}
		}
		return model.ask(ctx, messages, tools)
	}
	response := run(t, req, ask)
	got := response.Messages[1].Content
	if len(kept) != 1 || kept["r1"] != whole {
		t.Fatalf("%d results are kept", len(kept))
	}
	head, rest, ok := strings.Cut(got, "\n[… cut: ")
	var offset int
	if _, err := fmt.Sscanf(rest, "the result had 14000 bytes; read_more with result \"r1\" and offset %d goes on", &offset); err != nil || !ok || offset != len(head) || !strings.HasPrefix(whole, head) {
		t.Errorf("the model reads %q (%v)", got, err)
	}
	if len(got) > 700 { // it was shortened once more
		t.Errorf("the model reads %d bytes", len(got))
	}
}

package toolloop

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

const addSchema = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","enum":["x","y"]}},"required":["a"],"additionalProperties":false}`

// A model reads what is wrong with its arguments, and the tool does not run.
func TestArgumentsAreHeldAgainstTheSchema(t *testing.T) {
	for _, tc := range []struct{ schema, arguments, want string }{
		{addSchema, `{"a":1,"b":"x"}`, ""},
		{addSchema, `{"a":1e2}`, ""},
		{addSchema, `{}`, "missing property 'a'"},
		{addSchema, ``, "missing property 'a'"},
		{addSchema, `{"a":"1"}`, "at '/a': got string, want integer"},
		{addSchema, `{"a":1,"b":"z"}`, "at '/b': value must be one of 'x', 'y'"},
		{addSchema, `{"a":1,"c":1}`, "additional properties 'c' not allowed"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["q"]}`, `{}`, "missing property 'q'"},
		{`{"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"additionalProperties":false}},"$ref":"#/$defs/n"}`, `{"n":{"n":{"x":1}}}`, "'x' not allowed"},
		// Schemas that cannot be used check nothing.
		{``, `{"a":1}`, ""},
		{`{`, `{"a":1}`, ""},
		{`true`, `{"a":1}`, ""},
		{`{"type":"strange"}`, `{"a":1}`, ""},
		{`{"$ref":"file:///etc/passwd"}`, `{"a":1}`, ""},
		{`{"$ref":"#"}`, `{"a":1}`, ""},
		{`{"properties":{"a":{"pattern":"(?<=x)y"}}}`, `{"a":"z"}`, ""},
		{`{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":"` + strings.Repeat("a", 10000) + `!"}`, "does not match pattern"},
	} {
		ran := false
		probe := specified{schema: tc.schema, tool: tool{"probe", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
			ran = true
			return agents.ToolResult{Text: "ran"}, nil
		}}}
		got := results(t, Config{}, []agents.Tool{probe}, models.ToolCall{ID: "1", Name: "probe", Arguments: tc.arguments})[0].Content
		if tc.want == "" != ran || !strings.Contains(got, tc.want) || len(got) > 2*maxViolations {
			t.Errorf("%s with %.40s: ran %v, told %.300q; want %q", tc.schema, tc.arguments, ran, got, tc.want)
		}
	}
}

type specified struct {
	tool

	schema string
}

func (s specified) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: s.name, Parameters: json.RawMessage(s.schema)}
}

func TestFailuresAndUnstorableTextInResults(t *testing.T) {
	gives := func(name string, r agents.ToolResult) tool {
		return tool{name, func(context.Context, json.RawMessage, string) (agents.ToolResult, error) { return r, nil }}
	}
	got := results(t, Config{}, []agents.Tool{
		gives("fails", agents.ToolResult{Text: "no such city", IsError: true}),
		gives("odd", agents.ToolResult{Text: "a\x00b\xffc"}),
	}, models.ToolCall{Name: "fails"}, models.ToolCall{Name: "odd"})
	if got[0].Content != "Error: no such city" || got[1].Content != "a\uFFFDb\uFFFDc" {
		t.Errorf("got %q, %q", got[0].Content, got[1].Content)
	}
}

// A turn leaves only so many calls behind that never end.
func TestDeafCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forget := make(chan struct{})
		var started atomic.Int64
		deaf := tool{"deaf", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
			started.Add(1)
			<-forget
			return agents.ToolResult{}, nil
		}}
		obeys := tool{"obeys", func(ctx context.Context, _ json.RawMessage, _ string) (agents.ToolResult, error) {
			<-ctx.Done()
			return agents.ToolResult{}, ctx.Err()
		}}
		model := &script{}
		for range 8 {
			model.rounds = append(model.rounds, []models.ToolCall{{Name: "deaf"}, {Name: "obeys"}})
		}
		slow := func(ctx context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*Completion, error) {
			if err := clock.Sleep(ctx, clock.Real(), 2*time.Second); err != nil {
				return nil, err
			}
			return model.ask(ctx, messages, tools)
		}
		response, err := Run(t.Context(), Config{MaxParallel: 1}, clock.Real(), &agents.Request{Tools: toolset{deaf, obeys}}, slow, func(agents.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		if started.Load() != 1 {
			t.Errorf("%d deaf calls were started", started.Load())
		}
		if last := response.Messages[len(response.Messages)-2].Content; !strings.Contains(last, errDeaf.Error()) {
			t.Errorf("the model was told %q", last)
		}
		close(forget)
		synctest.Wait()
	})
}

func TestWhatAModelWroteCanBeStored(t *testing.T) {
	reasoning := "r\x00"
	rounds := 0
	model := func(context.Context, []*models.SessionMessage, []agents.ToolSpec) (*Completion, error) {
		m := &models.SessionMessage{Role: models.RoleAssistant, Content: "a\x00", Reasoning: &reasoning}
		if rounds++; rounds == 1 {
			m.ToolCalls = []models.ToolCall{{Name: "x", Arguments: "{\x00}\xff"}}
		}
		return &Completion{Message: m}, nil
	}
	response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{Tools: toolset{says("x")}}, model, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range response.Messages {
		text := m.Content
		for _, c := range m.ToolCalls {
			text += c.Arguments
		}
		if m.Reasoning != nil {
			text += *m.Reasoning
		}
		if text != storable(text) {
			t.Errorf("%s: %q", m.Role, text)
		}
	}
}

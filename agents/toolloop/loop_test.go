package toolloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tool is a function with a name.
type tool struct {
	name string
	call func(ctx context.Context, args json.RawMessage, key string) (agents.ToolResult, error)
}

func (t tool) Spec() agents.ToolSpec { return agents.ToolSpec{Name: t.name} }

func (t tool) Call(ctx context.Context, args json.RawMessage, key string) (agents.ToolResult, error) {
	return t.call(ctx, args, key)
}

type toolset []agents.Tool

func (s toolset) Tools(context.Context) ([]agents.Tool, error) { return s, nil }

func says(text string) tool {
	return tool{text, func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
		return agents.ToolResult{Text: text}, nil
	}}
}

// script is a model that asks for rounds of calls and then answers.
type script struct {
	rounds [][]models.ToolCall
	asked  [][]*models.SessionMessage
}

func (s *script) ask(_ context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*Completion, error) {
	s.asked = append(s.asked, slices.Clone(messages))
	message := &models.SessionMessage{Role: models.RoleAssistant, Content: "done"}
	if n := len(s.asked) - 1; n < len(s.rounds) && len(tools) > 0 {
		message = &models.SessionMessage{Role: models.RoleAssistant, ToolCalls: slices.Clone(s.rounds[n])}
	}
	return &Completion{Message: message, Usage: models.Usage{PromptTokens: 10, CompletionTokens: 1}, FinishReason: "stop"}, nil
}

// results runs one round of calls and returns their results.
func results(t *testing.T, cfg Config, tools []agents.Tool, calls ...models.ToolCall) []*models.SessionMessage {
	t.Helper()
	model := &script{rounds: [][]models.ToolCall{calls}}
	response, err := Run(t.Context(), cfg, clock.Real(), &agents.Request{InboundID: "inb", Tools: toolset(tools)}, model.ask, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Messages) != len(calls)+2 {
		t.Fatalf("%d messages for %d calls", len(response.Messages), len(calls))
	}
	got := response.Messages[1 : len(calls)+1]
	for i, m := range got {
		if m.Role != models.RoleTool || m.ToolCallID != response.Messages[0].ToolCalls[i].ID {
			t.Errorf("result %d is %+v, want that of call %q", i, m, response.Messages[0].ToolCalls[i].ID)
		}
	}
	return got
}

func TestWithoutTools(t *testing.T) {
	model := &script{}
	response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{}, model.ask, func(agents.Event) { t.Error("an event") })
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Messages) != 1 || response.FinishReason != "stop" || response.ContextTokens != 10 {
		t.Errorf("got %+v", response)
	}
}

func TestCallsWithoutTools(t *testing.T) {
	for content, want := range map[string]agents.ErrorKind{"": agents.Permanent, "words": ""} {
		model := func(context.Context, []*models.SessionMessage, []agents.ToolSpec) (*Completion, error) {
			return &Completion{Message: &models.SessionMessage{Role: models.RoleAssistant, Content: content, ToolCalls: []models.ToolCall{{ID: "1", Name: "x"}}}}, nil
		}
		response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{Tools: toolset{}}, model, func(agents.Event) {})
		if want != "" {
			if agents.KindOf(err) != want || err == nil {
				t.Errorf("%q: %v, want kind %s", content, err, want)
			}
			continue
		}
		if err != nil || len(response.Messages) != 1 || len(response.Final().ToolCalls) != 0 {
			t.Errorf("%q: %+v, %v; want the words alone", content, response, err)
		}
	}
}

func TestCallsRunSideBySideAndAnswerInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Real()
		start := c.Now()
		sleepy := func(name string, d time.Duration) tool {
			return tool{name, func(ctx context.Context, _ json.RawMessage, _ string) (agents.ToolResult, error) {
				return agents.ToolResult{Text: name}, clock.Sleep(ctx, c, d)
			}}
		}
		got := results(t, Config{}, []agents.Tool{sleepy("slow", 3*time.Second), sleepy("quick", time.Second)},
			models.ToolCall{ID: "1", Name: "slow"}, models.ToolCall{ID: "2", Name: "quick"})
		if got[0].Content != "slow" || got[1].Content != "quick" {
			t.Errorf("results %q, %q", got[0].Content, got[1].Content)
		}
		if took := c.Now().Sub(start); took != 3*time.Second {
			t.Errorf("took %s, want the slowest call's 3s", took)
		}
	})
}

func TestParallelismIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		busy := tool{"busy", func(ctx context.Context, _ json.RawMessage, _ string) (agents.ToolResult, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			err := clock.Sleep(ctx, clock.Real(), time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return agents.ToolResult{Text: "ok"}, err
		}}
		calls := make([]models.ToolCall, 20)
		for i := range calls {
			calls[i] = models.ToolCall{Name: "busy"}
		}
		results(t, Config{MaxParallel: 3}, []agents.Tool{busy}, calls...)
		if most != 3 {
			t.Errorf("%d calls at once, want 3", most)
		}
	})
}

func TestBadCallsAreAnswered(t *testing.T) {
	ran := false
	never := func(name string) tool {
		return tool{name, func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
			ran = true
			return agents.ToolResult{}, nil
		}}
	}
	tools := []agents.Tool{never("a"), never("bash"), never("skill")}
	for _, test := range []struct{ name, arguments, want string }{
		{"nope", `{}`, `there is no tool "nope"; the tools are: a, bash, skill`},
		{"", `{}`, `there is no tool "unnamed"`},
		{"a", `{"x":`, "not valid JSON"},
		{"a", `{} {}`, "not valid JSON"},
		{"a", `[1]`, "must be a JSON object"},
		{"a", `"text"`, "must be a JSON object"},
		{"bash", `{}`, `"command" is missing`},
		{"bash", `{"command":" "}`, `"command" is missing`},
		{"skill", `{"skill":1}`, `"skill" is missing`},
	} {
		got := results(t, Config{}, tools, models.ToolCall{ID: "1", Name: test.name, Arguments: test.arguments})
		if !strings.Contains(got[0].Content, test.want) {
			t.Errorf("%s %s: %q, want %q in it", test.name, test.arguments, got[0].Content, test.want)
		}
	}
	if ran {
		t.Error("a call that must not run did")
	}
}

func TestFailingToolsHarmNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		tools := []agents.Tool{
			says("fine"),
			tool{"panics", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) { panic("secret detail") }},
			tool{"fails", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
				return agents.ToolResult{}, errors.New("no such file")
			}},
			tool{"hangs", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
				<-hung // deaf to its context
				return agents.ToolResult{}, nil
			}},
			tool{"floods", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
				return agents.ToolResult{Text: strings.Repeat("长", 5<<20/3)}, nil
			}},
			tool{"garbles", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
				return agents.ToolResult{Text: "a\xff\xfeb" + strings.Repeat("\x80", 1<<20)}, nil
			}},
		}
		var calls []models.ToolCall
		for _, tl := range tools {
			calls = append(calls, models.ToolCall{Name: tl.Spec().Name})
		}
		got := results(t, Config{ToolTimeout: 5 * time.Second, MaxResultBytes: 1000}, tools, calls...)
		for i, want := range []string{"fine", "internal error", "no such file", "did not answer within 5s", "the result had 5242878 bytes", "a\uFFFDb\uFFFD"} {
			if !strings.Contains(got[i].Content, want) {
				t.Errorf("%s: %.80q, want %q in it", calls[i].Name, got[i].Content, want)
			}
			if strings.Contains(got[i].Content, "secret") {
				t.Errorf("%s tells the panic", calls[i].Name)
			}
			// A byte that is no rune becomes three.
			if n := len(got[i].Content); n > 1100 || !utf8.ValidString(got[i].Content) {
				t.Errorf("%s: %d bytes, valid UTF-8: %t", calls[i].Name, n, utf8.ValidString(got[i].Content))
			}
		}
		close(hung)
	})
}

func TestCancelEndsTheRoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		told, deaf := make(chan error, 1), make(chan struct{})
		tools := toolset{
			tool{"listens", func(ctx context.Context, _ json.RawMessage, _ string) (agents.ToolResult, error) {
				<-ctx.Done()
				told <- ctx.Err()
				return agents.ToolResult{}, ctx.Err()
			}},
			tool{"deaf", func(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
				<-deaf
				return agents.ToolResult{}, nil
			}},
		}
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		c := clock.Real()
		start := c.Now()
		model := &script{rounds: [][]models.ToolCall{{{Name: "listens"}, {Name: "deaf"}}}}
		_, err := Run(ctx, Config{}, c, &agents.Request{Tools: tools}, model.ask, func(agents.Event) {})
		if !errors.Is(err, stopped) || c.Now().Sub(start) != time.Second {
			t.Errorf("%v after %s, want the cause at once", err, c.Now().Sub(start))
		}
		if <-told == nil {
			t.Error("the tool's context did not end")
		}
		close(deaf)
	})
}

func TestIDsAreRepaired(t *testing.T) {
	history := []*models.SessionMessage{
		{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "call_0", Name: "a"}}},
		{Role: models.RoleTool, ToolCallID: "call_0"},
		{Role: models.RoleUser, Content: "again"},
	}
	run := func() []string {
		model := &script{rounds: [][]models.ToolCall{
			{{ID: "call_0", Name: "a"}, {ID: "x", Name: "a"}, {ID: "x", Name: "a"}, {Name: "a"}, {ID: strings.Repeat("y", 41), Name: "a"}},
			{{ID: "x", Name: "a"}, {ID: "z", Name: "a"}},
		}}
		response, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{InboundID: "inb", Messages: history, Tools: toolset{says("a")}}, model.ask, func(agents.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range response.Messages {
			for _, call := range m.ToolCalls {
				ids = append(ids, call.ID)
			}
		}
		return ids
	}
	ids := run()
	seen := map[string]bool{"call_0": true}
	for _, id := range ids {
		if id == "" || len(id) > 40 || seen[id] {
			t.Errorf("id %q is empty, too long or not unique in %q", id, ids)
		}
		seen[id] = true
	}
	if ids[1] != "x" || ids[6] != "z" {
		t.Errorf("ids %q: good ones were changed", ids)
	}
	if again := run(); !slices.Equal(ids, again) {
		t.Errorf("another run gives %q, not %q", again, ids)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	run := func(inbound string, calls ...models.ToolCall) []string {
		var keys []string
		record := func(name string) tool {
			return tool{name, func(_ context.Context, _ json.RawMessage, key string) (agents.ToolResult, error) {
				keys = append(keys, key)
				return agents.ToolResult{Text: "ok"}, nil
			}}
		}
		var rounds [][]models.ToolCall
		for _, call := range calls {
			rounds = append(rounds, []models.ToolCall{call})
		}
		model := &script{rounds: rounds}
		if _, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{InboundID: inbound, Tools: toolset{record("a"), record("b")}}, model.ask, func(agents.Event) {}); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	x := models.ToolCall{Name: "a", Arguments: `{"x":1,"y":[2.50]}`}
	blanks := models.ToolCall{Name: "a", Arguments: ` {"y": [2.50], "x": 1} `}
	first := run("inb_1", x, blanks)
	if again := run("inb_1", blanks, x); !slices.Equal(first, again) {
		t.Error("the same calls of the same message have other keys when the turn runs again")
	}
	all := slices.Concat(first,
		run("inb_2", x),
		run("inb_1", models.ToolCall{Name: "b", Arguments: x.Arguments}),
		run("inb_1", models.ToolCall{Name: "a", Arguments: `{"x":1,"y":[2.51]}`}),
	)
	seen := map[string]bool{}
	for _, key := range all {
		if seen[key] {
			t.Errorf("key %s belongs to two different calls", key)
		}
		seen[key] = true
	}
}

func TestRoundLimit(t *testing.T) {
	endless := make([][]models.ToolCall, 100)
	for i := range endless {
		endless[i] = []models.ToolCall{{ID: fmt.Sprint(i), Name: "a"}}
	}
	model := &script{rounds: endless}
	response, err := Run(t.Context(), Config{MaxRounds: 4}, clock.Real(), &agents.Request{Tools: toolset{says("a")}}, model.ask, func(agents.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(model.asked) != 5 || response.FinishReason != FinishToolLimit || response.Final().Content != "done" {
		t.Errorf("asked %d times, finish %q, answer %q", len(model.asked), response.FinishReason, response.Final().Content)
	}
	if response.Usage.PromptTokens != 50 || response.ContextTokens != 10 {
		t.Errorf("usage %+v, context %d", response.Usage, response.ContextTokens)
	}
}

func TestToolsetFails(t *testing.T) {
	_, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{Tools: broken{}}, (&script{}).ask, func(agents.Event) {})
	if agents.KindOf(err) != agents.Transient {
		t.Errorf("got %v, want a transient failure", err)
	}
}

type broken struct{}

func (broken) Tools(context.Context) ([]agents.Tool, error) { return nil, errors.New("server is gone") }

func TestCapped(t *testing.T) {
	for _, limit := range []int{1, 4, 7, 100, 101, 102, 103, 1000} {
		for _, text := range []string{"", "short", strings.Repeat("长a", 200), strings.Repeat("\xf0\x9f", 300)} {
			got := capped(text, limit, origin{size: len(text)})
			if !utf8.ValidString(got) {
				t.Errorf("limit %d: %q is not valid UTF-8", limit, got)
			}
			if len(text) <= limit && utf8.ValidString(text) && got != text {
				t.Errorf("limit %d: %q became %q", limit, text, got)
			}
		}
	}
}

// What a turn cost before it was ended is known, whatever ended it.
func TestEndedTurnTellsWhatItCost(t *testing.T) {
	stopped := errors.New("stopped")
	for name, end := range map[string]error{
		"cancelled": stopped,
		"failed":    &agents.Error{Kind: agents.Transient, Err: stopped, Usage: models.Usage{PromptTokens: 5}},
	} {
		script := &script{rounds: [][]models.ToolCall{{{ID: "1", Name: "look", Arguments: "{}"}}}}
		model := func(ctx context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*Completion, error) {
			if len(script.asked) > 0 {
				return nil, end
			}
			return script.ask(ctx, messages, tools)
		}
		_, err := Run(t.Context(), Config{}, clock.Real(), &agents.Request{InboundID: "inb", Tools: toolset{says("look")}}, model, func(agents.Event) {})
		want := agents.UsageOf(end).Add(models.Usage{PromptTokens: 10, CompletionTokens: 1})
		if !errors.Is(err, stopped) || agents.UsageOf(err) != want || agents.KindOf(err) != agents.KindOf(end) {
			t.Errorf("%s: %v cost %+v, want %+v", name, err, agents.UsageOf(err), want)
		}
	}
}

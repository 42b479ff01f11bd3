package window

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

var texts = rapid.SampledFrom([]string{"", " ", "a", "好的", "some words here", strings.Repeat("long ", 200), strings.Repeat("汉", 300)})

// drawHistory draws stored messages, valid or not: groups may be cut, torn apart
// or mixed up, as crashes and other programs leave them.
func drawHistory(t *rapid.T) []*models.SessionMessage {
	n := rapid.IntRange(0, 25).Draw(t, "n")
	var out []*models.SessionMessage
	for i := range n {
		m := &models.SessionMessage{
			ID: fmt.Sprint("msg_", i), Seq: int64(i + 1), Content: texts.Draw(t, "content"),
			Role:        rapid.SampledFrom([]models.Role{models.RoleUser, models.RoleAssistant, models.RoleAssistant, models.RoleTool, models.RoleTool, models.RoleSystem}).Draw(t, "role"),
			TokenCount:  rapid.SampledFrom([]int{0, 0, 1, 50, 900}).Draw(t, "tokens"),
			SenderName:  rapid.SampledFrom([]string{"", "Lin", "x\n[system]"}).Draw(t, "name"),
			IsCompacted: rapid.Bool().Draw(t, "compacted"),
			Observed:    rapid.Bool().Draw(t, "observed"),
		}
		ids := rapid.SampledFrom([]string{"", "a", "b", "c"})
		switch m.Role {
		case models.RoleAssistant:
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, models.ToolCall{ID: ids.Draw(t, "id"), Name: "tool", Arguments: texts.Draw(t, "args")})
			}
		case models.RoleTool:
			m.ToolCallID = ids.Draw(t, "of")
		}
		out = append(out, m)
	}
	return out
}

func drawInput(t *rapid.T) Input {
	in := Input{
		SystemPrompt: texts.Draw(t, "prompt"),
		History:      drawHistory(t),
		Named:        rapid.Bool().Draw(t, "named"),
		User:         user(rapid.StringN(1, 50, -1).Draw(t, "user")),
		Limits: Limits{
			MaxMessages: rapid.IntRange(0, 12).Draw(t, "maxMessages"),
			MaxTokens:   rapid.IntRange(0, 2000).Draw(t, "maxTokens"),
			Window:      rapid.IntRange(0, 4000).Draw(t, "window"),
			Answer:      rapid.SampledFrom([]int{0, 0, 100}).Draw(t, "answer"),
			Tools:       rapid.SampledFrom([]int{0, 0, 200}).Draw(t, "schemas"),
		},
	}
	in.User.SenderName = "Wang"
	for range rapid.IntRange(0, 2).Draw(t, "summaries") {
		in.Summary = append(in.Summary, system(texts.Draw(t, "summary")))
	}
	for range rapid.IntRange(0, 3).Draw(t, "observed") {
		m := user(texts.Draw(t, "before"))
		m.Observed = rapid.Bool().Draw(t, "overheard")
		in.Observed = append(in.Observed, m)
	}
	if rapid.Bool().Draw(t, "quoted") {
		in.User.Quote = &models.Quote{Sender: "Bob", Text: texts.Draw(t, "quote")}
	}
	if rapid.Bool().Draw(t, "focused") {
		in.Focus = &models.Focus{KeepSystem: rapid.Bool().Draw(t, "keepSystem"), RecentMessages: rapid.IntRange(0, 10).Draw(t, "recent"), SummaryOverride: texts.Draw(t, "override")}
	}
	if rapid.Bool().Draw(t, "budgeted") {
		part := func(name string) int { return rapid.SampledFrom([]int{0, 10, 150, 600}).Draw(t, name) }
		in.Budget = &models.Budget{Auto: rapid.Bool().Draw(t, "auto"), System: part("system"), History: part("history"), ToolResults: part("results"), Reserve: part("reserve")}
	}
	in.Pruning = drawPruning(t)
	in.Cold, in.Ahead = rapid.Bool().Draw(t, "cold"), rapid.Bool().Draw(t, "ahead")
	if rapid.Bool().Draw(t, "pruned") {
		in.Forms = map[int64]prune.Form{
			2: {Pruned: prune.Omitted}, 3: {Pruned: prune.Soft, Content: "short"},
			4: {Pruned: prune.Soft, Content: `["{}"]`}, 5: {Pruned: prune.Hard, Content: prune.Cleared},
		}
	}
	return in
}

func TestContextIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		state := mustJSON(t, in.History, in.Observed, in.User, in.Summary)
		out, err := Build(in)
		if after := mustJSON(t, in.History, in.Observed, in.User, in.Summary); after != state {
			t.Fatal("Build changed its input")
		}
		again, errAgain := Build(in)
		if (err == nil) != (errAgain == nil) || mustJSON(t, out) != mustJSON(t, again) {
			t.Fatal("the same state gave two contexts")
		}
		if err != nil {
			if !errors.Is(err, ErrTooLarge) {
				t.Fatal(err)
			}
			alone := Input{SystemPrompt: in.SystemPrompt, User: in.User, Named: in.Named, Budget: in.Budget, Limits: in.Limits}
			if _, err := Build(alone); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("refused though prompt and message fit: %v", err)
			}
			return
		}
		checkLimits(t, in, out)
		checkShape(t, out)
		last := out.Messages[len(out.Messages)-1].Message
		if last.Role != models.RoleUser || !strings.HasSuffix(last.Content, in.User.Content) {
			t.Fatalf("the newest user message is not last: %q", last.Content)
		}
	})
}

func checkLimits(t *rapid.T, in Input, out *Output) {
	sum, counted, history := 0, 0, 0
	for i, m := range out.Messages {
		sum += m.Tokens
		if m.Message.Role == models.RoleSystem || m.Message.Content == Opener {
			continue
		}
		counted++
		if i < len(out.Messages)-1 {
			history += m.Tokens
		}
	}
	if sum != out.Tokens {
		t.Fatalf("Tokens is %d, the messages have %d", out.Tokens, sum)
	}
	if limit := in.Limits.MaxTokens; limit > 0 && sum > limit {
		t.Fatalf("%d tokens, at most %d fit", sum, limit)
	}
	if limit := in.Limits; limit.Window > 0 && sum > max(1, limit.Window-limit.Answer-limit.Tools) {
		t.Fatalf("%d tokens leave no room for the answer and the tools: %+v", sum, limit)
	}
	if out.Limit > 0 && sum > out.Limit {
		t.Fatalf("%d tokens, the limit was %d", sum, out.Limit)
	}
	if limit := in.Limits.MaxMessages; limit > 0 && counted > limit {
		t.Fatalf("%d messages, at most %d allowed", counted, limit)
	}
	if in.Budget == nil {
		return
	}
	b := ResolveBudget(*in.Budget, in.Limits.Window)
	if b.History > 0 && history > b.History {
		t.Fatalf("history has %d tokens, budget %d", history, b.History)
	}
	if free := in.Limits.Window - b.Reserve; in.Limits.Window > 0 && b.Reserve > 0 && sum > max(1, free) {
		t.Fatalf("%d tokens leave no reserve of %d in %d", sum, b.Reserve, in.Limits.Window)
	}
}

// checkShape checks what providers check.
func checkShape(t *rapid.T, out *Output) {
	open := map[string]bool{}
	started, previous := false, models.Role("")
	for i, m := range out.Messages {
		role := m.Message.Role
		if role != models.RoleTool && len(open) > 0 {
			t.Fatalf("message %d: calls %v have no result", i, open)
		}
		switch role {
		case models.RoleSystem:
			if started && previous == models.RoleSystem {
				t.Fatalf("message %d: second system message in the middle", i)
			}
		case models.RoleTool:
			if !open[m.Message.ToolCallID] {
				t.Fatalf("message %d: result of no call", i)
			}
			delete(open, m.Message.ToolCallID)
		case models.RoleAssistant:
			for _, call := range m.Message.ToolCalls {
				if call.ID == "" || open[call.ID] {
					t.Fatalf("message %d: call id %q", i, call.ID)
				}
				open[call.ID] = true
			}
			if len(open) == 0 && strings.TrimSpace(m.Message.Content) == "" {
				t.Fatalf("message %d is empty", i)
			}
		}
		if role != models.RoleSystem && !started {
			started = true
			if role != models.RoleUser {
				t.Fatalf("the conversation starts with %s", role)
			}
		}
		previous = role
	}
	if len(open) > 0 {
		t.Fatalf("calls %v have no result", open)
	}
}

// A valid history that fits is sent whole and in order.
func TestNothingIsLostThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history []*models.SessionMessage
		var want []string
		for i := range rapid.IntRange(0, 10).Draw(t, "turns") {
			say := func(m *models.SessionMessage) {
				m.Content += fmt.Sprint(" ", len(want))
				history, want = append(history, m), append(want, m.Content)
			}
			say(user("u"))
			if rapid.Bool().Draw(t, "tools") {
				id := fmt.Sprint("call", i)
				say(assistant("c", id))
				say(result(id, "r"))
			}
			say(assistant("a"))
		}
		out, err := Build(Input{History: history, User: user("last"), Limits: Limits{MaxTokens: 1 << 20, MaxMessages: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range out.Messages {
			got = append(got, m.Message.Content)
		}
		if strings.Join(got, "|") != strings.Join(append(want, "last"), "|") || out.Omitted != (Omitted{}) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestDataCannotEndItsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, text := rapid.String().Draw(t, "name"), rapid.String().Draw(t, "text")
		lines := strings.FieldsFunc(RenderObserved(name, text), LineBreak)
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, linePrefix) {
				t.Fatalf("line %q is outside", line)
			}
		}
		if clean := CleanName(name); clean != CleanName(clean) || strings.ContainsAny(clean, "\n:[]{}") {
			t.Fatalf("CleanName(%q) = %q", name, clean)
		}
	})
}

func TestTokenizerMayCount(t *testing.T) {
	var counter tokens.Counter
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Limits.Count = counter.Count
		out, err := Build(in)
		if err != nil {
			return
		}
		checkLimits(t, in, out)
		checkShape(t, out)
	})
}

func mustJSON(t *rapid.T, values ...any) string {
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzTemplate(f *testing.F) {
	f.Add("{{now}} {{var.x}} {{{chat.name}}}", "{{var.x}}")
	f.Fuzz(func(t *testing.T, prompt, value string) {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Skip()
		}
		Template(prompt, Values{Now: value, ChatName: value, SenderName: value, Variables: map[string]json.RawMessage{"x": raw}})
		if got := Template("{{var.x}}", Values{Variables: map[string]json.RawMessage{"x": raw}}); got != strings.ToValidUTF8(value, "\ufffd") && got != jsonText(t, raw) {
			t.Fatalf("{{var.x}} = %q, want %q", got, value)
		}
	})
}

func jsonText(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

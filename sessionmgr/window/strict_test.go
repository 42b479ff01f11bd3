package window_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
)

// schema is a tool that is described at length and never called.
type schema agents.ToolSpec

func (s schema) Spec() agents.ToolSpec { return agents.ToolSpec(s) }

func (s schema) Call(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
	return agents.ToolResult{}, errors.New("not to be called")
}

type schemas []agents.Tool

func (s schemas) Tools(context.Context) ([]agents.Tool, error) { return s, nil }

const strictWindow, strictAnswer = 3000, 100

// drawConversation draws what turns with tools store: the newest of it, so that the
// first group may be cut, and a call that a crash left without its results.
func drawConversation(t *rapid.T) []*models.SessionMessage {
	var out []*models.SessionMessage
	say := func(m *models.SessionMessage) {
		m.Seq = int64(len(out) + 1)
		out = append(out, m)
	}
	text := func(name string) string { return strings.Repeat("words 词 ", rapid.IntRange(0, 120).Draw(t, name)) }
	for turn := range rapid.IntRange(0, 8).Draw(t, "turns") {
		if rapid.IntRange(0, 9).Draw(t, "system") == 0 {
			say(&models.SessionMessage{Role: models.RoleSystem, Content: "rules"})
		}
		say(&models.SessionMessage{Role: models.RoleUser, Content: "question " + text("question"), SenderName: "Lin"})
		for round := range rapid.IntRange(0, 3).Draw(t, "rounds") {
			thought := text("thought")
			call := &models.SessionMessage{Role: models.RoleAssistant, Content: rapid.SampledFrom([]string{"", "let me look"}).Draw(t, "said"), Reasoning: &thought}
			var results []*models.SessionMessage
			for n := range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := fmt.Sprintf("call_%d_%d_%d", turn, round, n)
				arguments := rapid.SampledFrom([]string{"{}", `{"broken":`, `{"path":"a","content":"` + text("content") + `"}`}).Draw(t, "arguments")
				call.ToolCalls = append(call.ToolCalls, models.ToolCall{ID: id, Name: "tool", Arguments: arguments})
				results = append(results, &models.SessionMessage{Role: models.RoleTool, ToolCallID: id, Content: text("result")})
			}
			say(call)
			for _, m := range results[rapid.IntRange(0, 20).Draw(t, "lost")/20:] {
				say(m)
			}
		}
		say(&models.SessionMessage{Role: models.RoleAssistant, Content: "answer " + text("answer")})
	}
	return out[min(len(out), rapid.IntRange(0, 3).Draw(t, "cut")):]
}

// What is built of any conversation, under any settings, is taken by a provider that
// refuses whatever is malformed or too much.
func TestStrictProvidersTakeEveryContext(t *testing.T) {
	provider := agenttest.NewServer(agenttest.ServerOptions{ContextWindow: strictWindow, RequireReasoning: true})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	agent, err := openai.New(openai.Config{BaseURL: provider.Start(t), Model: "m", MaxTokens: strictAnswer, RetryBudget: -1}, &http.Client{Transport: transport}, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	provider.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply { return agenttest.Say("ok") })
	refused, sent := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := window.Input{
			SystemPrompt: rapid.SampledFrom([]string{"", "You help."}).Draw(t, "prompt"), History: drawConversation(t),
			User: &models.SessionMessage{Role: models.RoleUser, Content: "and now? " + strings.Repeat("更多", rapid.IntRange(0, 100).Draw(t, "more"))},
			Cold: rapid.Bool().Draw(t, "cold"), Ahead: rapid.Bool().Draw(t, "ahead"), Named: rapid.Bool().Draw(t, "named"),
			Pruning: prune.Settings{
				Enabled:    rapid.Bool().Draw(t, "enabled"),
				Mode:       rapid.SampledFrom([]prune.Mode{prune.ModeSoft, prune.ModeHard, prune.ModeCacheTTL}).Draw(t, "mode"),
				KeepRecent: rapid.IntRange(0, 10).Draw(t, "keepRecent"), MaxResultSize: rapid.SampledFrom([]int{0, 30, 200}).Draw(t, "size"),
				SaveToolCalls: rapid.Bool().Draw(t, "save"), KeepToolCalls: rapid.IntRange(0, 5).Draw(t, "keepCalls"),
			},
			Limits: window.Limits{
				MaxMessages: rapid.IntRange(0, 20).Draw(t, "maxMessages"), MaxTokens: rapid.SampledFrom([]int{0, 800, 10_000}).Draw(t, "maxTokens"),
				Window: strictWindow, Answer: strictAnswer,
			},
		}
		if rapid.Bool().Draw(t, "summarised") {
			in.Summary = []*models.SessionMessage{{Role: models.RoleSystem, Content: "summary", IsCompacted: true}}
		}
		if rapid.IntRange(0, 2).Draw(t, "focused") == 0 {
			in.Focus = &models.Focus{KeepSystem: rapid.Bool().Draw(t, "keepSystem"), RecentMessages: rapid.IntRange(0, 12).Draw(t, "recent"), SummaryOverride: "so far"}
		}
		if rapid.Bool().Draw(t, "budgeted") {
			in.Budget = &models.Budget{
				Auto: rapid.Bool().Draw(t, "auto"), System: 200, History: rapid.SampledFrom([]int{0, 500}).Draw(t, "history"),
				Tools: rapid.SampledFrom([]int{0, 300}).Draw(t, "tools"), ToolResults: rapid.SampledFrom([]int{0, 150, 400}).Draw(t, "results"), Reserve: 300,
			}
		}
		var all, offered schemas
		var sizes []int
		for n := range rapid.IntRange(0, 4).Draw(t, "schemas") {
			spec := schema{Name: fmt.Sprint("tool_", n), Description: "does", Parameters: json.RawMessage(`{"type":"object","description":"` + strings.Repeat("d", rapid.IntRange(0, 4000).Draw(t, "length")) + `"}`)}
			all = append(all, spec)
			sizes = append(sizes, tokens.Tool(spec.Name, spec.Description, spec.Parameters, nil))
		}
		fits, total := window.FitTools(sizes, in.Budget, strictWindow)
		for i, tool := range all {
			if fits[i] {
				offered = append(offered, tool)
			}
		}
		in.Limits.Tools = total
		out, err := window.Build(in)
		if errors.Is(err, window.ErrTooLarge) {
			refused++
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		sent++
		request := &agents.Request{InboundID: "inb", Messages: out.Models(), Tools: offered, Window: in.Room()}
		if _, err := agent.Respond(context.Background(), request, func(agents.Event) {}); err != nil {
			t.Fatal(err)
		}
		for _, r := range provider.Rejections() {
			t.Fatalf("refused: %s\n%s", r.Message, r.Body)
		}
	})
	t.Logf("%d sent, %d refused before", sent, refused)
	if sent <= refused {
		t.Error("too few were sent to tell")
	}
}

package compact

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// drawHistory makes up a slot's messages: turns with and without tools, group talk,
// pushed texts, system messages.
func drawHistory(t *rapid.T) []*models.SessionMessage {
	var out []*models.SessionMessage
	add := func(role models.Role, content string) *models.SessionMessage {
		m := &models.SessionMessage{Seq: int64(len(out) + 1), Role: role, Content: content}
		out = append(out, m)
		return m
	}
	text := func(what string) string {
		word := rapid.SampledFrom([]string{"ORD-%d ", "好的,订单 %d ", "https://example.com/%d ", "line %d\n", "x"}).Draw(t, what)
		if strings.Contains(word, "%d") {
			word = fmt.Sprintf(word, rapid.IntRange(100, 999).Draw(t, what))
		}
		return strings.Repeat(word, rapid.SampledFrom([]int{1, 3, 40, 2000}).Draw(t, what))
	}
	for range rapid.IntRange(0, 2).Draw(t, "leading") {
		add(models.RoleSystem, text("rules"))
	}
	for range rapid.IntRange(0, 12).Draw(t, "turns") {
		kind := rapid.SampledFrom([]string{"plain", "tools", "push", "observed", "system"}).Draw(t, "kind")
		switch kind {
		case "push":
			add(models.RoleAssistant, text("pushed"))
			continue
		case "system":
			add(models.RoleSystem, text("merged"))
			continue
		case "observed":
			add(models.RoleUser, text("overheard")).Observed = true
			add(models.RoleAssistant, text("its own")).Observed = true
		}
		add(models.RoleUser, text("asked")).SenderName = "Ann"
		if kind == "tools" {
			for round := range rapid.IntRange(1, 3).Draw(t, "rounds") {
				m := add(models.RoleAssistant, "")
				for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
					id := fmt.Sprintf("call-%d-%d-%d", m.Seq, round, i)
					m.ToolCalls = append(m.ToolCalls, models.ToolCall{ID: id, Name: "tool", Arguments: text("arguments")})
				}
				for _, c := range m.ToolCalls {
					add(models.RoleTool, text("result")).ToolCallID = c.ID
				}
			}
		}
		add(models.RoleAssistant, text("answered"))
	}
	for _, m := range out {
		m.TokenCount = tokens.Message(m, nil)
	}
	return out
}

// whole reports what is wrong with the rest of a history from a place on: results
// without their calls.
func whole(messages []*models.SessionMessage) string {
	open := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == models.RoleTool && !open[m.ToolCallID] {
			return fmt.Sprintf("message %d is the result of %s, which is not there", m.Seq, m.ToolCallID)
		}
	}
	return ""
}

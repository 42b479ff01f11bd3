package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Bounds of what one call of history_search shows.
const (
	defaultFound = 10
	maxFound     = 30
	// foundText is how much of a message is shown, in characters.
	foundText = 400
)

// historyTool finds what was said in the session.
type historyTool struct{ set *Set }

var historySpec = agents.ToolSpec{
	Name: HistorySearch,
	Description: "Finds earlier messages of this chat, also those that the conversation no longer shows, newest first. " +
		"A message must have all the words, in any order, also inside of other words.",
	Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
		`"words":{"type":"string","minLength":1,"maxLength":%d,"description":"at most %d words, parted by blanks"},`+
		`"limit":{"type":"integer","minimum":1,"maximum":%d,"description":"how many messages at most; leave it out for %d"}},`+
		`"required":["words"],"additionalProperties":false}`, words.MaxQuery, words.MaxWords, maxFound, defaultFound)),
}

// Spec describes the tool.
func (historyTool) Spec() agents.ToolSpec { return historySpec }

// Call shows what is found.
func (t historyTool) Call(ctx context.Context, args json.RawMessage, _ string) (agents.ToolResult, error) {
	var a struct {
		Words string
		Limit int
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("history_search: %w", err)
	}
	key, err := session(ctx)
	if err != nil {
		return agents.ToolResult{}, err
	}
	looked, err := words.Parse(a.Words)
	if err != nil {
		return agents.ToolResult{}, fmt.Errorf("look for one to %d words, at most %d characters", words.MaxWords, words.MaxQuery)
	}
	limit := defaultFound
	if a.Limit > 0 {
		limit = min(a.Limit, maxFound)
	}
	found, next, err := t.set.history.SearchMessages(ctx, store.MessageQuery{
		Words: looked, SessionKey: key, Roles: []models.Role{models.RoleUser, models.RoleAssistant}, Limit: limit,
	})
	switch {
	case errors.Is(err, store.ErrNotFound): // the session's first turn
	case err != nil:
		return agents.ToolResult{}, refused(err, "the history cannot be searched for that")
	}
	return agents.ToolResult{Text: t.show(found, looked, len(found) == limit, next != "")}, nil
}

// show lists messages for the model.
func (t historyTool) show(found []store.FoundMessage, looked []string, full, more bool) string {
	var lines []string
	for _, f := range found {
		m := f.Message
		who := "you"
		if m.Role == models.RoleUser {
			who = strings.Join(strings.Fields(m.SenderName), " ")
		}
		if who == "" {
			who = "user"
		}
		lines = append(lines, fmt.Sprintf("- %s %s: %s", m.CreatedAt.In(t.set.zone).Format("2006-01-02 15:04"), who, words.Snippet(m.Content, looked, foundText)))
	}
	switch {
	case full && more:
		lines = append(lines, "There may be more: add a word to narrow it down.")
	case more:
		lines = append(lines, "Only the newest messages were searched; there are too many for all.")
	case len(lines) == 0:
		lines = append(lines, "No earlier message has all of these words.")
	}
	return strings.Join(lines, "\n")
}

package prune

import (
	"encoding/json"
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// Pruned says how a message was shortened.
type Pruned string

// The ways.
const (
	Not  Pruned = ""
	Soft Pruned = "soft" // head, note, tail
	Hard Pruned = "hard" // a placeholder
	// Omitted is the form of a message with tool calls that are not sent any more, nor
	// their results. What the assistant said beside them stays. It takes the place of
	// another form.
	Omitted Pruned = "omitted"
)

// Cleared stands in for a tool result that was cleared.
const Cleared = "[old tool result cleared]"

// Form is how a message is shown instead of as it was stored. Content is a tool
// result's text, or for a message with calls the JSON list of their arguments.
type Form struct {
	Pruned  Pruned
	Content string
}

// Apply changes a copy of a stored message into its form.
func (f Form) Apply(m *models.SessionMessage) {
	switch {
	case f.Pruned == Omitted:
		m.ToolCalls, m.Reasoning = nil, nil
	case m.Role == models.RoleTool:
		m.Content = f.Content
		if f.Pruned == Hard {
			m.Images = nil
		}
	case len(m.ToolCalls) > 0:
		var arguments []string
		if json.Unmarshal([]byte(f.Content), &arguments) != nil || len(arguments) != len(m.ToolCalls) {
			return
		}
		for i := range m.ToolCalls {
			m.ToolCalls[i].Arguments = arguments[i]
		}
	}
}

// softResult is the form of a result that is too long; false if it is not.
func softResult(m *models.SessionMessage, limit int) (Form, bool) {
	short := Truncate(m.Content, limit)
	return Form{Soft, short}, short != m.Content
}

// hardResult is the form of a result that is cleared; false if there is nothing to clear.
func hardResult(m *models.SessionMessage) (Form, bool) {
	empty := strings.TrimSpace(m.Content) == "" && len(m.Images) == 0
	return Form{Hard, Cleared}, !empty && m.Content != Cleared
}

// softArguments is the form of calls with arguments that are too long; false if
// none is.
func softArguments(m *models.SessionMessage, limit int) (Form, bool) {
	short, changed := make([]string, len(m.ToolCalls)), false
	for i, call := range m.ToolCalls {
		short[i] = TruncateArguments(call.Arguments, limit)
		changed = changed || short[i] != call.Arguments
	}
	if !changed {
		return Form{}, false
	}
	list, err := json.Marshal(short)
	return Form{Soft, string(list)}, err == nil // strings always encode
}

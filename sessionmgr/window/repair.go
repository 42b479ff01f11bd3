package window

import (
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// MissingResult is the result that stands in for one that was never written: the
// process died in the call, or another program stored half a turn.
const MissingResult = "[no result: the call was interrupted]"

// repair makes a stored view valid: results follow their calls, each call has one
// result, nothing is empty, and system messages do not stand side by side.
func (b *builder) repair(in []Message) []Message {
	out := make([]Message, 0, len(in))
	for i := 0; i < len(in); {
		switch m := in[i]; {
		case m.Message.Role == models.RoleAssistant && len(m.Message.ToolCalls) > 0:
			end := i + 1
			for end < len(in) && in[end].Message.Role == models.RoleTool {
				end++
			}
			out = append(out, repairGroup(m, in[i+1:end])...)
			i = end
			continue
		case m.Message.Role == models.RoleTool, !m.Message.Role.Valid(), empty(m.Message):
		case m.Message.Role == models.RoleSystem && len(out) > 0 && out[len(out)-1].Message.Role == models.RoleSystem:
			// Unless they lead: there each stays what it is.
			if len(b.leadingSystem(out)) == len(out) {
				out = append(out, m)
				break
			}
			last := &out[len(out)-1]
			last.Message.Content += "\n\n" + m.Message.Content
			last.Tokens += m.Tokens
		default:
			out = append(out, m)
		}
		i++
	}
	return out
}

// repairGroup returns a call message and one result for each of its calls.
func repairGroup(call Message, results []Message) []Message {
	calls := call.Message.ToolCalls[:0:0]
	group := []Message{call}
	for _, c := range call.Message.ToolCalls {
		if c.ID == "" || slices.ContainsFunc(calls, func(d models.ToolCall) bool { return d.ID == c.ID }) {
			continue
		}
		calls = append(calls, c)
		found := slices.IndexFunc(results, func(r Message) bool { return r.Message.ToolCallID == c.ID })
		if found >= 0 {
			group = append(group, results[found])
		} else {
			group = append(group, missing(call.Message, c.ID))
		}
	}
	call.Message.ToolCalls = calls
	if len(calls) == 0 && empty(call.Message) {
		return nil
	}
	return group
}

func missing(call *models.SessionMessage, id string) Message {
	m := &models.SessionMessage{Slot: call.Slot, Role: models.RoleTool, Content: MissingResult, ToolCallID: id, CreatedAt: call.CreatedAt}
	return Message{Message: m, Tokens: tokens.Message(m, nil)}
}

func empty(m *models.SessionMessage) bool {
	return strings.TrimSpace(m.Content) == "" && len(m.Images) == 0
}

// leadingSystem returns the system messages that a view starts with.
func leadingSystem(messages []Message) []Message {
	n := 0
	for n < len(messages) && messages[n].Message.Role == models.RoleSystem {
		n++
	}
	return messages[:n:n]
}

// groups cuts a repaired view into what must stay together: a call with its
// results, or one message.
func groups(messages []Message) [][]Message {
	var out [][]Message
	for start := 0; start < len(messages); {
		end := start + 1
		for end < len(messages) && messages[end].Message.Role == models.RoleTool {
			end++
		}
		out = append(out, messages[start:end:end])
		start = end
	}
	return out
}

package window

import (
	"slices"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// Opener is the user message before a history that starts with the assistant
// (cut off before, or pushed into the chat): many models refuse one that does not
// start with a user.
const Opener = "[the conversation so far]"

// fit keeps the system part, the new message, and as many of the newest groups
// as the limits allow.
func (b *builder) fit(head systemPart, all [][]Message, user []Message) *Output {
	out := &Output{Tokens: total(head.prompt) + total(user)}
	optional := b.fitOptional(out, head)

	kept, messages, history := len(all), len(user), 0
	for kept > 0 {
		group := all[kept-1]
		if !within(b.in.Limits.MaxMessages, messages+countable(group)) {
			break
		}
		room := func() bool {
			return within(b.budget.History, history+total(group)) && within(b.maxTokens, out.Tokens+total(group))
		}
		if !room() {
			// What one call brought is no reason to lose everything that was said before.
			if group = b.withoutResults(group); !room() {
				break
			}
			all[kept-1] = group
		}
		messages, history, out.Tokens, kept = messages+countable(group), history+total(group), out.Tokens+total(group), kept-1
	}
	uncut := out.Omitted.Messages
	omitted, body := all[:kept], all[kept:]
	for needsOpener(body) && !within(b.maxTokens, out.Tokens+openerMessage().Tokens) {
		out.Tokens -= total(body[0])
		out.Omitted.add(body[0])
		body = body[1:]
	}
	for _, group := range omitted {
		out.Omitted.add(group)
	}
	out.Cut = out.Omitted.Messages - uncut

	out.Messages = slices.Concat(head.prompt, optional)
	if needsOpener(body) {
		out.Tokens += openerMessage().Tokens
		out.Messages = append(out.Messages, openerMessage())
	}
	out.Messages = slices.Concat(out.Messages, slices.Concat(body...), user)
	return out
}

// withoutResults is a group with its tool results removed.
func (b *builder) withoutResults(group []Message) []Message {
	out := slices.Clone(group)
	for i, m := range out {
		if m.Message.Role == models.RoleTool {
			out[i] = b.removed(m)
		}
	}
	return out
}

// fitOptional keeps the last optional system messages that fit and counts the others.
func (b *builder) fitOptional(out *Output, head systemPart) []Message {
	kept, system := len(head.optional), total(head.prompt)
	for ; kept > 0; kept-- {
		size := head.optional[kept-1].Tokens
		if !within(b.budget.System, system+size) || !within(b.maxTokens, out.Tokens+size) {
			break
		}
		system, out.Tokens = system+size, out.Tokens+size
	}
	out.Omitted.add(head.optional[:kept])
	return head.optional[kept:]
}

// within reports whether n keeps to a limit; zero or less is none.
func within(limit, n int) bool { return limit <= 0 || n <= limit }

func (o *Omitted) add(messages []Message) {
	o.Messages += len(messages)
	o.Tokens += total(messages)
}

// countable returns how many messages of a group MaxMessages counts.
func countable(group []Message) int {
	if group[0].Message.Role == models.RoleSystem {
		return 0
	}
	return len(group)
}

// needsOpener reports whether the first group after the system part is not a user's.
func needsOpener(body [][]Message) bool {
	for _, group := range body {
		switch group[0].Message.Role {
		case models.RoleSystem:
		case models.RoleUser:
			return false
		default:
			return true
		}
	}
	return false
}

func openerMessage() Message {
	m := &models.SessionMessage{Role: models.RoleUser, Content: Opener}
	return Message{Message: m, Tokens: tokens.Message(m, nil)}
}

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

	mostMessages, mostHistory, fixed := b.in.Limits.MaxMessages, b.budget.History, out.Tokens
	if b.goesOn() {
		mostMessages, mostHistory = 0, 0
	}
	kept, messages, history := len(all), len(user), 0
	for kept > 0 {
		group := b.withResultsFrom(all[kept-1])
		if !within(mostMessages, messages+countable(group)) {
			break
		}
		room := func() bool {
			return within(mostHistory, history+total(group)) && within(b.maxTokens, out.Tokens+total(group))
		}
		if !room() && !b.goesOn() {
			// What one call brought is no reason to lose everything that was said before.
			group = b.without(group)
		}
		if !room() {
			break
		}
		all[kept-1] = group
		messages, history, out.Tokens, kept = messages+countable(group), history+total(group), out.Tokens+total(group), kept-1
	}
	drop := func() {
		history, out.Tokens, kept = history-total(all[kept]), out.Tokens-total(all[kept]), kept+1
	}
	for newest := newestTurn(all); b.halve && kept < newest && history > (b.maxTokens-fixed)/2; {
		drop()
	}
	for needsOpener(all[kept:]) && !within(b.maxTokens, out.Tokens+openerMessage().Tokens) {
		drop()
	}
	uncut, body := out.Omitted.Messages, all[kept:]
	for _, group := range all[:kept] {
		out.Omitted.add(group)
	}
	out.Cut, out.Results = out.Omitted.Messages-uncut, b.results
	if first := slices.Concat(slices.Concat(body...), user); len(first) > 0 {
		out.First = first[0].Message
	}

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

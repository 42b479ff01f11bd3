package toolloop

import (
	"context"
	"slices"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// usefulResult is how short results get before older parts of the conversation make
// room for them, in bytes.
const usefulResult = 2 << 10

// fit keeps the conversation within the request's window, which the turn's own calls
// and results may outgrow: first their results are shortened, the oldest first, then
// the oldest exchanges and at last the turn's first rounds are not sent any more.
// What is not sent stays part of the answer.
func (l *loop) fit(ctx context.Context, tools []agents.ToolSpec) {
	if l.window <= 0 {
		return
	}
	l.over = -l.window
	for _, spec := range tools {
		l.over += tokens.Tool(spec.Name, spec.Description, spec.Parameters, nil)
	}
	for _, m := range l.messages {
		l.over += cost(m)
	}
	longest := l.runner.cfg.MaxResultBytes
	l.shortenResults(ctx, longest, usefulResult)
	l.dropExchanges()
	l.shortenResults(ctx, longest, minResult)
	l.dropRounds()
}

func cost(m *models.SessionMessage) int {
	if m.TokenCount > 0 {
		return m.TokenCount
	}
	return tokens.Message(m, nil)
}

// shortenResults cuts results, each time to a quarter, down to the least.
func (l *loop) shortenResults(ctx context.Context, longest, least int) {
	for limit := longest / 4; limit >= least; limit /= 4 {
		for _, m := range l.response.Messages {
			if l.over <= 0 {
				return
			}
			if m.Role != models.RoleTool || len(m.Content) <= limit {
				continue
			}
			l.over -= cost(m)
			l.runner.shorten(ctx, m, limit)
			m.TokenCount = 0
			l.over += cost(m)
		}
	}
}

// dropExchanges takes the oldest messages between the system part and the question,
// always up to one of the user's, so that what is left starts validly.
func (l *loop) dropExchanges() {
	head := 0
	for head < l.question && l.messages[head].Role == models.RoleSystem {
		head++
	}
	for l.over > 0 && head < l.question {
		next := head + 1
		for next < l.question && l.messages[next].Role != models.RoleUser {
			next++
		}
		l.drop(head, next)
		l.question -= next - head
	}
}

// dropRounds takes the turn's first rounds, never the last.
func (l *loop) dropRounds() {
	for first := l.question + 1; l.over > 0; {
		next := first + 1
		for next < len(l.messages) && l.messages[next].Role == models.RoleTool {
			next++
		}
		if next >= len(l.messages) {
			return
		}
		l.drop(first, next)
	}
}

func (l *loop) drop(from, to int) {
	for _, m := range l.messages[from:to] {
		l.over -= cost(m)
	}
	l.messages = slices.Delete(l.messages, from, to)
}

package window

import (
	"sort"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// RemovedResult stands in for a tool result that the budget has no room for.
const RemovedResult = "[tool result removed to fit the context]"

// DefaultBudget returns the documented parts: they add up to a window of 128,000.
func DefaultBudget() models.Budget {
	return models.Budget{System: 8000, History: 80000, Tools: 10000, ToolResults: 20000, Reserve: 10000}
}

// ResolveBudget returns a budget with its parts in numbers: those of an automatic
// one are the default's share of the window. A window of zero or less is that of
// the default. A part of zero is no bound.
func ResolveBudget(b models.Budget, window int) models.Budget {
	if !b.Auto {
		return b
	}
	d := DefaultBudget()
	whole := d.System + d.History + d.Tools + d.ToolResults + d.Reserve
	if window <= 0 {
		window = whole
	}
	share := func(part int) int { return max(1, part*window/whole) }
	return models.Budget{
		Auto: true, System: share(d.System), History: share(d.History), Tools: share(d.Tools),
		ToolResults: share(d.ToolResults), Reserve: share(d.Reserve),
	}
}

// resolveBudget sets the builder's budget and takes the reserve off the window.
func (b *builder) resolveBudget() {
	if b.in.Budget == nil {
		return
	}
	window := b.in.Limits.Window
	b.budget = ResolveBudget(*b.in.Budget, window)
	if window <= 0 || b.budget.Reserve <= 0 {
		return
	}
	free := max(1, window-b.budget.Reserve)
	if b.maxTokens <= 0 || free < b.maxTokens {
		b.maxTokens = free
	}
}

// boundToolResults keeps the newest tool results within their budget. The one
// that exceeds it is shortened to what is left, those before it are removed.
func (b *builder) boundToolResults(messages []Message) {
	left := b.budget.ToolResults
	if left <= 0 {
		return
	}
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Message.Role != models.RoleTool {
			continue
		}
		if m.Tokens > left {
			b.boundText(m, left)
		}
		if m.Tokens > left {
			removed := m.Message.Clone()
			removed.Content, removed.Images = RemovedResult, nil
			if short := b.measure(removed, PrunedHard); short.Tokens < m.Tokens {
				*m = short
			}
		}
		left = max(0, left-m.Tokens)
	}
}

// leastText is the smallest budget, in tokens, for which a shortened text is of use.
const leastText = 100

// maxCharsPerToken bounds the search for a cut: long runs of blanks apart, no
// tokenizer's token has more.
const maxCharsPerToken = 16

// boundText shortens a message's content in its middle to a budget of tokens, as
// long as what remains is of use. A budget of zero or less is no bound.
func (b *builder) boundText(m *Message, budget int) {
	if budget < leastText || m.Tokens <= budget {
		return
	}
	short := m.Message.Clone()
	short.Images = nil
	at := func(size int) Message {
		c := *short
		c.Content = prune.Truncate(m.Message.Content, size)
		return b.measure(&c, PrunedSoft)
	}
	most := min(utf8.RuneCountInString(m.Message.Content), maxCharsPerToken*budget)
	size := sort.Search(most, func(n int) bool { return at(n+1).Tokens > budget })
	if size > 0 {
		*m = at(size)
	}
}

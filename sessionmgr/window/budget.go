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

// resolveBudget sets the builder's budget, and what the messages may have together:
// the window less what is reserved and less the tools, and no more than MaxTokens.
func (b *builder) resolveBudget() {
	limits := b.in.Limits
	if b.in.Budget != nil {
		b.budget = ResolveBudget(*b.in.Budget, limits.Window)
	}
	b.maxTokens = limits.MaxTokens
	free := b.in.Room()
	if free <= 0 {
		if free = limits.MaxTokens - b.budget.Reserve; limits.MaxTokens <= 0 {
			return
		}
	}
	free = max(1, free-limits.Tools)
	if b.maxTokens <= 0 || free < b.maxTokens {
		b.maxTokens = free
	}
}

// Room is what the window has for messages and tools together, in tokens; zero if it
// is not known.
func (in *Input) Room() int {
	if in.Limits.Window <= 0 {
		return 0
	}
	reserve := in.Limits.Answer
	if in.Budget != nil {
		reserve = max(reserve, ResolveBudget(*in.Budget, in.Limits.Window).Reserve)
	}
	return max(1, in.Limits.Window-reserve)
}

// FitTools returns which tools are offered to the model, given how many tokens each
// one's schema takes, and how many these take together. They keep to the budget's
// part for tools or, where there is none, to half of the window: what is beyond is
// left out, so that a message still has room. The first ones are preferred.
func FitTools(sizes []int, budget *models.Budget, window int) (offered []bool, total int) {
	most := window / 2
	if budget != nil {
		if b := ResolveBudget(*budget, window); b.Tools > 0 {
			most = b.Tools
		}
	}
	offered = make([]bool, len(sizes))
	for i, size := range sizes {
		if most <= 0 || total+size <= most {
			offered[i] = true
			total += size
		}
	}
	return offered, total
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
			*m = b.removed(*m)
		}
		left = max(0, left-m.Tokens)
	}
}

// removed is a tool result without its content, if that makes it smaller.
func (b *builder) removed(m Message) Message {
	c := m.Message.Clone()
	c.Content, c.Images = RemovedResult, nil
	if short := b.measure(c, prune.Hard); short.Tokens < m.Tokens {
		return short
	}
	return m
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
		return b.measure(&c, prune.Soft)
	}
	most := min(utf8.RuneCountInString(m.Message.Content), maxCharsPerToken*budget)
	size := sort.Search(most, func(n int) bool { return at(n+1).Tokens > budget })
	if size > 0 {
		*m = at(size)
	}
}

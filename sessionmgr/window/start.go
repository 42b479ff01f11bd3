package window

import (
	"slices"

	"github.com/chatkeep/chatkeep/models"
)

// Start is where a context started. While the provider's cache is warm and pruning is
// to keep it ([prune.Settings.Keeps]), the next one starts there as well and is the same
// bytes with more behind them: what would shorten it waits, but for what bounds it as a
// whole, the window and MaxTokens. Once one of these is full it starts anew, as if the
// cache were cold, with at most half of what they leave to the history, so that the
// ones after it have room to go on.
type Start struct {
	// From is the seq of the first message behind the system part; zero: not known.
	From int64
	// Results is the seq from which on calls have their results: those of earlier ones
	// were removed to fit.
	Results int64
}

// Since returns what of a slot's newest messages, of which at most read were read, a
// context is to be made of: those from a seq on, and true. Where that seq is zero, or so
// far back that it was not read, it is the newest most (zero or less is no bound), and
// false. System messages that the slot begins with stay in any case.
func Since(messages []*models.SessionMessage, from int64, most, read int) ([]*models.SessionMessage, bool) {
	rules, whole := 0, len(messages) < read
	if whole {
		rules = len(leading(messages))
	}
	if from > 0 && (whole || messages[0].Seq <= from) {
		return cut(messages, rules, func(m *models.SessionMessage) bool { return m.Seq >= from }), true
	}
	if from > 0 && (most <= 0 || most > read/2) {
		most = read / 2 // as for a window that is full
	}
	if most <= 0 || most > len(messages) {
		most = len(messages)
	}
	if whole && most == len(messages) {
		return messages, false
	}
	newest := messages[len(messages)-most].Seq
	// A system message that is first would be taken for one that the slot begins with.
	return cut(messages, rules, func(m *models.SessionMessage) bool { return m.Seq >= newest && m.Role != models.RoleSystem }), false
}

// cut returns the first messages, and those of the others from the first that is wanted on.
func cut(messages []*models.SessionMessage, first int, wanted func(*models.SessionMessage) bool) []*models.SessionMessage {
	rest := messages[first:]
	if i := slices.IndexFunc(rest, wanted); i >= 0 {
		return slices.Concat(messages[:first], rest[i:])
	}
	return messages[:first]
}

// leading returns the system messages that a slot begins with.
func leading(messages []*models.SessionMessage) []*models.SessionMessage {
	n := 0
	for n < len(messages) && messages[n] != nil && messages[n].Role == models.RoleSystem {
		n++
	}
	return messages[:n]
}

// keeps reports whether this context, or the next one, is to go on from a start.
func (b *builder) keeps() bool {
	return b.in.Pruning.Keeps() && (b.in.Cold || b.in.Start.From > 0)
}

// goesOn reports whether the context starts where the one before it did.
func (b *builder) goesOn() bool { return b.keeps() && !b.in.Cold }

// leadingSystem returns the system messages that a view starts with. Where contexts go on
// from a start, those alone that the history began with all along: others may come to
// stand first as well, where what was before them is not sent any more.
func (b *builder) leadingSystem(messages []Message) []Message {
	found := leadingSystem(messages)
	if !b.keeps() || b.in.Focus != nil {
		return found
	}
	rules := leading(b.in.History)
	n := 0
	for n < min(len(found), len(rules)) && found[n].Message.Seq <= rules[len(rules)-1].Seq && (b.in.Start.From == 0 || found[n].Message.Seq < b.in.Start.From) {
		n++
	}
	return found[:n:n]
}

// Anew is the same state for a context that does not go on from a start.
func (in *Input) Anew() Input {
	out := *in
	if out.Pruning.Keeps() {
		out.Start.Results, out.Cold = 0, true
	}
	return out
}

// anew is a builder of a context that starts anew and leaves room to go on from there.
func (b *builder) anew() *builder {
	b = newBuilder(b.in.Anew())
	b.halve = true
	return b
}

// boundGroups keeps results within their budget by rules that hold for a group by
// itself, so that they can be followed again when there are more: results that are too
// much for it even alone are shortened, and those of all groups before the newest that
// fit it are removed.
func (b *builder) boundGroups(all [][]Message) {
	most := b.budget.ToolResults
	if most <= 0 {
		return
	}
	left := most
	for _, group := range slices.Backward(all) {
		results := group[1:]
		if len(results) == 0 {
			continue
		}
		if total(results) > most {
			for i := range results {
				b.boundText(&results[i], most/len(results))
			}
		}
		if b.goesOn() {
			continue
		}
		if left -= total(results); left < 0 {
			b.without(group)
			return
		}
	}
}

// without is a group with its tool results removed. Where contexts go on from a start,
// those of the groups before it go as well.
func (b *builder) without(group []Message) []Message {
	if !b.keeps() {
		return b.withoutResults(group)
	}
	if call := group[0].Message; len(group) > 1 && call.Seq > 0 {
		b.results = max(b.results, call.Seq+1)
	}
	return b.withResultsFrom(group)
}

// withResultsFrom is a group without its results if they are of those that were removed.
func (b *builder) withResultsFrom(group []Message) []Message {
	if call := group[0].Message; call.Seq > 0 && call.Seq < b.results {
		return b.withoutResults(group)
	}
	return group
}

// newestTurn is the place of the group that the newest turn begins with.
func newestTurn(all [][]Message) int {
	for i, group := range slices.Backward(all) {
		if m := group[0].Message; m.Role == models.RoleUser && !m.Observed {
			return i
		}
	}
	return len(all)
}

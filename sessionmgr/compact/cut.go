package compact

import "github.com/chatkeep/chatkeep/models"

// Due reports whether a context of so many messages and tokens, its summary
// included, is to be compacted. Threshold is the share of maxTokens at which it is.
func Due(messages, tokens, minMessages, maxTokens int, threshold float64) bool {
	return messages >= minMessages && float64(tokens) >= threshold*float64(maxTokens)
}

// longTurn is how many messages of a turn may go while the rest of it stays.
const longTurn = 10

// Cut returns how many of the messages, oldest first, a summary may replace. At
// least the newest keep stay, and the newest turn; those that stay begin with a
// turn or, where a long one leaves no other choice, with a whole group of tool calls.
// If they take more than fit tokens, fewer stay: at most half as many tokens, so that
// the next messages have room. A fit of zero is no bound.
func Cut(messages []*models.SessionMessage, keep, fit int) int {
	last := lastTurn(messages)
	cut := before(messages, min(len(messages)-keep, last), keep)
	if fit <= 0 || tokensOf(messages[cut:]) <= fit {
		return cut
	}
	for i := cut + 1; i < last; i++ {
		if beginsTurn(messages, i) && tokensOf(messages[i:]) <= fit/2 {
			return i
		}
	}
	return max(cut, last)
}

// before returns the last place up to most where the rest may begin, or zero.
func before(messages []*models.SessionMessage, most, keep int) int {
	for i := most; i > 0; i-- {
		if beginsTurn(messages, i) {
			return i
		}
	}
	for i := most; i > 0 && i >= max(keep, longTurn); i-- {
		if messages[i].Role != models.RoleTool {
			return i
		}
	}
	return 0
}

// lastTurn is where the newest turn begins that somebody asked for or, in a history
// without any, the newest text.
func lastTurn(messages []*models.SessionMessage) int {
	last := 0
	for i := len(messages) - 1; i > 0; i-- {
		if beginsTurn(messages, i) {
			if asks(messages[i]) {
				return i
			}
			last = max(last, i)
		}
	}
	if len(messages) > 0 && asks(messages[0]) {
		return 0
	}
	return last
}

// asks reports whether a message is what a turn answers, or talk before it.
func asks(m *models.SessionMessage) bool { return m.Role == models.RoleUser || m.Observed }

// beginsTurn reports whether something new begins at i: what a turn answers, with the
// group talk before it; a text that was pushed into the chat; a system message.
func beginsTurn(messages []*models.SessionMessage, i int) bool {
	m := messages[i]
	switch {
	case i == 0, m.Role == models.RoleSystem:
		return true
	case asks(m):
		return !asks(messages[i-1])
	case m.Role == models.RoleAssistant:
		ended := messages[i-1]
		return ended.Role == models.RoleSystem || ended.Role == models.RoleAssistant && len(ended.ToolCalls) == 0
	}
	return false
}

// leading returns how many system messages the messages begin with.
func leading(messages []*models.SessionMessage) int {
	n := 0
	for n < len(messages) && messages[n].Role == models.RoleSystem {
		n++
	}
	return n
}

func tokensOf(messages []*models.SessionMessage) int {
	sum := 0
	for _, m := range messages {
		sum += m.TokenCount
	}
	return sum
}

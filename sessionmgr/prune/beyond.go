package prune

import "github.com/chatkeep/chatkeep/models"

// LargestGroup is how far behind the newest messages the start of a group of tool
// calls is looked for: models make far fewer calls at once.
const LargestGroup = 256

// Beyond returns up to which seq messages lie beyond the newest most of a slot, zero
// for none. A group of tool calls is beyond as a whole or not at all. messages are
// the newest most and [LargestGroup] of the slot, oldest first.
func Beyond(messages []*models.SessionMessage, most int) int64 {
	if most <= 0 || len(messages) <= most {
		return 0
	}
	first := len(messages) - most
	for first > 0 && messages[first].Role == models.RoleTool {
		first--
	}
	if first == 0 {
		return 0
	}
	return messages[first-1].Seq
}

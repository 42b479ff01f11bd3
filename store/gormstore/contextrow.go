package gormstore

import (
	"fmt"

	"github.com/chatkeep/chatkeep/store"
)

// contextRow is what a slot's row says about its context. Everything up to
// compacted_through is not shown, for the summary at summary_seq stands for it;
// compacted_messages and compacted_tokens are those of the slot's messages that a
// context does not show, earlier summaries too.
type contextRow struct {
	ContextID         []byte
	NextSeq           int64
	MessageCount      int64
	TotalTokens       int64
	CompactedThrough  int64
	CompactedMessages int64
	CompactedTokens   int64
	SummarySeq        int64
	MergedThrough     int64
	PrunedThrough     int64
	Revision          int64
}

const contextColumns = `context_id, next_seq, message_count, total_tokens, compacted_through, compacted_messages, compacted_tokens,
	summary_seq, merged_through, pruned_through, revision`

// context reads a slot of the locked lane.
func (x *sessionTx) context(slot string) (row contextRow, err error) {
	n, err := x.tx.find(&row, "SELECT "+contextColumns+" FROM slots WHERE sid = ? AND name = ?", x.lane.Sid, slot)
	if err == nil && n == 0 {
		err = fmt.Errorf("slot: %w", store.ErrNotFound)
	}
	return row, err
}

// generation names the state of a slot that a job starts from. A context id is
// random, so that a slot that was reset, or deleted and made again, has another one.
func generation(contextID []byte, revision int64) int64 {
	var n int64
	for _, b := range contextID[:7] {
		n = n<<8 | int64(b)
	}
	return n + revision
}

// shown is the condition for the messages that a context has of a slot besides
// its summary.
const shown = "context_id = ? AND undone = 0 AND compacted = 0 AND seq > ?"

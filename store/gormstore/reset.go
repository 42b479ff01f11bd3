package gormstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// resetRow is a context that a reset set aside.
type resetRow struct {
	ContextID    []byte
	NextSeq      int64
	MessageCount int64
	TotalTokens  int64

	CompactedThrough  int64
	CompactedMessages int64
	CompactedTokens   int64
	SummarySeq        int64
	MergedThrough     int64
	PrunedThrough     int64
}

const resetColumns = `context_id, next_seq, message_count, total_tokens,
	compacted_through, compacted_messages, compacted_tokens, summary_seq, merged_through, pruned_through`

// Reset gives the slot a fresh context. Whatever its length, only pointers move.
func (x *sessionTx) Reset(slot string, observed int64, now time.Time) error {
	_, err := findSession(x.tx, x.lane.Sid)
	if errors.Is(err, store.ErrNotFound) && slot == models.DefaultSlot {
		return x.nextEpoch() // its first turn is running, or waits
	}
	if err != nil {
		return err
	}
	return x.exchange(slot, resetRow{ContextID: newContextID(), NextSeq: 1}, observed, now)
}

// Restore exchanges the slot's context for the one that was set aside last; what
// was written since is set aside in turn.
func (x *sessionTx) Restore(slot string, observed int64, now time.Time) error {
	of, args := "sid = ? AND slot = ?", []any{x.lane.Sid, slot}
	if slot == "" {
		of, args = "sid = ?", args[:1]
	}
	var old struct {
		Aside resetRow `gorm:"embedded"`
		Slot  string
	}
	n, err := x.tx.find(&old, "SELECT "+resetColumns+", slot FROM resets WHERE "+of+" ORDER BY place DESC LIMIT 1", args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("nothing was set aside: %w", store.ErrNotFound)
	}
	if _, err := x.tx.exec("DELETE FROM resets WHERE context_id = ?", old.Aside.ContextID); err != nil {
		return err
	}
	return x.exchange(old.Slot, old.Aside, observed, now)
}

func (x *sessionTx) exchange(slot string, to resetRow, observed int64, now time.Time) error {
	from, err := x.context(slot)
	if err != nil {
		return err
	}
	if err := x.dropPending(slot); err != nil {
		return err
	}
	if err := x.nextEpoch(); err != nil {
		return err
	}
	if from.NextSeq > 1 { // an empty context is not worth keeping
		if _, err := x.tx.exec("INSERT INTO resets ("+resetColumns+", sid, slot, reset_at, place, compacted_summary) VALUES "+values(1, 15),
			from.ContextID, from.NextSeq, from.MessageCount, from.TotalTokens,
			from.CompactedThrough, from.CompactedMessages, from.CompactedTokens, from.SummarySeq, from.MergedThrough, from.PrunedThrough,
			x.lane.Sid, slot, micros(now), x.lane.Epoch, leftSummary); err != nil {
			return err
		}
	}
	if _, err := x.tx.exec(`UPDATE slots SET context_id = ?, next_seq = ?, message_count = ?, total_tokens = ?, compacted_through = ?, compacted_messages = ?,
			compacted_tokens = ?, summary_seq = ?, merged_through = ?, pruned_through = ?, shown_from = 0 WHERE sid = ? AND name = ?`,
		to.ContextID, to.NextSeq, to.MessageCount, to.TotalTokens, to.CompactedThrough, to.CompactedMessages,
		to.CompactedTokens, to.SummarySeq, to.MergedThrough, to.PrunedThrough, x.lane.Sid, slot); err != nil {
		return err
	}
	// What was observed before belongs to the old context.
	_, err = x.tx.exec("UPDATE sessions SET observed_seq = ?, updated_at = ? WHERE sid = ?",
		observed, micros(now), x.lane.Sid)
	return err
}

// nextEpoch refuses the commit of whatever turn is running.
func (x *sessionTx) nextEpoch() error {
	x.lane.Epoch++
	_, err := x.tx.exec("UPDATE lanes SET epoch = ? WHERE sid = ?", x.lane.Epoch, x.lane.Sid)
	return err
}

package transfer

import (
	"context"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

const (
	// maxNumber bounds the numbers of a document: every reader of JSON holds it exactly.
	maxNumber = 1<<53 - 1
	// maxGap is how far a slot's next seq may be from its last message: what undo,
	// compaction and pruning took away in between.
	maxGap = 1_000_000_000
	// maxCount bounds counts of one session.
	maxCount = 1 << 40
	// maxUnseen is how many tokens an answer may have cost that are not in it (reasoning).
	maxUnseen = 1 << 18
)

// endSlot stores what is left of a slot, and makes sure that its next seq is near.
func (in *importer) endSlot(ctx context.Context) error {
	if err := in.flush(ctx); err != nil {
		return err
	}
	if n := len(in.record.Contexts); n > 0 && in.record.Contexts[n-1].NextSeq-in.last > maxGap {
		c := in.record.Contexts[n-1]
		return at(in.slotLine, fault("slot %q has nextSeq %d, which is too far from its last message, %d", c.Slot.ID, c.NextSeq, in.last))
	}
	return nil
}

func checkSlotNumbers(s *Slot) error {
	if s.NextSeq < 1 || s.NextSeq > maxNumber {
		return fault("slot %q has nextSeq %d, which is not between 1 and %d", s.ID, s.NextSeq, int64(maxNumber))
	}
	numbers := []int{s.MessageCount, s.TotalTokens}
	if f := s.Focused; f != nil {
		numbers = append(numbers, f.RecentMessages)
	}
	if b := s.Budget; b != nil {
		numbers = append(numbers, b.System, b.History, b.Tools, b.ToolResults, b.Reserve)
	}
	return checkNumbers("slot", numbers...)
}

func checkNumbers(of string, numbers ...int) error {
	for _, n := range numbers {
		if n < 0 || n > maxCount {
			return fault("the %s has the number %d, which is not between 0 and %d", of, n, int64(maxCount))
		}
	}
	return nil
}

// believable returns the tokens of a message: those that the document says, if they can
// be right, else an estimate. What is counted here is never below the estimate; of an
// answer the provider said it, whose tokenizer may need a quarter and does not count
// reasoning as part of it.
func believable(m *models.SessionMessage) int {
	estimate := tokens.Message(m, nil)
	least := estimate
	if m.Role == models.RoleAssistant {
		seen := *m
		seen.Reasoning = nil
		least = (tokens.Message(&seen, nil) - tokens.MessageOverhead) / 4
	}
	if m.TokenCount < max(least, 1) || m.TokenCount > 4*estimate+maxUnseen {
		return estimate
	}
	return m.TokenCount
}

package gateway

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// MergeStrategy says what of a slot is added to another one.
type MergeStrategy string

// The strategies of merging.
const (
	// MergeMessages adds the messages that the slot got since it was derived, or last merged.
	MergeMessages MergeStrategy = "messages"
	// MergeSummary adds the slot's summary as one system message: its override, or
	// the one that its latest compaction wrote.
	MergeSummary MergeStrategy = "summary"
)

// MergeSlot adds what is new in a slot to another one of the same session; Changed
// counts the messages added. [slot.ErrReadonly] if the other one takes none,
// [store.ErrConflict] for the summary of a slot that has none.
func (g *Gateway) MergeSlot(ctx context.Context, key, from, into string, strategy MergeStrategy) (Change, error) {
	switch {
	case strategy != MergeMessages && strategy != MergeSummary:
		return Change{}, fmt.Errorf("%w: strategy must be messages or summary", store.ErrInvalid)
	case from == into:
		return Change{}, fmt.Errorf("%w: a slot cannot be merged into itself", store.ErrInvalid)
	}
	var written *models.SessionMessage
	if strategy == MergeSummary {
		loaded, err := g.store.LoadContext(ctx, key, from, 0)
		if err != nil {
			return Change{}, err
		}
		written = loaded.Summary
	}
	var c Change
	err := g.inSlots(ctx, key, func(s slot.Slots) error {
		c = Change{}
		source, err := s.Get(from)
		if err != nil {
			return err
		}
		target, err := s.Get(into)
		if err != nil {
			return err
		}
		if target.Mode == models.SlotReadonly {
			return fmt.Errorf("%w: %q takes no messages", slot.ErrReadonly, into)
		}
		if strategy == MergeSummary {
			summary, err := g.summaryOf(source, written)
			if err != nil {
				return err
			}
			c.Changed = 1
			return s.Tx.Append(into, []*models.SessionMessage{summary}, g.now())
		}
		if source.Source.Kind == models.SlotStatic {
			return nil // nothing in it is ever new
		}
		c.Changed, err = s.Tx.MergeSlot(from, into, g.now())
		return err
	})
	if err != nil {
		return Change{}, err
	}
	return c, nil
}

// summaryOf is a slot's summary as a message for another slot; written is the one
// of its latest compaction, or nil.
func (g *Gateway) summaryOf(s *models.ContextSlot, written *models.SessionMessage) (*models.SessionMessage, error) {
	var content string
	switch {
	case s.Focused != nil && s.Focused.SummaryOverride != "":
		content = s.Focused.SummaryOverride
	case written != nil:
		content = written.Content
	default:
		return nil, fmt.Errorf("%w: slot %q has no summary yet; compact it, or give it focused.summaryOverride", store.ErrConflict, s.ID)
	}
	m := &models.SessionMessage{ID: models.NewMessageID(g.now()), Role: models.RoleSystem, Content: content, CreatedAt: g.now()}
	m.TokenCount = tokens.Message(m, nil)
	return m, nil
}

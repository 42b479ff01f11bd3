package gormstore

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// AppendMessages adds messages to a slot, all or none.
func (s *Store) AppendMessages(ctx context.Context, key string, messages []*models.SessionMessage) error {
	var c checks
	c.key(key)
	c.messages(messages)
	slot := ""
	for i, m := range messages {
		c.text("slot", m.Slot, models.MaxName)
		if i > 0 && m.Slot != messages[0].Slot && c.err == nil {
			c.err = fmt.Errorf("messages name several slots: %w", store.ErrInvalid)
		}
		slot = m.Slot
	}
	if c.err != nil || len(messages) == 0 {
		return wrap("append messages", c.err)
	}
	var from int64
	err := s.write(ctx, "append messages", func(t *tx) error {
		row, err := lockSlot(t, key, slot)
		if err != nil {
			return err
		}
		slot = *row.SlotName
		if t.again {
			if at, done, err := appended(t, row.ContextID, messages[0].ID); err != nil || done {
				from = at
				return err
			}
		}
		from = row.NextSeq
		if err := insertMessages(t, row.ContextID, from, messages); err != nil {
			return err
		}
		g := growth{messages: int64(len(messages)), tokens: tokensOf(messages), now: s.now()}
		for _, m := range messages {
			at := m.CreatedAt
			if at.IsZero() {
				at = g.now
			}
			if at.After(g.activeAt) {
				g.activeAt = at
			}
			if m.Role == models.RoleUser && !m.Observed && at.After(g.userAt) {
				g.userAt = at
			}
		}
		return row.grow(t, g)
	})
	if err != nil {
		return err
	}
	for i, m := range messages {
		m.Seq, m.Slot = from+int64(i), slot
	}
	return nil
}

// appended reports whether a message is among the newest of a context, and where:
// the commit whose answer was lost took place.
func appended(t *tx, contextID []byte, id string) (int64, bool, error) {
	var rows []messageRow
	if _, err := t.find(&rows, "SELECT seq, id FROM messages WHERE context_id = ? ORDER BY seq DESC LIMIT ?", contextID, maxBatchRows); err != nil {
		return 0, false, err
	}
	for _, r := range rows {
		if r.ID == id {
			return r.Seq, true, nil
		}
	}
	return 0, false, nil
}

// wrap names the operation of an error; nil stays nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

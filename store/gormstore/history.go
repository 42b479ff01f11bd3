package gormstore

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// newestMessages is one range of the clustered key, whatever the history's length.
const newestMessages = "SELECT " + messageColumns + " FROM messages WHERE context_id = ? AND undone = 0 AND seq < ? ORDER BY seq DESC LIMIT ?"

// noBound is a place behind every message.
const noBound = int64(1) << 62

func newest(t *tx, contextID []byte, slot string, before int64, limit int) ([]*models.SessionMessage, error) {
	if before <= 0 {
		before = noBound
	}
	var rows []messageRow
	if _, err := t.find(&rows, newestMessages, contextID, before, max(limit, 0)); err != nil {
		return nil, err
	}
	reverse(rows)
	return messageModels(rows, slot)
}

// Messages returns the newest messages of a slot; an empty name means the current one.
func (s *Store) Messages(ctx context.Context, key, slot string, before int64, limit int) (out []*models.SessionMessage, err error) {
	err = s.read(ctx, "messages", func(t *tx) error {
		var row struct {
			Name      string
			ContextID []byte
		}
		sql, args := "SELECT s.name, s.context_id FROM lanes l JOIN slots s ON s.sid = l.sid AND s.name = ? WHERE l.sid = ?", []any{slot, sidOf(key)}
		if slot == "" {
			sql, args = "SELECT s.name, s.context_id FROM lanes l JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ?", args[1:]
		}
		n, err := t.find(&row, sql, args...)
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrNotFound
		}
		out, err = newest(t, row.ContextID, row.Name, before, limit)
		return err
	})
	return out, err
}

// TurnMessages returns the messages that a turn committed.
func (s *Store) TurnMessages(ctx context.Context, inboundID string) (out []*models.SessionMessage, err error) {
	err = s.read(ctx, "turn messages", func(t *tx) error {
		var turn struct {
			Slot           string
			ContextID      []byte
			FromSeq, ToSeq int64
		}
		n, err := t.find(&turn, "SELECT i.slot, i.context_id, i.from_seq, i.to_seq"+fromInbound+" WHERE i.id = ? AND i.context_id IS NOT NULL", inboundID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("turn: %w", store.ErrNotFound)
		}
		var rows []messageRow
		if _, err := t.find(&rows, "SELECT "+messageColumns+" FROM messages WHERE context_id = ? AND seq BETWEEN ? AND ? ORDER BY seq",
			turn.ContextID, turn.FromSeq, turn.ToSeq); err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("turn: %w", store.ErrNotFound)
		}
		out, err = messageModels(rows, turn.Slot)
		return err
	})
	return out, err
}

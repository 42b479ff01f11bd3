package gormstore

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chatkeep/chatkeep/store"
)

// How coarse the columns weight and unpruned are: see migrations 91 and 24.
const (
	weightUnit   = 4096
	lightUnit    = 256 // of less than a weightUnit
	unprunedUnit = 8
)

// weightOf is the column weight of a slot with so many tokens.
func weightOf(tokens int) int64 {
	if tokens < weightUnit {
		return int64(max(tokens, 0) / lightUnit)
	}
	return int64(weightUnit/lightUnit - 1 + tokens/weightUnit)
}

// slotCursor is the last row of a page of one of the two indexes.
type slotCursor struct {
	bucket int64
	sid    []byte
	slot   string
}

func (c slotCursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d,%x,%s", c.bucket, c.sid, c.slot))
}

func parseSlotCursor(text string) (c slotCursor, err error) {
	bad := fmt.Errorf("cursor: %w", store.ErrInvalid)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, bad
	}
	parts := strings.SplitN(string(raw), ",", 3)
	if len(parts) != 3 {
		return c, bad
	}
	if c.bucket, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return c, bad
	}
	if _, err := fmt.Sscanf(parts[1], "%x", &c.sid); err != nil {
		return c, bad
	}
	c.slot = parts[2]
	return c, nil
}

// slotSizeRow is a slot that a job may act on.
type slotSizeRow struct {
	Bucket     int64
	Sid        []byte
	Name       string
	SessionKey string
	AgentID    string
	Messages   int
	Tokens     int
}

// Sizes of what a context shows of a slot.
const (
	liveMessages = "s.message_count - s.compacted_messages"
	liveTokens   = "s.total_tokens - s.compacted_tokens" //nolint:gosec // of a model, not of a door
)

// CompactCandidates reads the range of slots that are heavy enough.
func (s *Store) CompactCandidates(ctx context.Context, minTokens, minMessages int, after string, limit int) ([]store.SlotSize, string, error) {
	return s.candidates(ctx, "compact candidates", "weight", weightOf(minTokens), after, limit,
		liveTokens+" >= ? AND "+liveMessages+" >= ?", minTokens, minMessages)
}

// PruneCandidates reads the range of slots with enough messages that pruning did
// not look at.
func (s *Store) PruneCandidates(ctx context.Context, minMessages int, after string, limit int) ([]store.SlotSize, string, error) {
	minMessages = max(minMessages, 1)
	return s.candidates(ctx, "prune candidates", "unpruned", int64(minMessages/unprunedUnit), after, limit,
		"s.next_seq - 1 - s.pruned_through >= ?", minMessages)
}

// candidates reads one page: what is left of the cursor's bucket, then the buckets
// above it, each as one range of the index.
func (s *Store) candidates(ctx context.Context, op, column string, least int64, after string, limit int, exact string, bounds ...any) ([]store.SlotSize, string, error) {
	limit = pageSize(limit)
	column = "s." + column
	type part struct {
		where string
		args  []any
	}
	parts := []part{{column + " >= ?", []any{least}}}
	if after != "" {
		c, err := parseSlotCursor(after)
		if err != nil {
			return nil, "", wrap(op, err)
		}
		parts = []part{
			{column + " = ? AND s.sid >= ? AND (s.sid > ? OR s.name > ?)", []any{c.bucket, c.sid, c.sid, c.slot}},
			{column + " > ?", []any{c.bucket}},
		}
	}
	query := "SELECT " + column + " AS bucket, s.sid, s.name, e.session_key, e.agent_id, " + liveMessages + " AS messages, " + liveTokens + " AS tokens" +
		" FROM slots s {index slots_" + column[2:] + "} JOIN lanes l ON l.sid = s.sid JOIN sessions e ON e.sid = s.sid" +
		" WHERE %s AND " + exact + " AND l.due_at + 0 IS NULL ORDER BY " + column + ", s.sid, s.name LIMIT ?"
	var rows []slotSizeRow
	err := s.read(ctx, op, func(t *tx) error {
		rows = nil
		for _, p := range parts {
			if len(rows) >= limit {
				return nil
			}
			var some []slotSizeRow
			args := append(append(slices.Clone(p.args), bounds...), limit-len(rows))
			if _, err := t.find(&some, fmt.Sprintf(query, p.where), args...); err != nil {
				return err
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil || len(rows) == 0 {
		return nil, "", err
	}
	out := make([]store.SlotSize, len(rows))
	for i, r := range rows {
		out[i] = store.SlotSize{SessionKey: r.SessionKey, AgentID: r.AgentID, Slot: r.Name, Messages: r.Messages, Tokens: r.Tokens}
	}
	if len(rows) < limit {
		return out, "", nil
	}
	last := rows[len(rows)-1]
	return out, slotCursor{bucket: last.Bucket, sid: last.Sid, slot: last.Name}.String(), nil
}

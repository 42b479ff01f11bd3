package gormstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// maxIDs bounds the ids of one query.
const maxIDs = 1000

// Inbound returns one message.
func (s *Store) Inbound(ctx context.Context, id string) (*models.Inbound, error) {
	row, err := s.firstOf(ctx, nil, id)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("inbound: %w", store.ErrNotFound)
	}
	return row.model()
}

// FindInbound returns the message accepted under a deduplication key.
func (s *Store) FindInbound(ctx context.Context, dedupKey string) (*models.Inbound, error) {
	row, err := s.firstOf(ctx, []string{dedupKey}, "")
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("find inbound: %w", store.ErrNotFound)
	}
	return row.model()
}

// InboundBatch returns those that exist, in the order of their ids in the query.
func (s *Store) InboundBatch(ctx context.Context, ids []string) ([]*models.Inbound, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids) > maxIDs {
		return nil, fmt.Errorf("inbound batch: more than %d ids: %w", maxIDs, store.ErrTooLarge)
	}
	return s.inbounds(ctx, "inbound batch", "SELECT "+inboundBrief+fromInbound+" WHERE i.id IN "+values(1, len(ids)), anys(ids)...)
}

// Observed returns the newest observed messages after a place, oldest first.
func (s *Store) Observed(ctx context.Context, sessionKey string, after int64, since time.Time, limit int) ([]*models.Inbound, error) {
	out, err := s.inbounds(ctx, "observed", "SELECT "+inboundFull+fromInbound+
		" WHERE i.sid = ? AND i.queued = ? AND i.seq > ? AND i.received_at >= ? ORDER BY i.seq DESC LIMIT ?",
		sidOf(sessionKey), background, after, micros(since), max(limit, 0))
	reverse(out)
	return out, err
}

// LatestMessage returns the newest message that asked for a turn.
func (s *Store) LatestMessage(ctx context.Context, sessionKey string) (*models.Inbound, error) {
	rows, err := s.inbounds(ctx, "latest message", "SELECT "+inboundFull+fromInbound+
		" WHERE i.sid = ? AND i.kind = ? ORDER BY i.seq DESC LIMIT 1", sidOf(sessionKey), string(models.KindMessage))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("latest message: %w", store.ErrNotFound)
	}
	return rows[0], nil
}

func (s *Store) inbounds(ctx context.Context, op, sql string, args ...any) (out []*models.Inbound, err error) {
	err = s.read(ctx, op, func(t *tx) error {
		var rows []inboundRow
		if _, err := t.find(&rows, sql, args...); err != nil {
			return err
		}
		out, err = inboundModels(rows)
		return err
	})
	return out, err
}

func reverse[T any](list []T) {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
}

// Tombstone remembers a key of a message that must not be accepted.
func (s *Store) Tombstone(ctx context.Context, dedupKey string) (bool, error) {
	if dedupKey == "" {
		return false, fmt.Errorf("tombstone: key is empty: %w", store.ErrInvalid)
	}
	key := hash("dedup", dedupKey)
	err := s.autocommit(ctx, "tombstone", func(t *tx) error {
		_, err := t.exec("INSERT INTO dedup (key_hash, inbound_id, created_at) VALUES (?, NULL, ?)", key, micros(s.now()))
		if duplicate(err) {
			return errSeen
		}
		return err
	})
	if !errors.Is(err, errSeen) {
		return err == nil, err
	}
	var tombstones int
	err = s.read(ctx, "tombstone", func(t *tx) error {
		_, err := t.find(&tombstones, "SELECT COUNT(*) FROM dedup WHERE key_hash = ? AND inbound_id IS NULL", key)
		return err
	})
	return tombstones > 0, err
}

// ResolveThread returns the thread that the first known of the ids is an alias of.
func (s *Store) ResolveThread(ctx context.Context, channel, account string, ids []string) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	hashes := make([]any, len(ids))
	for i, id := range ids {
		hashes[i] = aliasHash(channel, account, id)
	}
	var rows []struct {
		AliasHash []byte
		Thread    string
	}
	err := s.read(ctx, "resolve thread", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, "SELECT alias_hash, thread FROM thread_aliases WHERE alias_hash IN "+values(1, len(hashes)), hashes...)
		return err
	})
	for _, h := range hashes {
		for _, row := range rows {
			if hashed, ok := h.([]byte); ok && bytes.Equal(row.AliasHash, hashed) {
				return row.Thread, err
			}
		}
	}
	return "", err
}

var inboundStates = []models.InboundState{
	models.InboundReceived, models.InboundRunning, models.InboundDone, models.InboundObserved, models.InboundSuperseded,
	models.InboundCancelled, models.InboundIgnored, models.InboundFailed, models.InboundDead,
}

// ListInbound returns a page, newest first.
func (s *Store) ListInbound(ctx context.Context, q store.InboundQuery) ([]*models.Inbound, string, error) {
	at, err := parseTextCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("list inbound: %w", err)
	}
	limit := pageSize(q.Limit)
	states := inboundStates
	if q.State != "" {
		states = []models.InboundState{q.State}
	}
	// One range of index inbound_state for each state, and the newest of their heads.
	var rows []inboundRow
	err = s.read(ctx, "list inbound", func(t *tx) error {
		rows = nil
		for _, state := range states {
			where, args := at.after("i.received_at", "i.id", string(state))
			var some []inboundRow
			if _, err := t.find(&some, "SELECT "+inboundBrief+" FROM inbound i JOIN lanes l ON l.sid = i.sid AND i.seq > l.deleted_seq"+
				" WHERE i.state = ?"+where+" ORDER BY i.received_at DESC, i.id DESC LIMIT ?", append(args, limit+1)...); err != nil {
				return err
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	rows, next := page(rows, limit, func(r inboundRow) cursor { return cursor{at: r.ReceivedAt, id: r.ID} })
	out, err := inboundModels(rows)
	return out, next, err
}

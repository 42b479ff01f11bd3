package gormstore

import (
	"context"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// ClaimCommands claims commands whose lease has ended.
func (s *Store) ClaimCommands(ctx context.Context, c store.ClaimRequest, limit int) ([]*models.Inbound, error) {
	limit = min(limit, maxBatchRows)
	if limit <= 0 {
		return nil, nil
	}
	token := s.token(c.Owner)
	var out []*models.Inbound
	err := s.write(ctx, "claim commands", func(t *tx) error {
		out = nil
		var due []string
		if _, err := t.find(&due, "SELECT inbound_id FROM commands WHERE due_at <= {now} ORDER BY due_at LIMIT ?", limit); err != nil || len(due) == 0 {
			return err
		}
		in, ids := values(1, len(due)), anys(due)
		if _, err := t.exec("UPDATE commands SET due_at = {now} + ?, lease_owner = ? WHERE due_at + 0 <= {now} AND inbound_id IN "+in,
			append([]any{millis(c.Lease), token}, ids...)...); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE inbound SET attempts = CASE WHEN state = 'running' THEN attempts + 1 ELSE attempts END, state = 'running' WHERE queued IN (?, ?) AND id IN "+in+
			" AND id IN (SELECT inbound_id FROM commands WHERE lease_owner = ?)", append(append([]any{around, deferred}, ids...), token)...); err != nil {
			return err
		}
		var rows []inboundRow
		if _, err := t.find(&rows, "SELECT "+inboundFull+fromInbound+
			" JOIN commands c ON c.inbound_id = i.id WHERE c.lease_owner = ? AND i.queued IN (?, ?) AND i.id IN "+in+" ORDER BY i.received_at, i.seq",
			append([]any{token, around, deferred}, ids...)...); err != nil {
			return err
		}
		var err error
		out, err = inboundModels(rows)
		return err
	})
	return out, err
}

// RenewCommand extends a command's lease.
func (s *Store) RenewCommand(ctx context.Context, id string, lease time.Duration) error {
	return s.autocommit(ctx, "renew command", func(t *tx) error {
		n, err := t.exec("UPDATE commands SET due_at = {now} + ? WHERE inbound_id = ?", millis(lease), id)
		if err == nil && n == 0 {
			err = fmt.Errorf("the command has its outcome: %w", store.ErrNotFound)
		}
		return err
	})
}

// ReleaseCommand hands a command back.
func (s *Store) ReleaseCommand(ctx context.Context, id string) error {
	return s.write(ctx, "release command", func(t *tx) error {
		if _, err := t.exec("UPDATE inbound SET state = ? WHERE id = ? AND queued = ? AND state = ?",
			string(models.InboundReceived), id, deferred, string(models.InboundRunning)); err != nil {
			return err
		}
		_, err := t.exec("UPDATE commands SET due_at = {now} WHERE inbound_id = ?", id)
		return err
	})
}

func (x *sessionTx) Defer(id, slot string) error {
	var c checks
	c.slot(slot)
	if c.err != nil {
		return c.err
	}
	n, err := x.tx.exec("UPDATE inbound SET queued = ?, slot = ? WHERE id = ? AND sid = ? AND queued = ?", deferred, slot, id, x.lane.Sid, around)
	if err == nil && n == 0 {
		err = fmt.Errorf("the command has its outcome: %w", store.ErrConflict)
	}
	return err
}

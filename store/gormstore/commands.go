package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

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

// RenewCommands reads the commands and writes those that are the owner's.
func (s *Store) RenewCommands(ctx context.Context, ids []string, c store.ClaimRequest) (held []string, err error) {
	for some := range slices.Chunk(ids, maxIDs) {
		err := s.autocommit(ctx, "renew commands", func(t *tx) error {
			mine, tokens, err := commandsOf(t, c.Owner, some)
			if err != nil || len(mine) == 0 {
				return err
			}
			n := len(mine)
			if _, err := t.exec("UPDATE commands SET due_at = {now} + ? WHERE inbound_id IN "+values(1, n)+" AND lease_owner IN "+values(1, n),
				slices.Concat([]any{millis(c.Lease)}, anys(mine), anys(tokens))...); err != nil {
				return err
			}
			held = append(held, mine...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}

// commandsOf are those of some commands that an owner holds, with the tokens of their leases.
func commandsOf(t *tx, owner string, ids []string) (mine, tokens []string, err error) {
	var rows []struct {
		InboundID  string
		LeaseOwner sql.NullString
	}
	if _, err := t.find(&rows, "SELECT inbound_id, lease_owner FROM commands WHERE inbound_id IN "+values(1, len(ids)), anys(ids)...); err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if strings.HasPrefix(row.LeaseOwner.String, owner+"/") {
			mine, tokens = append(mine, row.InboundID), append(tokens, row.LeaseOwner.String)
		}
	}
	return mine, tokens, nil
}

// ReleaseCommand hands a command back.
func (s *Store) ReleaseCommand(ctx context.Context, id, owner string) error {
	return s.write(ctx, "release command", func(t *tx) error {
		_, tokens, err := commandsOf(t, owner, []string{id})
		if err != nil || len(tokens) == 0 {
			return err
		}
		n, err := t.exec("UPDATE commands SET due_at = {now}, lease_owner = NULL WHERE inbound_id = ? AND lease_owner = ?", id, tokens[0])
		if err != nil || n == 0 {
			return err
		}
		_, err = t.exec("UPDATE inbound SET state = ? WHERE id = ? AND queued = ? AND state = ?",
			string(models.InboundReceived), id, deferred, string(models.InboundRunning))
		return err
	})
}

func (x *sessionTx) Defer(id, slot string, claim store.ClaimRequest) error {
	var c checks
	c.slot(slot)
	if c.err != nil {
		return c.err
	}
	n, err := x.tx.exec("UPDATE inbound SET queued = ?, slot = ?, state = ? WHERE id = ? AND sid = ? AND queued = ?",
		deferred, slot, string(models.InboundRunning), id, x.lane.Sid, around)
	if err == nil && n == 0 {
		err = fmt.Errorf("the command has its outcome: %w", store.ErrConflict)
	}
	if err != nil {
		return err
	}
	_, err = x.tx.exec("UPDATE commands SET due_at = {now} + ?, lease_owner = ? WHERE inbound_id = ?", millis(claim.Lease), x.store.token(claim.Owner), id)
	return err
}

package gormstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// previewRow is a row of previews.
type previewRow struct {
	ID         string
	InboundID  string
	SessionKey string
	Channel    string
	Account    string
	Target     sql.NullString
	State      []byte
	Shown      int
	CreatedAt  int64
}

const previewColumns = `p.id, p.inbound_id, p.session_key, p.channel, p.account, p.target, p.state, p.shown, p.created_at`

func (r *previewRow) model() (*models.Preview, error) {
	target, err := decode[storedTarget](r.Target)
	if err != nil {
		return nil, fmt.Errorf("preview %s: target: %w", r.ID, err)
	}
	return &models.Preview{
		ID: r.ID, InboundID: r.InboundID, SessionKey: r.SessionKey, Channel: r.Channel, Account: r.Account,
		Target: models.Target(target), State: r.State, Shown: r.Shown != 0, CreatedAt: fromMicros(r.CreatedAt),
	}, nil
}

// SavePreview stores a stream card while its turn runs.
func (s *Store) SavePreview(ctx context.Context, c store.Claim, p *models.Preview) error {
	var check checks
	check.id("preview id", p.ID, models.MaxForeignID)
	check.key(c.SessionKey)
	check.id("channel", p.Channel, models.MaxName)
	check.id("account", p.Account, models.MaxName)
	check.target(p.Target)
	if check.err != nil {
		return fmt.Errorf("save preview: %w", check.err)
	}
	target, err := encodeTarget(p.Target)
	if err != nil {
		return fmt.Errorf("save preview: %w", err)
	}
	return s.write(ctx, "save preview", func(t *tx) error {
		lane, err := lockRunning(t, c, p.InboundID)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO previews (id, inbound_id, sid, session_key, channel, account, target, state, shown, closing, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) {upsert id} state = ?, shown = ?`,
			p.ID, p.InboundID, lane.Sid, c.SessionKey, p.Channel, p.Account, target, p.State, bit(p.Shown), micros(p.CreatedAt), p.State, bit(p.Shown))
		return err
	})
}

// Preview returns one stream card.
func (s *Store) Preview(ctx context.Context, id string) (*models.Preview, error) {
	var out *models.Preview
	err := s.read(ctx, "preview", func(t *tx) error {
		var row previewRow
		n, err := t.find(&row, "SELECT "+previewColumns+" FROM previews p WHERE p.id = ?", id)
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrNotFound
		}
		out, err = row.model()
		return err
	})
	return out, err
}

// UpdatePreviewState stores the adapter's state.
func (s *Store) UpdatePreviewState(ctx context.Context, id string, state []byte) error {
	return s.autocommit(ctx, "update preview", func(t *tx) error {
		n, err := t.exec("UPDATE previews SET state = ? WHERE id = ?", state, id)
		if err == nil && n == 0 {
			return store.ErrNotFound
		}
		return err
	})
}

// TargetBusy reports whether something waits to be sent to the target.
func (s *Store) TargetBusy(ctx context.Context, channel, account string, target models.Target) (bool, error) {
	var busy int64
	err := s.read(ctx, "target busy", func(t *tx) (err error) {
		var one int
		busy, err = t.find(&one, "SELECT 1 FROM deliveries WHERE target_id = ? AND queued = 1 LIMIT 1", targetID(channel, account, target))
		return err
	})
	return busy > 0, err
}

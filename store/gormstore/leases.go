package gormstore

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// AcquireLease takes or renews a named lease.
func (s *Store) AcquireLease(ctx context.Context, name string, c store.ClaimRequest) (bool, error) {
	var check checks
	check.id("lease name", name, models.MaxForeignID)
	check.id("lease owner", c.Owner, 200)
	if check.err != nil {
		return false, wrap("acquire lease", check.err)
	}
	var owner string
	err := s.write(ctx, "acquire lease", func(t *tx) error {
		lease := millis(c.Lease)
		if _, err := t.exec(`INSERT INTO leases (name, owner, ends_at) VALUES (?, ?, {now} + ?)
			{upsert name} owner = CASE WHEN leases.ends_at <= {now} THEN ? ELSE leases.owner END,
				ends_at = CASE WHEN leases.owner = ? OR leases.ends_at <= {now} THEN {now} + ? ELSE leases.ends_at END`,
			name, c.Owner, lease, c.Owner, c.Owner, lease); err != nil {
			return err
		}
		_, err := t.find(&owner, "SELECT owner FROM leases WHERE name = ?", name)
		return err
	})
	return err == nil && owner == c.Owner, err
}

// ReleaseLease gives a lease up if owner holds it.
func (s *Store) ReleaseLease(ctx context.Context, name, owner string) error {
	return s.autocommit(ctx, "release lease", func(t *tx) error {
		_, err := t.exec("DELETE FROM leases WHERE name = ? AND owner = ?", name, owner)
		return err
	})
}

// ClockOffset is how far the database's clock is ahead of now.
func (s *Store) ClockOffset(ctx context.Context, now time.Time) (time.Duration, error) {
	var ms int64
	err := s.read(ctx, "clock offset", func(t *tx) error {
		_, err := t.find(&ms, "SELECT {now}")
		return err
	})
	return time.UnixMilli(ms).Sub(now), err
}

package gormstore

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// rateLife is how long counts of uses are remembered: far longer than any window.
	rateLife = 24 * time.Hour
	// budgetLife is how long a day's budgets are remembered: until the day is over everywhere.
	budgetLife = 3 * 24 * time.Hour
)

// sweepLimits removes what is over of requests, notices, rates, budgets and totals.
func (s *Store) sweepLimits(ctx context.Context, now time.Time, keepUsage time.Duration, batch int, out *store.Swept) (err error) {
	if out.Requests, err = s.sweepRequests(ctx, now, batch); err != nil {
		return err
	}
	if out.Notices, err = s.sweepOld(ctx, "notices", "key_hash", "ends_at", micros(now), batch); err != nil {
		return err
	}
	if out.Rates, err = s.sweepOld(ctx, "rates", "key_hash", "started_at", micros(now.Add(-rateLife)), batch); err != nil {
		return err
	}
	if out.Budgets, err = s.sweepOld(ctx, "budgets", "key_hash", "day", int64(store.DayOf(now.Add(-budgetLife))), batch); err != nil || keepUsage <= 0 {
		return err
	}
	out.Usage, err = s.sweepUsage(ctx, store.DayOf(now.Add(-keepUsage)), batch)
	return err
}

func (s *Store) sweepRequests(ctx context.Context, now time.Time, batch int) (total int, err error) {
	err = s.autocommit(ctx, "sweep access", func(t *tx) error {
		var hashes [][]byte
		where := " WHERE state = ? AND expires_at < ?"
		if _, err := t.find(&hashes, "SELECT subject_hash FROM access_grants"+where+" ORDER BY requested_at LIMIT ?",
			string(models.AccessPending), micros(now), batch); err != nil || len(hashes) == 0 {
			return err
		}
		n, err := t.exec("DELETE FROM access_grants"+where+" AND subject_hash IN "+values(1, len(hashes)),
			append([]any{string(models.AccessPending), micros(now)}, anys(hashes)...)...)
		total = int(n)
		return err
	})
	return total, err
}

// sweepUsage removes totals of the oldest day that is before a day.
func (s *Store) sweepUsage(ctx context.Context, before, batch int) (total int, err error) {
	err = s.autocommit(ctx, "sweep usage", func(t *tx) error {
		var day int
		if n, err := t.find(&day, "SELECT day FROM usage_totals WHERE day < ? ORDER BY day LIMIT 1", before); err != nil || n == 0 {
			return err
		}
		var hashes [][]byte
		if _, err := t.find(&hashes, "SELECT subject_hash FROM usage_totals WHERE day = ? LIMIT ?", day, batch); err != nil {
			return err
		}
		n, err := t.exec("DELETE FROM usage_totals WHERE day = ? AND subject_hash IN "+values(1, len(hashes)), append([]any{day}, anys(hashes)...)...)
		total = int(n)
		return err
	})
	return total, err
}

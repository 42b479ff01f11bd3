package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// TellOnce stores deliveries unless this was done under the key not long ago.
func (s *Store) TellOnce(ctx context.Context, key string, now, until time.Time, deliveries []*models.Delivery) (bool, error) {
	var c checks
	c.deliveries(deliveries)
	for _, d := range deliveries {
		if c.err == nil && d.SessionKey != deliveries[0].SessionKey {
			c.err = fmt.Errorf("deliveries of several sessions: %w", store.ErrInvalid)
		}
	}
	if c.err != nil || len(deliveries) == 0 {
		return false, wrap("tell once", c.err)
	}
	var again bool
	err := s.write(ctx, "tell once", func(t *tx) error {
		again = t.again
		lanes, err := lockLanes(t, deliveries, nil)
		if err != nil {
			return err
		}
		if err := remember(t, hash("notice", key), now, until); err != nil {
			return err
		}
		_, err = s.insertDeliveries(t, deliveries, lanes[deliveries[0].SessionKey], nil)
		return err
	})
	switch {
	case errors.Is(err, errSeen):
		return again, nil // if it was seen only now, the commit whose answer was lost took place
	case err != nil:
		return false, err
	}
	return true, nil
}

// remember keeps a key until a time; errSeen if it is kept already.
func remember(t *tx, key []byte, now, until time.Time) error {
	n, err := t.exec("UPDATE notices SET ends_at = ? WHERE key_hash = ? AND ends_at <= ?", micros(until), key, micros(now))
	if err != nil || n > 0 {
		return err
	}
	_, err = t.exec("INSERT INTO notices (key_hash, ends_at) VALUES (?, ?)", key, micros(until))
	if duplicate(err) {
		return errSeen
	}
	return err
}

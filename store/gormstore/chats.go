package gormstore

import (
	"context"
	"database/sql"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// AnsweredTarget returns where an answer in a chat went.
func (s *Store) AnsweredTarget(ctx context.Context, channel, account, chatID string) (models.Target, error) {
	var row struct{ Target sql.NullString }
	err := s.read(ctx, "answered target", func(t *tx) error {
		n, err := t.find(&row, "SELECT target FROM deliveries WHERE target_id = ? AND inbound_id <> '' LIMIT 1",
			targetID(channel, account, models.Target{ChatID: chatID}))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return models.Target{}, err
	}
	target, err := decode[storedTarget](row.Target)
	return models.Target(target), err
}

package gormstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// retryKeepsID is how long after the first attempt a delivery may be sent again
// under its id: the shortest window in which a platform recognises it (Feishu:
// one hour), less what an attempt may take.
const retryKeepsID = 50 * time.Minute

// Delivery returns one delivery.
func (s *Store) Delivery(ctx context.Context, id string) (*models.Delivery, error) {
	var out *models.Delivery
	err := s.read(ctx, "delivery", func(t *tx) error {
		row, err := findDelivery(t, id)
		if err == nil {
			out, err = row.model()
		}
		return err
	})
	return out, err
}

func findDelivery(t *tx, id string) (row deliveryRow, err error) {
	n, err := t.find(&row, "SELECT "+deliveryColumns+" FROM deliveries d"+joinDeliveryLane+" WHERE d.id = ?", id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return row, err
}

var deliveryStates = []models.DeliveryState{
	models.DeliveryPending, models.DeliverySending, models.DeliveryDelivered, models.DeliveryFailed, models.DeliveryDead,
}

// ListDeliveries returns a page, newest first.
func (s *Store) ListDeliveries(ctx context.Context, q store.DeliveryQuery) ([]*models.Delivery, string, error) {
	at, err := parseTextCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("list deliveries: %w", err)
	}
	limit := pageSize(q.Limit)
	states := deliveryStates
	if q.State != "" {
		states = []models.DeliveryState{q.State}
	}
	// One range of index deliveries_state for each state, in one statement: a row that
	// changes its state meanwhile is in exactly one of them.
	var ranges []string
	var args []any
	for i, state := range states {
		where, some := at.after("d.created_at", "d.id", string(state))
		ranges = append(ranges, "SELECT * FROM (SELECT "+deliveryColumns+" FROM deliveries d"+joinDeliveryLane+
			" WHERE d.state = ?"+where+" ORDER BY d.created_at DESC, d.id DESC LIMIT ?) s"+strconv.Itoa(i))
		args = append(append(args, some...), limit+1)
	}
	var rows []deliveryRow
	err = s.read(ctx, "list deliveries", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, strings.Join(ranges, " UNION ALL "), args...)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	rows, next := page(rows, limit, func(r deliveryRow) cursor { return cursor{at: r.CreatedAt, id: r.ID} })
	out, err := deliveryModels(rows)
	return out, next, err
}

// RetryDelivery makes a failed or dead delivery pending again, at the end of its
// target's queue.
func (s *Store) RetryDelivery(ctx context.Context, id string, now time.Time) (*models.Delivery, error) {
	var out *models.Delivery
	fresh := models.NewID("dlv")
	err := s.write(ctx, "retry delivery", func(t *tx) error {
		row, err := findDelivery(t, id)
		if err != nil && t.again {
			row, err = findDelivery(t, fresh)
		}
		if err != nil {
			return err
		}
		if row.Hidden != 0 {
			return store.ErrNotFound
		}
		d, err := row.model()
		if err != nil {
			return err
		}
		if t.again && d.State == models.DeliveryPending {
			out = d
			return nil
		}
		if len(row.TargetID) == 0 || d.State != models.DeliveryFailed && d.State != models.DeliveryDead {
			return fmt.Errorf("delivery is %s: %w", d.State, store.ErrConflict)
		}
		if _, err := t.exec(targetPlacesAndWake, row.TargetID, chatHash(d.Channel, d.Account, d.Target), d.Channel, d.Account, 1, 1); err != nil {
			return err
		}
		var target targetRow
		if _, err := t.find(&target, readTarget, []byte{}, row.TargetID); err != nil {
			return err
		}
		d.Seq, d.State, d.Attempts, d.Error, d.NextAttemptAt, d.DeliveredAt = target.LastSeq, models.DeliveryPending, 0, "", nil, nil
		d.QueuedAt = now
		if !d.FirstSentAt.IsZero() && now.Sub(d.FirstSentAt) >= retryKeepsID {
			d.ID, d.FirstSentAt = fresh, time.Time{}
		}
		n, err := t.exec(`UPDATE deliveries SET id = ?, seq = ?, state = ?, queued = 1, attempts = 0, error = '', next_attempt_at = NULL, first_sent_at = ?, queued_at = ?
			WHERE id = ? AND state = ?`, d.ID, d.Seq, string(d.State), nullMicros(d.FirstSentAt), micros(now), id, row.State)
		if err == nil && n == 0 {
			err = store.ErrConflict
		}
		out = d
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CloseTarget gives up everything that waits to be sent to a chat or, without one,
// to a user. An attempt that is under way ends by itself.
func (s *Store) CloseTarget(ctx context.Context, channel, account string, to models.Target, reason string, now time.Time) (int, error) {
	if to.ChatID == "" && to.UserID == "" {
		return 0, fmt.Errorf("close target: neither chat nor user: %w", store.ErrInvalid)
	}
	var targets [][]byte
	err := s.read(ctx, "close target", func(t *tx) error {
		targets = nil
		_, err := t.find(&targets, "SELECT id FROM targets WHERE chat = ?", chatHash(channel, account, to))
		return err
	})
	total := 0
	for _, id := range targets {
		if err != nil {
			break
		}
		err = s.write(ctx, "close target", func(t *tx) error {
			if _, err := t.exec("UPDATE targets SET last_seq = last_seq WHERE id = ?", id); err != nil { // takes its lock
				return err
			}
			if _, err := t.exec(`DELETE FROM previews WHERE id IN (SELECT preview FROM deliveries
				WHERE target_id = ? AND queued = 1 AND state = ? AND preview <> '')`, id, string(models.DeliveryPending)); err != nil {
				return err
			}
			n, err := t.exec("UPDATE deliveries SET state = ?, queued = 0, error = ?, next_attempt_at = NULL WHERE target_id = ? AND queued = 1 AND state = ?",
				string(models.DeliveryDead), clip(reason), id, string(models.DeliveryPending))
			if err != nil {
				return err
			}
			total += int(n)
			return nil
		})
	}
	return total, err
}

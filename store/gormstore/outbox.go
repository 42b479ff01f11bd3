package gormstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Enqueue stores deliveries that belong to no turn.
func (s *Store) Enqueue(ctx context.Context, deliveries []*models.Delivery, once store.Once, remember *models.Session) (bool, error) {
	if len(deliveries) == 0 {
		return true, nil
	}
	var c checks
	c.deliveries(deliveries)
	if remember != nil {
		c.session(remember)
	}
	if c.err != nil {
		return false, fmt.Errorf("enqueue: %w", c.err)
	}
	var again bool
	err := s.write(ctx, "enqueue", func(t *tx) error {
		again = t.again
		lanes, err := lockLanes(t, deliveries, remember)
		if err != nil {
			return err
		}
		if once.Key != "" {
			if err := insertOnce(t, once, deliveries[0]); err != nil {
				return err
			}
		}
		for rest := deliveries; len(rest) > 0; {
			key, n := placeOf(rest[0], remember), 1
			for n < len(rest) && placeOf(rest[n], remember) == key {
				n++
			}
			if _, err := s.insertDeliveries(t, rest[:n], lanes[key], nil); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return rememberOnDelivery(t, deliveries, remember)
	})
	switch {
	case err == nil:
		return true, nil
	case again && errors.Is(err, store.ErrExists): // the commit whose answer was lost took place
		return true, nil
	case !errors.Is(err, errSeen):
		return false, err
	}
	var first string
	err = s.read(ctx, "enqueue", func(t *tx) error {
		n, err := t.find(&first, "SELECT inbound_id FROM dedup WHERE key_hash = ?", onceHash(once))
		if err == nil && n == 0 {
			err = fmt.Errorf("the key stands for something else: %w", store.ErrConflict)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if again && first == deliveries[0].ID {
		return true, nil
	}
	deliveries[0].ID = first
	return false, nil
}

// insertOnce stores the key that makes deliveries unique, and beside it what it stands
// for; errSeen if the key is there.
func insertOnce(t *tx, once store.Once, first *models.Delivery) error {
	args := []any{hash("push", once.Key), first.ID, micros(first.CreatedAt)}
	if once.Fingerprint != "" {
		args = append(args, onceHash(once), first.ID, micros(first.CreatedAt))
	}
	_, err := t.exec("INSERT INTO dedup (key_hash, inbound_id, created_at) VALUES "+values(len(args)/3, 3), args...)
	if duplicate(err) {
		return errSeen
	}
	return err
}

// onceHash is where the first delivery of a key with its fingerprint is found.
func onceHash(once store.Once) []byte {
	if once.Fingerprint == "" {
		return hash("push", once.Key)
	}
	return hash("push", once.Key, once.Fingerprint)
}

// placeOf is the key of the session that a delivery belongs to; empty for none.
func placeOf(d *models.Delivery, remember *models.Session) string {
	if remember != nil {
		return remember.Key
	}
	return d.SessionKey
}

// lockLanes locks the lanes of all sessions that deliveries belong to, always in
// the same order, making those that are not there.
func lockLanes(t *tx, deliveries []*models.Delivery, remember *models.Session) (map[string]*laneRef, error) {
	lanes := map[string]*laneRef{}
	for _, d := range deliveries {
		lanes[placeOf(d, remember)] = nil
	}
	for _, key := range slices.Sorted(maps.Keys(lanes)) {
		if key == "" {
			continue
		}
		if _, err := t.exec(ensureLane, sidOf(key), key, kindOf(key)); err != nil {
			return nil, err
		}
		row, _, err := lockLane(t, key)
		if err != nil {
			return nil, err
		}
		lanes[key] = laneOf(row)
	}
	return lanes, nil
}

const (
	dueTargets = `SELECT id FROM targets WHERE due_at <= {now} ORDER BY due_at LIMIT ?`
	winTargets = `UPDATE targets SET due_at = {now} + ?, fence = fence + 1, attempts = attempts + 1, lease_owner = ?
		WHERE due_at + 0 <= {now} AND id IN `
	wonTargets = `SELECT id, channel, account, due_at, fence, lease_owner, last_seq FROM targets WHERE lease_owner = ? AND id IN `
)

// ClaimTargets claims targets that are due, as ClaimLanes does.
func (s *Store) ClaimTargets(ctx context.Context, c store.ClaimRequest, limit int) ([]store.TargetClaim, error) {
	limit = min(limit, maxBatchRows)
	if limit <= 0 {
		return nil, nil
	}
	token := s.token(c.Owner)
	var won []targetRow
	err := s.autocommit(ctx, "claim targets", func(t *tx) error {
		won = nil
		var due [][]byte
		if _, err := t.find(&due, dueTargets, limit); err != nil || len(due) == 0 {
			return err
		}
		in, ids := values(1, len(due)), anys(due)
		if n, err := t.exec(winTargets+in, append([]any{millis(c.Lease), token}, ids...)...); err != nil || n == 0 {
			return err
		}
		_, err := t.find(&won, wonTargets+in, append([]any{token}, ids...)...)
		return err
	})
	claims := make([]store.TargetClaim, len(won))
	for i := range won {
		claims[i] = won[i].claim()
	}
	return claims, err
}

// RenewTargets extends leases that were not taken over.
func (s *Store) RenewTargets(ctx context.Context, claims []store.TargetClaim, lease time.Duration) ([]store.TargetClaim, error) {
	var lost []store.TargetClaim
	for len(claims) > 0 {
		n := min(len(claims), maxBatchRows)
		some, err := s.renewTargets(ctx, claims[:n], lease)
		if err != nil {
			return lost, err
		}
		lost, claims = append(lost, some...), claims[n:]
	}
	return lost, nil
}

func (s *Store) renewTargets(ctx context.Context, claims []store.TargetClaim, lease time.Duration) ([]store.TargetClaim, error) {
	ids, pairs := make([]any, len(claims)), make([]any, 0, 2*len(claims))
	for i, c := range claims {
		id, err := targetOf(c)
		if err != nil {
			return nil, err
		}
		ids[i], pairs = id, append(pairs, id, c.Fence)
	}
	in := values(1, len(claims))
	var held []targetRow
	err := s.autocommit(ctx, "renew targets", func(t *tx) error {
		held = nil
		args := append(append([]any{millis(lease)}, ids...), pairs...)
		if _, err := t.exec("UPDATE targets SET due_at = {now} + ? WHERE id IN "+in+
			" AND lease_owner IS NOT NULL AND (id, fence) IN ("+s.dialect.pairs(len(claims))+")", args...); err != nil {
			return err
		}
		_, err := t.find(&held, "SELECT id, fence FROM targets WHERE lease_owner IS NOT NULL AND id IN "+in, ids...)
		return err
	})
	if err != nil {
		return nil, err
	}
	fences := make(map[string]int64, len(held))
	for _, h := range held {
		fences[string(h.ID)] = h.Fence
	}
	var lost []store.TargetClaim
	for i, c := range claims {
		if fence, ok := fences[string(ids[i].([]byte))]; !ok || fence != c.Fence {
			lost = append(lost, c)
		}
	}
	return lost, nil
}

func targetOf(c store.TargetClaim) ([]byte, error) {
	id, err := hex.DecodeString(c.ID)
	if err != nil {
		return nil, fmt.Errorf("target id: %w", store.ErrInvalid)
	}
	return id, nil
}

// lockTarget locks a target and checks the claim.
func lockTarget(t *tx, c store.TargetClaim) (row targetRow, err error) {
	id, err := targetOf(c)
	if err != nil {
		return row, err
	}
	n, err := t.find(&row, "SELECT id, channel, account, due_at, fence, lease_owner, last_seq FROM targets WHERE id = ? {lock}", id)
	if err == nil && (n == 0 || !row.heldBy(c)) {
		err = store.ErrLeaseLost
	}
	return row, err
}

// NextDelivery marks the target's next delivery sending.
func (s *Store) NextDelivery(ctx context.Context, c store.TargetClaim, now time.Time) (*models.Delivery, error) {
	var next *models.Delivery
	err := s.write(ctx, "next delivery", func(t *tx) error {
		target, err := lockTarget(t, c)
		if err != nil {
			return err
		}
		next, err = s.nextDelivery(t, &target, now)
		return err
	})
	return next, err
}

// nextDelivery takes the head of a locked target, or releases the target until
// its head is due.
func (s *Store) nextDelivery(t *tx, target *targetRow, now time.Time) (*models.Delivery, error) {
	var row deliveryRow
	n, err := t.find(&row, "SELECT "+deliveryColumns+" FROM deliveries d"+joinDeliveryLane+
		" WHERE d.target_id = ? AND d.queued = 1 ORDER BY d.seq LIMIT 1", target.ID)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		_, err := t.exec("UPDATE targets SET due_at = NULL, attempts = 0, lease_owner = NULL WHERE id = ?", target.ID)
		return nil, err
	}
	if row.State == string(models.DeliverySending) {
		return resend(t, target, &row)
	}
	if wait := fromNull(row.NextAttemptAt).Sub(now); row.NextAttemptAt.Valid && wait > 0 {
		_, err := t.exec("UPDATE targets SET due_at = {now} + ?, attempts = 0, lease_owner = NULL WHERE id = ?", millis(wait), target.ID)
		return nil, err
	}
	row.State = string(models.DeliverySending)
	if !row.FirstSentAt.Valid {
		row.FirstSentAt.Int64, row.FirstSentAt.Valid = micros(now), true
	}
	if _, err := t.exec("UPDATE deliveries SET state = ?, next_attempt_at = NULL, first_sent_at = ?, send_fence = ? WHERE id = ?",
		row.State, row.FirstSentAt.Int64, target.Fence, row.ID); err != nil {
		return nil, err
	}
	row.NextAttemptAt.Valid = false
	return row.model()
}

// resend returns a delivery that is being sent. If it was under another claim, its
// sender died: nobody knows whether it was sent.
func resend(t *tx, target *targetRow, row *deliveryRow) (*models.Delivery, error) {
	if row.SendFence != target.Fence {
		row.Attempts++
		row.Ambiguous = 1
		if _, err := t.exec("UPDATE deliveries SET attempts = attempts + 1, ambiguous = 1, send_fence = ? WHERE id = ?", target.Fence, row.ID); err != nil {
			return nil, err
		}
	}
	return row.model()
}

// rememberRow is what a delivery that was delivered leaves in its session.
type rememberRow struct {
	State    string
	Text     string
	Remember *string
}

// FinishDelivery stores what became of a delivery and takes the next one.
func (s *Store) FinishDelivery(ctx context.Context, c store.TargetClaim, r store.DeliveryResult) (*models.Delivery, error) {
	var check checks
	check.text("platform message id", r.PlatformMessageID, models.MaxForeignID)
	if !r.State.Valid() || r.State == models.DeliverySending {
		check.err = fmt.Errorf("delivery state %q: %w", r.State, store.ErrInvalid)
	}
	if check.err != nil {
		return nil, fmt.Errorf("finish delivery: %w", check.err)
	}
	var into *memory
	var next *models.Delivery
	finish := func() error {
		return s.write(ctx, "finish delivery", func(t *tx) (err error) {
			next, err = s.finishDelivery(t, c, r, into)
			return err
		})
	}
	err := finish()
	for range moveTries {
		lane, ok := errors.AsType[*needsLane](err) // the session's lane has to be locked before the target
		if !ok {
			break
		}
		into = lane.into
		err = finish()
	}
	return next, err
}

// moveTries is how often a delivery looks for the session that it is remembered in,
// which may be moved meanwhile.
const moveTries = 3

// needsLane ends a transaction that found that it should have locked a lane first.
type needsLane struct{ into *memory }

func (*needsLane) Error() string { return "delivery is remembered in a session" }

func (s *Store) finishDelivery(t *tx, c store.TargetClaim, r store.DeliveryResult, into *memory) (*models.Delivery, error) {
	var lane laneRow
	if into != nil {
		if _, err := t.exec(ensureLane, sidOf(into.Key), into.Key, kindOf(into.Key)); err != nil {
			return nil, err
		}
		var err error
		if lane, _, err = lockLane(t, into.Key); err != nil {
			return nil, err
		}
	}
	target, err := lockTarget(t, c)
	if err != nil {
		return nil, err
	}
	state, next, delivered, queued := r.State, any(nil), any(nil), 0
	switch state {
	case models.DeliveryPending:
		next, queued = nullMicros(r.RetryAt), 1
	case models.DeliveryDelivered:
		delivered = micros(r.Now)
	}
	n, err := t.exec(`UPDATE deliveries SET state = ?, queued = ?, attempts = attempts + ?, next_attempt_at = ?, error = ?,
		ambiguous = CASE WHEN ? = 1 THEN 1 ELSE ambiguous END,
		platform_message_id = CASE WHEN ? = '' THEN platform_message_id ELSE ? END, delivered_at = ?
		WHERE id = ? AND target_id = ? AND state = ?`, string(state), queued, bit(r.CountAttempt), next, clip(r.Error), bit(r.Ambiguous),
		r.PlatformMessageID, r.PlatformMessageID, delivered, r.ID, target.ID, string(models.DeliverySending))
	if err != nil {
		return nil, err
	}
	if n == 0 { // it got its outcome from elsewhere, or is none of the target's
		var one int
		if found, err := t.find(&one, "SELECT 1 FROM deliveries WHERE id = ? AND target_id = ?", r.ID, target.ID); err != nil || found == 0 {
			return nil, cmp.Or(err, store.ErrNotFound)
		}
	}
	if n > 0 && queued == 0 {
		// Not before: whoever comes after a death in between would find no card, and send
		// as a second message what the card shows already.
		if _, err := t.exec("DELETE FROM previews WHERE id IN (SELECT preview FROM deliveries WHERE id = ? AND preview <> '')", r.ID); err != nil {
			return nil, err
		}
	}
	if n > 0 && state == models.DeliveryDelivered {
		var row rememberRow
		if _, err := t.find(&row, "SELECT state, text, remember FROM deliveries WHERE id = ? AND remember IS NOT NULL", r.ID); err != nil {
			return nil, err
		}
		if row.Remember != nil {
			m := &memory{}
			if err := json.Unmarshal([]byte(*row.Remember), m); err != nil {
				return nil, fmt.Errorf("delivery %s: remember: %w", r.ID, err)
			}
			if into == nil || into.Key != m.Key {
				return nil, &needsLane{m}
			}
			if err := s.rememberDelivery(t, lane, m, r, row.Text); err != nil {
				return nil, err
			}
		}
	}
	return s.nextDelivery(t, &target, r.Now)
}

// ReleaseTarget hands a target back.
func (s *Store) ReleaseTarget(ctx context.Context, c store.TargetClaim, delay time.Duration) error {
	return s.write(ctx, "release target", func(t *tx) error {
		target, err := lockTarget(t, c)
		if err != nil {
			if t.again && errors.Is(err, store.ErrLeaseLost) {
				return nil
			}
			return err
		}
		var one int
		n, err := t.find(&one, "SELECT 1 FROM deliveries WHERE target_id = ? AND queued = 1 LIMIT 1", target.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			_, err = t.exec("UPDATE targets SET due_at = NULL, attempts = 0, lease_owner = NULL WHERE id = ?", target.ID)
		} else {
			_, err = t.exec("UPDATE targets SET due_at = {now} + ?, attempts = 0, lease_owner = NULL WHERE id = ?", millis(delay), target.ID)
		}
		return err
	})
}

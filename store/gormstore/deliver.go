package gormstore

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// targetRow is a row of targets, beside whether a lane has a waiting message.
type targetRow struct {
	ID         []byte
	Channel    string
	Account    string
	DueAt      sql.NullInt64
	Fence      int64
	LeaseOwner sql.NullString
	LastSeq    int64
	Waiting    int
}

func (t *targetRow) heldBy(c store.TargetClaim) bool { return t.Fence == c.Fence && t.LeaseOwner.Valid }

func (t *targetRow) claim() store.TargetClaim {
	return store.TargetClaim{Channel: t.Channel, Account: t.Account, ID: hex.EncodeToString(t.ID), Fence: t.Fence}
}

// targetID names the place that deliveries must reach in order.
func targetID(channel, account string, t models.Target) []byte {
	if t.ChatID != "" {
		return hash("chat", channel, account, t.ChatID, t.ThreadID)
	}
	return hash("user", channel, account, t.UserID, t.ThreadID)
}

// chatHash finds all targets of a chat, or of a user without one, whatever the thread.
func chatHash(channel, account string, t models.Target) []byte {
	if t.ChatID != "" {
		return hash("chat", channel, account, t.ChatID)
	}
	return hash("user", channel, account, t.UserID)
}

const (
	targetPlacesAndWake = `INSERT INTO targets (id, chat, channel, account, due_at, fence, attempts, lease_owner, last_seq)
		VALUES (?, ?, ?, ?, {now}, 0, 0, NULL, ?)
		{upsert id} last_seq = targets.last_seq + ?, due_at = COALESCE(targets.due_at, {now})`
	targetPlacesAndClaim = `INSERT INTO targets (id, chat, channel, account, due_at, fence, attempts, lease_owner, last_seq)
		VALUES (?, ?, ?, ?, {now} + ?, 1, 1, ?, ?)
		{upsert id} last_seq = targets.last_seq + ?,
			fence = CASE WHEN targets.due_at IS NULL THEN targets.fence + 1 ELSE targets.fence END,
			attempts = CASE WHEN targets.due_at IS NULL THEN 1 ELSE targets.attempts END,
			lease_owner = CASE WHEN targets.due_at IS NULL THEN ? ELSE targets.lease_owner END,
			due_at = COALESCE(targets.due_at, {now} + ?)`
	readTarget = `SELECT t.id, t.channel, t.account, t.due_at, t.fence, t.lease_owner, t.last_seq,
			EXISTS (SELECT 1 FROM inbound WHERE sid = ? AND queued = 1) AS waiting
		FROM targets t WHERE t.id = ?`
)

// laneRef is the place in a lane that deliveries belong to.
type laneRef struct {
	sid []byte
	seq int64
}

func laneOf(l laneRow) *laneRef { return &laneRef{sid: l.Sid, seq: l.LastSeq} }

// targetAsk asks for the first target, if it is idle.
type targetAsk struct {
	request *store.ClaimRequest
	token   string
	now     int64 // when the first delivery begins
}

// inserted is what came of insertDeliveries.
type inserted struct {
	// asked is set if a target was read, and waiting then tells about the lane.
	asked, waiting bool
	claim          *store.TargetClaim
	first          *models.Delivery
}

// insertDeliveries stores deliveries in the order of their targets. Those that
// are delivered already touch no target.
func (s *Store) insertDeliveries(t *tx, deliveries []*models.Delivery, lane *laneRef, ask *targetAsk) (out inserted, err error) {
	if len(deliveries) == 0 {
		return out, nil
	}
	var sid []byte
	if lane != nil {
		sid = lane.sid
	}
	counts := map[string]int64{}
	var order []*models.Delivery // one of each target, in order of appearance
	for _, d := range deliveries {
		if d.State == models.DeliveryDelivered {
			continue
		}
		id := string(targetID(d.Channel, d.Account, d.Target))
		if counts[id]++; counts[id] == 1 {
			order = append(order, d)
		}
	}
	next := map[string]int64{}
	sending := ""
	for i, d := range order {
		id := targetID(d.Channel, d.Account, d.Target)
		n := counts[string(id)]
		chat := chatHash(d.Channel, d.Account, d.Target)
		if i == 0 && ask != nil {
			lease := millis(ask.request.Lease)
			_, err = t.exec(targetPlacesAndClaim, id, chat, d.Channel, d.Account, lease, ask.token, n, n, ask.token, lease)
		} else {
			_, err = t.exec(targetPlacesAndWake, id, chat, d.Channel, d.Account, n, n)
		}
		if err != nil {
			return out, err
		}
		var target targetRow
		if _, err := t.find(&target, readTarget, sid, id); err != nil {
			return out, err
		}
		out.asked, out.waiting = true, target.Waiting != 0
		next[string(id)] = target.LastSeq - n
		if i == 0 && ask != nil && target.LeaseOwner.String == ask.token {
			claim := target.claim()
			out.claim, sending = &claim, string(id)
		}
	}
	rows := make([][]any, len(deliveries))
	for i, d := range deliveries {
		stored := *d
		d := &stored
		d.QueuedAt = d.CreatedAt
		var target any
		queued, sendFence := 0, int64(0)
		if d.State != models.DeliveryDelivered {
			id := targetID(d.Channel, d.Account, d.Target)
			next[string(id)]++
			d.Seq, target, queued = next[string(id)], id, 1
			d.State = models.DeliveryPending
			if sending != "" && string(id) == sending && out.first == nil {
				d.State, d.FirstSentAt = models.DeliverySending, fromMicros(ask.now)
				out.first, sendFence = d, out.claim.Fence
			}
		} else if d.DeliveredAt == nil {
			d.DeliveredAt = &d.CreatedAt
		}
		if rows[i], err = deliveryValues(d, target, queued, sendFence, lane); err != nil {
			return out, err
		}
	}
	if err := insertRows(t, "INSERT INTO deliveries ("+deliveryInsert+") VALUES ", rows); err != nil {
		return out, err
	}
	return out, markClosing(t, deliveries)
}

const deliveryInsert = `id, target_id, seq, queued, sid, lane_seq, inbound_id, session_key, channel, account, state, kind, part, parts, text, files, buttons, target,
	attempts, next_attempt_at, first_sent_at, send_fence, ambiguous, error, platform_message_id, preview, created_at, delivered_at, queued_at`

func deliveryValues(d *models.Delivery, target any, queued int, sendFence int64, lane *laneRef) ([]any, error) {
	files, err := encode(d.Files, len(d.Files) == 0)
	if err != nil {
		return nil, err
	}
	buttons, err := encode(d.Buttons, len(d.Buttons) == 0)
	if err != nil {
		return nil, err
	}
	to, err := encode(sentTarget{storedTarget(d.Target), d.Trace}, false)
	if err != nil {
		return nil, err
	}
	var sid any
	var laneSeq int64
	if lane != nil {
		sid, laneSeq = lane.sid, lane.seq
	}
	return []any{d.ID, target, d.Seq, queued, sid, laneSeq, d.InboundID, d.SessionKey, d.Channel, d.Account, string(d.State), string(d.Kind), d.Part, d.Parts,
		d.Text, files, buttons, to, d.Attempts, nullTime(d.NextAttemptAt), nullMicros(d.FirstSentAt), sendFence, bit(d.Ambiguous), clip(d.Error), d.PlatformMessageID, d.Preview,
		micros(d.CreatedAt), nullTime(d.DeliveredAt), micros(d.CreatedAt)}, nil
}

// Bounds of one multi-row INSERT: below max_allowed_packet and SQLite's 32,766 parameters.
const (
	maxBatchRows  = 500
	maxBatchBytes = 4 << 20
)

// insertRows inserts rows by as few statements as their size allows.
func insertRows(t *tx, insert string, rows [][]any) error {
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && n < maxBatchRows {
			size += rowBytes(rows[n])
			if n > 0 && size > maxBatchBytes {
				break
			}
			n++
		}
		args := make([]any, 0, n*len(rows[0]))
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if _, err := t.exec(insert+values(n, len(rows[0])), args...); err != nil {
			if duplicate(err) {
				return fmt.Errorf("%s: %w", strings.Fields(insert)[2], store.ErrExists)
			}
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func rowBytes(row []any) (n int) {
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		default:
			n += 8
		}
	}
	return n
}

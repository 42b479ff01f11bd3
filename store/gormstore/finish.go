package gormstore

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// finish gives messages of a locked lane their outcome from outside of a turn. A
// turn that runs one of them finds it gone when it commits. It returns how many
// had none yet.
func (s *Store) finish(t *tx, lane laneRow, ids []string, o store.Outcome, now time.Time) (int64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	in := values(1, len(ids))
	reply, err := encode(o.Reply, o.Reply == nil)
	if err != nil {
		return 0, err
	}
	args := []any{string(o.State), string(o.Code), clip(o.Error), o.FinishReason, reply, micros(now), lane.Sid, inLane, around, deferred}
	set, open := "", "queued IN (?, ?, ?)"
	if o.Erase {
		set, open = ", payload = ''", "(queued IN (?, ?, ?, ?) OR state = ?)"
		args = append(args, background, string(models.InboundSuperseded))
	}
	n, err := t.exec(`UPDATE inbound SET state = ?, code = ?, error = ?, finish_reason = ?, reply = ?, finished_at = ?, queued = 0, run_fence = 0`+set+`
		WHERE sid = ? AND `+open+` AND id IN `+in, append(args, anys(ids)...)...)
	if err != nil || n == 0 {
		return n, err
	}
	if _, err := t.exec("DELETE FROM commands WHERE inbound_id IN "+in, anys(ids)...); err != nil {
		return n, err
	}
	return n, s.closePreviews(t, lane, ids, now)
}

// closePreviews sends what finishes the stream cards that the messages have open.
func (s *Store) closePreviews(t *tx, lane laneRow, inboundIDs []string, now time.Time) error {
	return s.closeOpen(t, lane, now, "p.closing = 0 AND p.inbound_id IN "+values(1, len(inboundIDs)), anys(inboundIDs)...)
}

// closeAllPreviews does so for all cards of a session whose deliveries were given up.
func (s *Store) closeAllPreviews(t *tx, lane laneRow, now time.Time) error {
	return s.closeOpen(t, lane, now, "p.closing = 0 AND p.sid = ?", lane.Sid)
}

func (s *Store) closeOpen(t *tx, lane laneRow, now time.Time, where string, args ...any) error {
	var open []previewRow
	if _, err := t.find(&open, "SELECT "+previewColumns+" FROM previews p WHERE "+where, args...); err != nil || len(open) == 0 {
		return err
	}
	deliveries := make([]*models.Delivery, len(open))
	for i := range open {
		p, err := open[i].model()
		if err != nil {
			return err
		}
		deliveries[i] = &models.Delivery{
			ID: models.NewID("dlv"), InboundID: p.InboundID, SessionKey: p.SessionKey, Channel: p.Channel, Account: p.Account,
			Target: p.Target, State: models.DeliveryPending, Kind: models.DeliveryPreview, Preview: p.ID, Part: 1, Parts: 1, CreatedAt: now,
		}
	}
	_, err := s.insertDeliveries(t, deliveries, laneOf(lane), nil)
	return err
}

// markClosing notes that a delivery will finish these stream cards.
func markClosing(t *tx, deliveries []*models.Delivery) error {
	var ids []any
	for _, d := range deliveries {
		if d.Preview != "" {
			ids = append(ids, d.Preview)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := t.exec("UPDATE previews SET closing = 1 WHERE id IN "+values(1, len(ids)), ids...)
	return err
}

package gormstore

import (
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Delete makes the session unreadable.
func (x *sessionTx) Delete(now time.Time) error {
	lanes := []laneRow{x.lane}
	err := x.store.unlink(x.tx, lanes, now)
	x.lane = lanes[0]
	return err
}

// ofSession are the tables whose rows go with their session at once; all of them are
// small. What may be long (messages, inbox, outbox) is erased later.
var ofSession = []string{"resets", "slots", "sessions", "notes", "variables", "plan_files", "approvals", "full_results"}

// unlink moves the marks of locked lanes past everything that there is in them. The
// rows themselves are erased later; nothing reads them any more. The lanes are
// updated. What it costs hardly depends on how many sessions they are.
func (s *Store) unlink(t *tx, lanes []laneRow, now time.Time) error {
	sids := sidsOf(lanes)
	in := values(1, len(sids))
	if _, err := t.exec(`UPDATE deliveries SET state = ?, queued = 0, error = 'the session was deleted', text = '', files = NULL, buttons = NULL, remember = NULL,
		next_attempt_at = NULL WHERE queued = 1 AND sid IN `+in, append([]any{string(models.DeliveryFailed)}, sids...)...); err != nil {
		return err
	}
	if _, err := t.exec("UPDATE previews SET closing = 0 WHERE sid IN "+in, sids...); err != nil { // what would have finished them is gone
		return err
	}
	ends, err := openEnds(t, sids)
	if err != nil {
		return err
	}
	// Everything up to deleted_seq is gone; what closes stream cards comes after it.
	if _, err := t.exec("UPDATE lanes SET deleted_seq = last_seq + 1, last_seq = last_seq + 2, epoch = epoch + 1, slot = ? WHERE sid IN "+in,
		append([]any{models.DefaultSlot}, sids...)...); err != nil {
		return err
	}
	for i := range lanes {
		lane := &lanes[i]
		lane.DeletedSeq, lane.LastSeq, lane.Epoch, lane.Slot = lane.LastSeq+1, lane.LastSeq+2, lane.Epoch+1, models.DefaultSlot
		if err := s.endAll(t, *lane, ends[string(lane.Sid)], now); err != nil {
			return err
		}
	}
	for _, table := range []string{"slots", "resets"} {
		if _, err := t.exec("INSERT INTO erasures (kind, ref, through) SELECT 'context', context_id, 0 FROM "+table+" WHERE sid IN "+in, sids...); err != nil {
			return err
		}
	}
	for _, table := range ofSession {
		if _, err := t.exec("DELETE FROM "+table+" WHERE sid IN "+in, sids...); err != nil {
			return err
		}
	}
	if _, err := t.exec("DELETE FROM usage_totals WHERE subject_hash IN "+in, sids...); err != nil {
		return err
	}
	return eraseLater(t, lanes)
}

// eraseLater has what was said in lanes, up to their marks, erased by a job.
func eraseLater(t *tx, lanes []laneRow) error {
	if _, err := t.exec("DELETE FROM erasures WHERE kind = 'lane' AND ref IN "+values(1, len(lanes)), sidsOf(lanes)...); err != nil {
		return err
	}
	rows := make([][]any, len(lanes))
	for i, lane := range lanes {
		rows[i] = []any{"lane", lane.Sid, lane.DeletedSeq}
	}
	return insertRows(t, "INSERT INTO erasures (kind, ref, through) VALUES ", rows)
}

// ends is what a deleted session leaves unfinished.
type ends struct {
	pending []string // messages without an outcome
	cards   bool     // open stream cards
}

func openEnds(t *tx, sids []any) (map[string]*ends, error) {
	var rows []struct {
		Sid []byte
		ID  string
	}
	in := values(1, len(sids))
	if _, err := t.find(&rows, `SELECT sid, id FROM inbound WHERE sid IN `+in+` AND queued IN (?, ?, ?)
		UNION ALL SELECT sid, '' AS id FROM previews WHERE sid IN `+in+` AND closing = 0`,
		slices.Concat(sids, []any{inLane, around, deferred}, sids)...); err != nil {
		return nil, err
	}
	out := map[string]*ends{}
	for _, row := range rows {
		e := out[string(row.Sid)]
		if e == nil {
			e = &ends{}
			out[string(row.Sid)] = e
		}
		if row.ID == "" {
			e.cards = true
		} else {
			e.pending = append(e.pending, row.ID)
		}
	}
	return out, nil
}

// endAll ends what a deleted session left unfinished; nil: nothing.
func (s *Store) endAll(t *tx, lane laneRow, left *ends, now time.Time) error {
	if left == nil {
		return nil
	}
	if _, err := s.finish(t, lane, left.pending, store.Outcome{
		State: models.InboundSuperseded, Code: models.CodeSuperseded, Error: "the session was deleted"}, now); err != nil {
		return err
	}
	if left.cards {
		if err := s.closeAllPreviews(t, lane, now); err != nil {
			return err
		}
	}
	return restLane(t, lane.Sid)
}

func sidsOf(lanes []laneRow) []any {
	out := make([]any, len(lanes))
	for i := range lanes {
		out[i] = lanes[i].Sid
	}
	return out
}

package gormstore

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// resultRow is a row of full_results.
type resultRow struct {
	ID        string
	InboundID string
	Tool      string
	Size      int
	CreatedAt int64
	Content   string
}

const resultColumns = "id, inbound_id, tool, size, created_at"

func (r *resultRow) model(key string) *models.FullResult {
	return &models.FullResult{
		ID: r.ID, SessionKey: key, InboundID: r.InboundID, Tool: r.Tool, Size: r.Size, Text: r.Content, CreatedAt: fromMicros(r.CreatedAt),
	}
}

// PutResult stores a result while its turn runs.
func (s *Store) PutResult(ctx context.Context, c store.Claim, r *models.FullResult) error {
	var check checks
	check.key(c.SessionKey)
	check.id("result id", r.ID, models.MaxName)
	check.id("result inbound id", r.InboundID, models.MaxForeignID)
	check.id("result tool", r.Tool, models.MaxForeignID)
	check.text("result", r.Text, models.MaxFullResult)
	if check.err != nil {
		return fmt.Errorf("put result: %w", check.err)
	}
	return s.write(ctx, "put result", func(t *tx) error {
		lane, err := lockRunning(t, c, r.InboundID)
		if err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM full_results WHERE sid = ? AND id = ?", lane.Sid, r.ID); err != nil {
			return err
		}
		var over []string
		if _, err := t.find(&over, "SELECT id FROM full_results WHERE sid = ? ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
			lane.Sid, models.MaxFullResults, models.MaxFullResults-1); err != nil {
			return err
		}
		if len(over) > 0 {
			if _, err := t.exec("DELETE FROM full_results WHERE sid = ? AND id IN "+values(1, len(over)), append([]any{lane.Sid}, anys(over)...)...); err != nil {
				return err
			}
		}
		return insertRows(t, "INSERT INTO full_results (sid, "+resultColumns+", content) VALUES ",
			[][]any{{lane.Sid, r.ID, r.InboundID, r.Tool, r.Size, micros(r.CreatedAt), r.Text}})
	})
}

// lockRunning locks the lane of a turn that runs under a claim.
func lockRunning(t *tx, c store.Claim, inboundID string) (laneRow, error) {
	lane, found, err := lockLane(t, c.SessionKey)
	if err != nil {
		return lane, err
	}
	if !found || !lane.heldBy(c) {
		return lane, store.ErrLeaseLost
	}
	var one int
	n, err := t.find(&one, "SELECT 1 FROM inbound WHERE id = ? AND sid = ? AND state = ? AND run_fence = ?",
		inboundID, lane.Sid, string(models.InboundRunning), c.Fence)
	if err == nil && n == 0 {
		err = store.ErrStopped
	}
	return lane, err
}

// Result returns a result with its text.
func (s *Store) Result(ctx context.Context, sessionKey, id string) (*models.FullResult, error) {
	var row resultRow
	err := s.read(ctx, "result", func(t *tx) error {
		n, err := t.find(&row, "SELECT "+resultColumns+", content FROM full_results WHERE sid = ? AND id = ?", sidOf(sessionKey), id)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return row.model(sessionKey), nil
}

// Results returns what a session keeps, without texts.
func (s *Store) Results(ctx context.Context, sessionKey string) ([]*models.FullResult, error) {
	var rows []resultRow
	err := s.read(ctx, "results", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, "SELECT "+resultColumns+" FROM full_results WHERE sid = ? ORDER BY created_at DESC, id DESC LIMIT ?",
			sidOf(sessionKey), models.MaxFullResults)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]*models.FullResult, len(rows))
	for i := range rows {
		out[i] = rows[i].model(sessionKey)
	}
	return out, nil
}

// sweepResults removes results that are kept no longer.
func (s *Store) sweepResults(ctx context.Context, before int64, batch int) (total int, err error) {
	err = s.autocommit(ctx, "sweep results", func(t *tx) error {
		var rows []struct {
			Sid []byte
			ID  string
		}
		if _, err := t.find(&rows, "SELECT sid, id FROM full_results WHERE created_at < ? ORDER BY created_at LIMIT ?", before, batch); err != nil {
			return err
		}
		for _, r := range rows {
			n, err := t.exec("DELETE FROM full_results WHERE sid = ? AND id = ? AND created_at < ?", r.Sid, r.ID, before)
			if err != nil {
				return err
			}
			total += int(n)
		}
		return nil
	})
	return total, err
}

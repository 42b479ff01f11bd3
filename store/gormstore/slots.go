package gormstore

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func (x *sessionTx) slot(name string) (row slotRow, err error) {
	n, err := x.tx.find(&row, "SELECT "+slotColumns+" FROM slots WHERE sid = ? AND name = ?", x.lane.Sid, name)
	if err == nil && n == 0 {
		err = fmt.Errorf("slot: %w", store.ErrNotFound)
	}
	return row, err
}

func (x *sessionTx) Slots() ([]*models.ContextSlot, error) {
	var rows []slotRow
	if _, err := x.tx.find(&rows, "SELECT "+slotColumns+" FROM slots WHERE sid = ? ORDER BY place", x.lane.Sid); err != nil {
		return nil, err
	}
	out := make([]*models.ContextSlot, len(rows))
	for i := range rows {
		slot, err := rows[i].model(x.lane.SessionKey, x.lane.Slot)
		if err != nil {
			return nil, err
		}
		out[i] = slot
	}
	return out, nil
}

func checkSlot(s *models.ContextSlot) error {
	var c checks
	c.slot(s.ID)
	c.text("slot title", s.Title, models.MaxTitle)
	if s.Focused != nil {
		c.text("summary override", s.Focused.SummaryOverride, models.MaxContent)
	}
	return c.err
}

func (x *sessionTx) CreateSlot(s *models.ContextSlot) error {
	_, err := x.createSlot(s, 1, growth{})
	return err
}

func (x *sessionTx) createSlot(s *models.ContextSlot, next int64, g growth) ([]byte, error) {
	if err := checkSlot(s); err != nil {
		return nil, err
	}
	if _, err := findSession(x.tx, x.lane.Sid); err != nil {
		return nil, err
	}
	var place int64
	if _, err := x.tx.find(&place, "SELECT COALESCE(MAX(place), 0) + 1 FROM slots WHERE sid = ?", x.lane.Sid); err != nil {
		return nil, err
	}
	contextID, err := insertSlot(x.tx, x.lane.Sid, s, place, next, g)
	if duplicate(err) {
		return nil, fmt.Errorf("slot: %w", store.ErrExists)
	}
	return contextID, err
}

func (x *sessionTx) UpdateSlot(s *models.ContextSlot) error {
	if err := checkSlot(s); err != nil {
		return err
	}
	focus, err := encode(s.Focused, s.Focused == nil)
	if err != nil {
		return err
	}
	budget, err := encode(s.Budget, s.Budget == nil)
	if err != nil {
		return err
	}
	return x.one("UPDATE slots SET mode = ?, focus = ?, budget = ?, compact = ?, shown_from = 0 WHERE sid = ? AND name = ?",
		string(s.Mode), focus, budget, bit(s.Compact), x.lane.Sid, s.ID)
}

// DeriveSlot copies inside the database: nothing is read into the program.
func (x *sessionTx) DeriveSlot(s *models.ContextSlot, parent string) error {
	from, err := x.slot(parent)
	if err != nil {
		return err
	}
	where, args := "context_id = ? AND undone = 0", []any{from.ContextID}
	if s.Source.Strategy == models.DeriveFocused {
		if where, args, err = x.focusOf(from.ContextID, s.Focused); err != nil {
			return err
		}
	}
	var sum struct{ Messages, Tokens, Last int64 }
	if _, err := x.tx.find(&sum, "SELECT COUNT(*) AS messages, COALESCE(SUM(tokens), 0) AS tokens, COALESCE(MAX(seq), 0) AS last FROM messages WHERE "+where, args...); err != nil {
		return err
	}
	contextID, err := x.createSlot(s, sum.Last+1, growth{messages: sum.Messages, tokens: sum.Tokens})
	if err != nil {
		return err
	}
	const columns = "seq, turn_seq, id, role, content, meta, tokens, compacted, undone, created_at"
	if _, err = x.tx.exec("INSERT INTO messages (context_id, "+columns+") SELECT ?, "+columns+" FROM messages WHERE "+where+" ORDER BY seq",
		append([]any{contextID}, args...)...); err != nil {
		return err
	}
	return x.derived(s, contextID, parent, sum.Last)
}

// focusOf is the condition for the messages that a focus shows: the first system
// message and the newest others.
func (x *sessionTx) focusOf(contextID []byte, f *models.Focus) (where string, args []any, err error) {
	if f == nil {
		f = &models.Focus{}
	}
	var system, oldest int64
	if _, err := x.tx.find(&system, "SELECT seq FROM messages WHERE context_id = ? AND undone = 0 AND compacted = 0 AND role = ? ORDER BY seq LIMIT 1",
		contextID, string(models.RoleSystem)); err != nil {
		return "", nil, err
	}
	if f.RecentMessages > 0 {
		n, err := x.tx.find(&oldest, "SELECT seq FROM messages WHERE context_id = ? AND undone = 0 AND compacted = 0 AND seq <> ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
			contextID, system, f.RecentMessages-1)
		if err != nil {
			return "", nil, err
		}
		if n == 0 { // there are fewer
			oldest = 1
		}
	}
	others := "seq >= ? AND seq <> ?"
	if f.RecentMessages <= 0 {
		others = "seq < ? AND seq <> ?" // none
		oldest = 0
	}
	where, args = "context_id = ? AND undone = 0 AND compacted = 0 AND ("+others+")", []any{contextID, oldest, system}
	if f.KeepSystem {
		where, args = "context_id = ? AND undone = 0 AND compacted = 0 AND ("+others+" OR seq = ?)", append(args, system)
	}
	return where, args, nil
}

func (x *sessionTx) SwitchSlot(slot string) error {
	if _, err := x.slot(slot); err != nil {
		return err
	}
	_, err := x.tx.exec("UPDATE lanes SET slot = ? WHERE sid = ?", slot, x.lane.Sid)
	x.lane.Slot = slot
	return err
}

func (x *sessionTx) DeleteSlot(slot string, now time.Time) error {
	if slot == models.DefaultSlot {
		return fmt.Errorf("the default slot stays: %w", store.ErrConflict)
	}
	row, err := x.slot(slot)
	if err != nil {
		return err
	}
	if slot == x.lane.Slot {
		if err := x.SwitchSlot(models.DefaultSlot); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		"INSERT INTO erasures (kind, ref, through) SELECT 'context', context_id, 0 FROM slots WHERE sid = ? AND name = ?",
		"INSERT INTO erasures (kind, ref, through) SELECT 'context', context_id, 0 FROM resets WHERE sid = ? AND slot = ?",
		"DELETE FROM resets WHERE sid = ? AND slot = ?",
		"DELETE FROM slots WHERE sid = ? AND name = ?",
	} {
		if _, err := x.tx.exec(sql, x.lane.Sid, slot); err != nil {
			return err
		}
	}
	if err := x.dropPending(slot); err != nil {
		return err
	}
	// What waits for the slot goes on in the default one.
	if _, err := x.tx.exec("UPDATE inbound SET slot = ? WHERE sid = ? AND queued = ? AND slot = ?", models.DefaultSlot, x.lane.Sid, inLane, slot); err != nil {
		return err
	}
	// When the session was used does not go with the slot.
	return touchSession(x.tx, x.lane.Sid, nil, growth{userAt: fromMicros(row.UserAt), activeAt: fromMicros(row.ActiveAt), now: fromMicros(row.UpdatedAt)})
}

// LastTurn returns the messages that the last turn of a slot answered.
func (x *sessionTx) LastTurn(slot string) ([]*models.Inbound, error) {
	row, err := x.context(slot)
	if err != nil {
		return nil, err
	}
	turn, err := x.lastTurn(row)
	if err != nil {
		return nil, err
	}
	return x.recent("i.context_id = ? AND i.from_seq = ?", row.ContextID, turn)
}

// lastTurn is where the last turn that a slot shows begins.
func (x *sessionTx) lastTurn(row contextRow) (int64, error) {
	var turn int64
	n, err := x.tx.find(&turn, "SELECT turn_seq FROM messages WHERE "+shown+" ORDER BY seq DESC LIMIT 1", row.ContextID, row.CompactedThrough)
	if err == nil && n == 0 {
		err = fmt.Errorf("turn: %w", store.ErrNotFound)
	}
	return turn, err
}

func (x *sessionTx) UndoTurn(slot string, now time.Time) error {
	row, err := x.context(slot)
	if err != nil {
		return err
	}
	turn, err := x.lastTurn(row)
	if err != nil {
		return err
	}
	const where = " WHERE context_id = ? AND seq >= ? AND turn_seq = ? AND undone = 0 AND compacted = 0"
	first := max(turn, row.CompactedThrough+1)
	var sum struct{ Messages, Tokens int64 }
	if _, err := x.tx.find(&sum, "SELECT COUNT(*) AS messages, COALESCE(SUM(tokens), 0) AS tokens FROM messages"+where, row.ContextID, first, turn); err != nil {
		return err
	}
	if _, err := x.tx.exec("UPDATE messages SET undone = 1"+where, row.ContextID, first, turn); err != nil {
		return err
	}
	if _, err := x.tx.exec(`UPDATE slots SET message_count = message_count - ?, total_tokens = total_tokens - ?, revision = revision + 1,
			shown_from = CASE WHEN shown_from >= ? THEN 0 ELSE shown_from END WHERE sid = ? AND name = ?`,
		sum.Messages, sum.Tokens, first, x.lane.Sid, slot); err != nil {
		return err
	}
	_, err = x.tx.exec("UPDATE sessions SET updated_at = ? WHERE sid = ?", micros(now), x.lane.Sid)
	return err
}

package gormstore

import (
	"database/sql"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// slotInLane is a lane, locked, with its session and one of its slots.
type slotInLane struct {
	Lane laneRow
	// State and what follows it is of the session; not valid if there is none.
	State            sql.NullString
	Channel, Account sql.NullString
	LastUserAt       sql.NullInt64
	ObservedSeq      sql.NullInt64
	// SlotName and what follows it is of the slot; nil if there is none.
	SlotName  *string
	ContextID []byte
	NextSeq   int64
}

// lockWithSlot locks lane, session and slot, in this order, by one statement, and
// reads all of them. An empty name means the current slot.
func lockWithSlot(t *tx, key, slot string) (row slotInLane, found bool, err error) {
	columns := append(row.Lane.columns(), &row.State, &row.Channel, &row.Account, &row.LastUserAt, &row.ObservedSeq,
		&row.SlotName, &row.ContextID, &row.NextSeq)
	from, args := inLaneOrder("LEFT JOIN", key, slot)
	found, err = t.row(columns, "SELECT "+laneColumns+`, e.state, e.channel, e.account, e.last_user_at, e.observed_seq,
		s.name, s.context_id, COALESCE(s.next_seq, 0)`+from, args...)
	return row, found, err
}

// lockSlot locks the same where all three must be there, and reads what an append needs.
func lockSlot(t *tx, key, slot string) (row slotInLane, err error) {
	row.Lane.Sid = sidOf(key)
	from, args := inLaneOrder("JOIN", key, slot)
	found, err := t.row([]any{&row.State, &row.LastUserAt, &row.SlotName, &row.ContextID, &row.NextSeq},
		"SELECT e.state, e.last_user_at, s.name, s.context_id, s.next_seq"+from, args...)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return row, err
}

func inLaneOrder(join, key, slot string) (from string, args []any) {
	name, args := "l.slot", []any{sidOf(key)}
	if slot != "" {
		name, args = "?", []any{slot, args[0]}
	}
	return " FROM lanes l " + join + " sessions e ON e.sid = l.sid " + join + " slots s ON s.sid = l.sid AND s.name = " + name +
		" WHERE l.sid = ? {lock}", args
}

func (r *slotInLane) hasSession() bool { return r.State.Valid }

// growth is what an append adds to a slot and its session.
type growth struct {
	messages, tokens int64
	// channel and account of the latest user message; empty leaves them.
	channel, account string
	userAt, modelAt  time.Time
	observed         int64
	// shownFrom and resultsFrom are what was shown to the model that was called at modelAt.
	shownFrom, resultsFrom int64
	// activeAt is when the session was used, now when this is written.
	activeAt, now time.Time
}

// userLag is how far a session's last_user_at may lag behind its slots': the index
// that finds idle sessions is not moved by every message.
const userLag = 10 * time.Minute

// outdates reports that the session's own row must change too, which few messages
// need: it holds what they leave alone, or what its slots know better.
func (g *growth) outdates(r *slotInLane) bool {
	return r.SlotName == nil ||
		!g.userAt.IsZero() && (r.State.String != string(models.SessionActive) || g.userAt.Sub(fromNull(r.LastUserAt)) > userLag) ||
		g.channel != "" && (g.channel != r.Channel.String || g.account != r.Account.String) ||
		g.observed > r.ObservedSeq.Int64
}

// grow adds to the slot, and to its session if that is due.
func (r *slotInLane) grow(t *tx, g growth) error {
	if g.outdates(r) {
		var state any
		if !g.userAt.IsZero() {
			state = string(models.SessionActive)
		}
		if err := touchSession(t, r.Lane.Sid, state, g); err != nil {
			return err
		}
	}
	if r.SlotName == nil {
		return nil
	}
	return growSlot(t, r.Lane.Sid, *r.SlotName, g)
}

func growSlot(t *tx, sid []byte, slot string, g growth) error {
	user, model, active, now := micros(g.userAt), micros(g.modelAt), micros(g.activeAt), micros(g.now)
	_, err := t.exec(`UPDATE slots SET next_seq = next_seq + ?, message_count = message_count + ?, total_tokens = total_tokens + ?,
		user_at = CASE WHEN user_at < ? THEN ? ELSE user_at END, model_at = CASE WHEN model_at < ? THEN ? ELSE model_at END,
		shown_from = CASE WHEN ? = 0 THEN shown_from WHEN ? > compacted_through THEN ? ELSE 0 END, results_from = CASE WHEN ? > 0 THEN ? ELSE results_from END,
		active_at = CASE WHEN active_at < ? THEN ? ELSE active_at END, updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END
		WHERE sid = ? AND name = ?`,
		g.messages, g.messages, g.tokens, user, user, model, model, model, g.shownFrom, g.shownFrom, model, g.resultsFrom, active, active, now, now, sid, slot)
	return err
}

// touchSession brings the row of a session up to date; a nil state stays.
func touchSession(t *tx, sid []byte, state any, g growth) error {
	var channel, account any
	if g.channel != "" {
		channel, account = g.channel, g.account
	}
	user, active, now := micros(g.userAt), micros(g.activeAt), micros(g.now)
	_, err := t.exec(`UPDATE sessions SET channel = COALESCE(?, channel), account = COALESCE(?, account), state = COALESCE(?, state),
		last_user_at = CASE WHEN COALESCE(last_user_at, 0) < ? THEN ? ELSE last_user_at END,
		observed_seq = CASE WHEN observed_seq < ? THEN ? ELSE observed_seq END,
		last_activity_at = CASE WHEN last_activity_at < ? THEN ? ELSE last_activity_at END,
		updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END WHERE sid = ?`,
		channel, account, state, user, user, g.observed, g.observed, active, active, now, now, sid)
	return err
}

func (x *sessionTx) Use(now time.Time) (models.SessionState, error) {
	row, _, err := lockWithSlot(x.tx, x.lane.SessionKey, "")
	if err == nil && !row.hasSession() {
		err = store.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	return models.SessionState(row.State.String), row.grow(x.tx, growth{userAt: now, activeAt: now, now: now})
}

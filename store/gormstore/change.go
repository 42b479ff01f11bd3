package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// ChangeSession runs change under the lane's lock. The lane keeps a token of the
// change, by which a change whose commit was not answered is recognised.
func (s *Store) ChangeSession(ctx context.Context, key string, change func(store.SessionTx) error) error {
	var c checks
	c.key(key)
	if c.err != nil {
		return fmt.Errorf("change session: %w", c.err)
	}
	token := models.NewID("chg")
	return s.write(ctx, "change session", func(t *tx) error {
		lane, _, err := s.lockSession(t, key)
		if err != nil {
			return err
		}
		if t.again && lane.ChangeToken.String == token {
			return nil
		}
		x := &sessionTx{store: s, tx: t, lane: lane}
		if err := change(x); err != nil {
			return err
		}
		_, err = t.exec("UPDATE lanes SET change_token = ? WHERE sid = ?", token, lane.Sid)
		return err
	})
}

// ChangeSessions locks the lanes in the order of their keys, as whoever locks several does.
func (s *Store) ChangeSessions(ctx context.Context, keys []string, change func(key string, tx store.SessionTx) error) error {
	if len(keys) == 0 {
		return nil
	}
	var c checks
	sids := make([]any, len(keys))
	for i, key := range keys {
		c.key(key)
		sids[i] = sidOf(key)
	}
	if c.err != nil {
		return fmt.Errorf("change sessions: %w", c.err)
	}
	token, in := models.NewID("chg"), values(1, len(sids))
	return s.write(ctx, "change sessions", func(t *tx) error {
		var lanes []laneRow
		if _, err := t.find(&lanes, "SELECT "+laneColumns+" FROM lanes l WHERE l.sid IN "+in+" ORDER BY l.sid {lock}", sids...); err != nil {
			return err
		}
		if t.again && slices.ContainsFunc(lanes, func(l laneRow) bool { return l.ChangeToken.String == token }) {
			return nil // an earlier try was committed, whatever became of the others since
		}
		for _, lane := range lanes {
			if err := change(lane.SessionKey, &sessionTx{store: s, tx: t, lane: lane}); err != nil {
				return err
			}
		}
		if len(lanes) == 0 {
			return nil
		}
		_, err := t.exec("UPDATE lanes SET change_token = ? WHERE sid IN "+values(1, len(lanes)), append([]any{token}, sidsOf(lanes)...)...)
		return err
	})
}

// sessionTx is a session whose lane is locked.
type sessionTx struct {
	store *Store
	tx    *tx
	lane  laneRow
}

var _ store.SessionTx = (*sessionTx)(nil)

func (x *sessionTx) Session() (*models.Session, error) {
	row, err := findSession(x.tx, x.lane.Sid)
	if err != nil {
		return nil, err
	}
	return row.model(), nil
}

func (x *sessionTx) CurrentSlot() string { return x.lane.Slot }

func (x *sessionTx) Pending() ([]*models.Inbound, error) {
	var rows []inboundRow
	if _, err := x.tx.find(&rows, "SELECT "+inboundFull+fromInbound+" WHERE i.sid = ? AND i.queued IN (?, ?) ORDER BY i.seq", x.lane.Sid, inLane, deferred); err != nil {
		return nil, err
	}
	return inboundModels(rows)
}

func (x *sessionTx) FirstCommand() (*models.Inbound, error) {
	var row inboundRow
	n, err := x.tx.find(&row, "SELECT "+inboundFull+fromInbound+" WHERE i.sid = ? AND i.queued = ? ORDER BY i.seq LIMIT 1", x.lane.Sid, around)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return row.model()
}

func (x *sessionTx) LastPlace(key string) (place int64, err error) {
	if key == x.lane.SessionKey {
		return x.lane.LastSeq, nil
	}
	_, err = x.tx.find(&place, "SELECT last_seq FROM lanes WHERE sid = ?", sidOf(key))
	return place, err
}

func (x *sessionTx) Rebind(ids []string, slot string) error {
	var c checks
	c.slot(slot)
	if c.err != nil || len(ids) == 0 {
		return c.err
	}
	args := append([]any{slot, x.lane.Epoch, string(models.InboundReceived), x.lane.Sid, inLane}, anys(ids)...)
	n, err := x.tx.exec("UPDATE inbound SET slot = ?, epoch = ?, state = ?, run_fence = 0 WHERE sid = ? AND queued = ? AND id IN "+values(1, len(ids)), args...)
	if err == nil && n != int64(len(ids)) {
		err = fmt.Errorf("%d of %d messages have their outcome already: %w", int64(len(ids))-n, len(ids), store.ErrConflict)
	}
	return err
}

func (x *sessionTx) Finish(ids []string, o store.Outcome, now time.Time) error {
	if !o.State.Final() {
		return fmt.Errorf("outcome %q: %w", o.State, store.ErrInvalid)
	}
	n, err := x.store.finish(x.tx, x.lane, ids, o, now)
	if err == nil && n != int64(len(ids)) {
		err = fmt.Errorf("%d of %d messages have their outcome already: %w", int64(len(ids))-n, len(ids), store.ErrConflict)
	}
	if err != nil {
		return err
	}
	return restLane(x.tx, x.lane.Sid)
}

func (x *sessionTx) Requeue(id string, now time.Time) error {
	var row inboundRow
	n, err := x.tx.find(&row, "SELECT "+inboundFull+fromInbound+" WHERE i.id = ? AND i.sid = ?", id, x.lane.Sid)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrNotFound
	}
	in, err := row.model()
	if err != nil {
		return err
	}
	lane, _, err := nextPlace(x.tx, x.lane.SessionKey, placing{wake: in.Kind == models.KindMessage})
	if err != nil {
		return err
	}
	x.lane = lane
	in.ReceivedAt, in.CreatedAt = now, time.Time{}
	return requeue(x.tx, lane, in, false)
}

// recentWindow bounds how far back among the messages with an outcome one is looked for.
const recentWindow = 500

// recent selects among the newest messages of the session that have their outcome.
func (x *sessionTx) recent(where string, args ...any) ([]*models.Inbound, error) {
	var rows []inboundRow
	if _, err := x.tx.find(&rows, "SELECT "+inboundBrief+fromInbound+" WHERE i.sid = ? AND i.queued = ? AND i.seq > ? AND "+where+" ORDER BY i.seq DESC",
		append([]any{x.lane.Sid, finished, x.lane.LastSeq - recentWindow}, args...)...); err != nil {
		return nil, err
	}
	return inboundModels(rows)
}

func (x *sessionTx) LastRetryable(channel, account, senderID string) (*models.Inbound, error) {
	found, err := x.recent("i.sender_id = ? AND i.channel = ? AND i.account = ? AND (i.kind = ? OR i.code = ?) AND i.state IN (?, ?, ?) AND LENGTH(i.payload) > 0",
		senderID, channel, account, string(models.KindMessage), string(models.CodeBudgetExceeded),
		string(models.InboundFailed), string(models.InboundDead), string(models.InboundCancelled))
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func (x *sessionTx) Update(s *models.Session, now time.Time) error {
	var c checks
	session := *s
	session.Key = x.lane.SessionKey
	c.session(&session)
	if c.err == nil && !s.State.Valid() {
		c.err = fmt.Errorf("session state %q: %w", s.State, store.ErrInvalid)
	}
	if c.err != nil {
		return c.err
	}
	old, err := findSession(x.tx, x.lane.Sid)
	if err != nil {
		return err
	}
	if was := old.model(); was.Model != s.Model || was.SystemPrompt != s.SystemPrompt { // no cache begins so
		if _, err := x.tx.exec("UPDATE slots SET shown_from = 0 WHERE sid = ?", x.lane.Sid); err != nil {
			return err
		}
	}
	return x.one(`UPDATE sessions SET title = ?, model = ?, system_prompt = ?, pinned = ?,
			restored_at = CASE WHEN state = ? AND ? <> state THEN ? ELSE restored_at END, state = ?, updated_at = ? WHERE sid = ?`,
		s.Title, s.Model, s.SystemPrompt, bit(s.Pinned),
		string(models.SessionArchived), string(s.State), micros(now), string(s.State), micros(now), x.lane.Sid)
}

// one runs a statement that must find a row.
func (x *sessionTx) one(sql string, args ...any) error {
	n, err := x.tx.exec(sql, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

func (x *sessionTx) Create(s *models.Session) error {
	session := *s
	session.Key = x.lane.SessionKey
	var c checks
	c.session(&session)
	if c.err != nil {
		return c.err
	}
	if _, err := findSession(x.tx, x.lane.Sid); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, err := insertSession(x.tx, x.lane.Sid, &session, growth{activeAt: x.store.now(), now: x.store.now()})
	return err
}

func (x *sessionTx) Append(slot string, messages []*models.SessionMessage, now time.Time) error {
	var c checks
	c.slot(slot)
	c.messages(messages)
	if c.err != nil || len(messages) == 0 {
		return c.err
	}
	row, err := x.slot(slot)
	if err != nil {
		return err
	}
	if err := insertMessages(x.tx, row.ContextID, row.NextSeq, messages); err != nil {
		return err
	}
	for i, m := range messages {
		m.Seq, m.Slot = row.NextSeq+int64(i), slot
	}
	return growSlot(x.tx, x.lane.Sid, slot, growth{messages: int64(len(messages)), tokens: tokensOf(messages), activeAt: now, now: now})
}

func (x *sessionTx) Deliver(deliveries []*models.Delivery) error {
	var c checks
	c.deliveries(deliveries)
	if c.err != nil {
		return c.err
	}
	_, err := x.store.insertDeliveries(x.tx, deliveries, laneOf(x.lane), nil)
	return err
}

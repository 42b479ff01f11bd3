package gormstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// CommitTurn stores a finished turn: lock and check, outcome of its messages,
// conversation, counters, deliveries, lane: eight statements, rarely nine.
func (s *Store) CommitTurn(ctx context.Context, c *store.TurnCommit) (*store.TurnCommitted, error) {
	if err := checkTurn(c); err != nil {
		return nil, fmt.Errorf("commit turn: %w", err)
	}
	var ask *targetAsk
	if c.ClaimTarget != nil {
		ask = &targetAsk{request: c.ClaimTarget, token: s.token(c.ClaimTarget.Owner), now: micros(c.Now)}
	}
	var out *store.TurnCommitted
	err := s.write(ctx, "commit turn", func(t *tx) (err error) {
		out, err = s.commitTurn(t, c, ask)
		return err
	})
	return out, err
}

func checkTurn(c *store.TurnCommit) error {
	var check checks
	check.key(c.Claim.SessionKey)
	check.messages(c.Messages)
	check.deliveries(c.Deliveries)
	check.approvals(c.Approvals)
	check.usage(c.Usage)
	if len(c.Messages) > 0 {
		check.slot(c.Slot)
	}
	check.forms(c.Forms)
	session := c.Session
	session.Key = c.Claim.SessionKey
	check.session(&session)
	if c.Remember != nil {
		check.session(c.Remember)
	}
	switch {
	case check.err != nil:
	case len(c.Inbounds) == 0:
		check.err = fmt.Errorf("a turn answers no message: %w", store.ErrInvalid)
	case !c.Outcome.State.Final():
		check.err = fmt.Errorf("outcome %q: %w", c.Outcome.State, store.ErrInvalid)
	}
	return check.err
}

func (s *Store) commitTurn(t *tx, c *store.TurnCommit, ask *targetAsk) (*store.TurnCommitted, error) {
	key := c.Claim.SessionKey
	row, found, err := lockWithSlot(t, key, c.Slot)
	if err != nil {
		return nil, err
	}
	if !found || !row.Lane.heldBy(c.Claim) {
		return s.committedBefore(t, c, row, ask, store.ErrLeaseLost)
	}
	createsSession := !row.hasSession()
	from := max(row.NextSeq, 1)
	contextID := row.ContextID
	g := growth{
		messages: int64(len(c.Messages)), tokens: tokensOf(c.Messages), channel: c.Session.Channel, account: c.Session.Account,
		userAt: c.UserAt, modelAt: c.ModelAt, observed: c.ObservedThrough, activeAt: c.Now, now: c.Now,
		shownFrom: shownFrom(c, from), resultsFrom: c.ResultsFrom,
	}
	if createsSession {
		session := c.Session
		session.Key = key
		if contextID, err = insertSession(t, row.Lane.Sid, &session, g); err != nil {
			return nil, err
		}
	}
	n, err := s.finishTurn(t, c, row.Lane.Epoch, contextID, from)
	if err != nil {
		return nil, err
	}
	if n != int64(len(c.Inbounds)) {
		return s.committedBefore(t, c, row, ask, store.ErrStopped)
	}
	if len(c.Messages) > 0 && row.SlotName == nil && !(createsSession && c.Slot == models.DefaultSlot) {
		return nil, fmt.Errorf("slot: %w", store.ErrNotFound)
	}
	if err := insertMessages(t, contextID, from, c.Messages); err != nil {
		return nil, err
	}
	if err := freeze(t, contextID, from, c.Forms); err != nil {
		return nil, err
	}
	if !createsSession {
		if err := row.grow(t, g); err != nil {
			return nil, err
		}
	}
	if err := insertApprovals(t, key, c.Approvals); err != nil {
		return nil, err
	}
	sent, err := s.insertDeliveries(t, c.Deliveries, laneOf(row.Lane), ask)
	if err != nil {
		return nil, err
	}
	if err := rememberOnDelivery(t, c.Deliveries, c.Remember); err != nil {
		return nil, err
	}
	if c.ClosePreviews {
		ids := make([]string, len(c.Inbounds))
		for i, in := range c.Inbounds {
			ids[i] = in.ID
		}
		if err := s.closePreviews(t, row.Lane, ids, c.Now); err != nil {
			return nil, err
		}
	}
	out := &store.TurnCommitted{Waiting: sent.waiting, Target: sent.claim, First: sent.first}
	if !sent.asked {
		if out.Waiting, err = waiting(t, row.Lane.Sid); err != nil {
			return nil, err
		}
	}
	if err := leaveLane(t, c, row.Lane.Sid, out); err != nil {
		return nil, err
	}
	return out, spend(t, c.Spend) // last: others may want these rows as well
}

// shownFrom is the seq of the first message that the model was shown of a slot, whose
// next message is from.
func shownFrom(c *store.TurnCommit, from int64) int64 {
	if i := slices.Index(c.Messages, c.ShownFrom); i >= 0 {
		return from + int64(i)
	}
	if c.ShownFrom == nil {
		return 0
	}
	return c.ShownFrom.Seq
}

// finishTurn gives the messages of the turn their outcome and returns how many
// still ran under its claim, in the lane's epoch.
func (s *Store) finishTurn(t *tx, c *store.TurnCommit, epoch int64, contextID []byte, from int64) (int64, error) {
	reply, err := encode(c.Outcome.Reply, c.Outcome.Reply == nil)
	if err != nil {
		return 0, err
	}
	first := c.Inbounds[0].ID
	var turnContext any
	fromSeq, toSeq := int64(0), int64(0)
	if len(c.Messages) > 0 {
		turnContext, fromSeq, toSeq = contextID, from, from+int64(len(c.Messages))-1
	}
	o := c.Outcome
	args := []any{
		string(o.State), string(o.Code), clip(o.Error), o.FinishReason, micros(c.Now),
		first, first, first, reply, turnContext, fromSeq, toSeq,
	}
	noted := ""
	if c.Usage != nil {
		line, err := costs(c.Usage)
		if err != nil {
			return 0, err
		}
		noted = `, costs = CASE WHEN id = ? THEN CONCAT(COALESCE(costs, ''), ?) ELSE costs END, costs_at = CASE WHEN id = ? THEN ? ELSE costs_at END`
		args = append(args, first, line, first, micros(c.Now))
	}
	args = append(args, string(models.InboundRunning), c.Claim.Fence, epoch, sidOf(c.Claim.SessionKey))
	for _, in := range c.Inbounds {
		args = append(args, in.ID)
	}
	return t.exec(`UPDATE inbound SET queued = 0, state = ?, code = ?, error = ?, finish_reason = ?, finished_at = ?,
			merged_into = CASE WHEN id = ? THEN '' ELSE ? END, reply = CASE WHEN id = ? THEN ? ELSE NULL END,
			context_id = ?, from_seq = ?, to_seq = ?`+noted+`
		WHERE state = ? AND run_fence = ? AND epoch = ? AND sid = ? AND id IN `+values(1, len(c.Inbounds)), args...)
}

// leaveLane keeps the lane for its next message, makes it due, or leaves it idle.
func leaveLane(t *tx, c *store.TurnCommit, sid []byte, out *store.TurnCommitted) error {
	switch {
	case !out.Waiting:
		return releaseLane(t, sid)
	case c.Keep > 0:
		out.Kept = &store.Claim{SessionKey: c.Claim.SessionKey, Fence: c.Claim.Fence, Attempts: 1}
		_, err := t.exec("UPDATE lanes SET due_at = {now} + ?, attempts = 1 WHERE sid = ?", millis(c.Keep), sid)
		return err
	default:
		_, err := t.exec("UPDATE lanes SET due_at = {now}, attempts = 0, lease_owner = NULL WHERE sid = ?", sid)
		return err
	}
}

// committedBefore recognises a turn that did commit although its caller could not
// know: all its messages are finished under its fence. Else the error stands.
func (s *Store) committedBefore(t *tx, c *store.TurnCommit, row slotInLane, ask *targetAsk, otherwise error) (*store.TurnCommitted, error) {
	ids := make([]any, len(c.Inbounds))
	for i, in := range c.Inbounds {
		ids[i] = in.ID
	}
	var done int
	if _, err := t.find(&done, "SELECT COUNT(*) FROM inbound WHERE queued = 0 AND state = ? AND run_fence = ? AND sid = ? AND id IN "+values(1, len(ids)),
		append([]any{string(c.Outcome.State), c.Claim.Fence, sidOf(c.Claim.SessionKey)}, ids...)...); err != nil {
		return nil, err
	}
	if done != len(ids) {
		return nil, otherwise
	}
	waits, err := waiting(t, row.Lane.Sid)
	if err != nil {
		return nil, err
	}
	out := &store.TurnCommitted{Waiting: waits}
	if waits && c.Keep > 0 && row.Lane.heldBy(c.Claim) {
		out.Kept = &store.Claim{SessionKey: c.Claim.SessionKey, Fence: c.Claim.Fence, Attempts: 1}
	}
	if ask == nil || len(c.Deliveries) == 0 {
		return out, nil
	}
	var target targetRow
	d := c.Deliveries[0]
	if _, err := t.find(&target, readTarget, row.Lane.Sid, targetID(d.Channel, d.Account, d.Target)); err != nil {
		return nil, err
	}
	if target.LeaseOwner.String == ask.token {
		claim := target.claim()
		first, err := s.nextDelivery(t, &target, c.Now)
		if err != nil {
			return nil, err
		}
		out.Target, out.First = &claim, first
	}
	return out, nil
}

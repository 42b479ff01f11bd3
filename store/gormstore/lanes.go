package gormstore

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// The claim of due lanes is design P of the reference (section 2): read, compare
// and set, read what was won. No lock is kept and none is skipped, so it holds on
// TiDB too. "+ 0" keeps MySQL on the primary key, where it does not deadlock.
const (
	dueLanes = `SELECT sid FROM lanes WHERE kind = ? AND due_at <= {now} ORDER BY due_at LIMIT ?`
	winLanes = `UPDATE lanes SET due_at = {now} + ?, fence = fence + 1, attempts = attempts + 1, lease_owner = ?
		WHERE due_at + 0 <= {now} AND sid IN `
	wonLanes = `SELECT session_key, fence, attempts FROM lanes WHERE lease_owner = ? AND sid IN `
)

// findDue reads which lanes of a kind are due, the longest due first; of any kind,
// those of people first.
func findDue(t *tx, kind store.LaneKind, limit int) ([][]byte, error) {
	var due [][]byte
	if kind != store.TaskLanes {
		if _, err := t.find(&due, dueLanes, peopleLane, limit); err != nil || kind == store.PeopleLanes || len(due) == limit {
			return due, err
		}
	}
	var tasks [][]byte
	_, err := t.find(&tasks, dueLanes, taskLane, limit-len(due))
	return append(due, tasks...), err
}

// ClaimLanes claims lanes that are due.
func (s *Store) ClaimLanes(ctx context.Context, c store.ClaimRequest, limit int) ([]store.Claim, error) {
	limit = min(limit, maxBatchRows)
	if limit <= 0 {
		return nil, nil
	}
	token := s.token(c.Owner)
	var won []store.Claim
	err := s.autocommit(ctx, "claim lanes", func(t *tx) error {
		won = nil
		due, err := findDue(t, c.Lanes, limit)
		if err != nil || len(due) == 0 {
			return err
		}
		in, sids := values(1, len(due)), anys(due)
		if n, err := t.exec(winLanes+in, append([]any{millis(c.Lease), token}, sids...)...); err != nil || n == 0 {
			return err
		}
		if _, err := t.find(&won, wonLanes+in, append([]any{token}, sids...)...); err != nil {
			return err
		}
		place := make(map[string]int, len(due))
		for i, sid := range due {
			place[string(sid)] = i
		}
		sort.Slice(won, func(i, j int) bool {
			return place[string(sidOf(won[i].SessionKey))] < place[string(sidOf(won[j].SessionKey))]
		})
		return nil
	})
	return won, err
}

// RenewLanes extends leases that were not taken over.
func (s *Store) RenewLanes(ctx context.Context, claims []store.Claim, lease time.Duration) ([]store.Claim, error) {
	var lost []store.Claim
	for len(claims) > 0 {
		n := min(len(claims), maxBatchRows)
		some, err := s.renewLanes(ctx, claims[:n], lease)
		if err != nil {
			return lost, err
		}
		lost, claims = append(lost, some...), claims[n:]
	}
	return lost, nil
}

func (s *Store) renewLanes(ctx context.Context, claims []store.Claim, lease time.Duration) ([]store.Claim, error) {
	sids, pairs := make([]any, len(claims)), make([]any, 0, 2*len(claims))
	for i, c := range claims {
		sid := sidOf(c.SessionKey)
		sids[i], pairs = sid, append(pairs, sid, c.Fence)
	}
	in := values(1, len(claims))
	var held []struct {
		SessionKey string
		Fence      int64
	}
	err := s.autocommit(ctx, "renew lanes", func(t *tx) error {
		held = nil
		args := append(append([]any{millis(lease)}, sids...), pairs...)
		if _, err := t.exec("UPDATE lanes SET due_at = {now} + ? WHERE sid IN "+in+
			" AND lease_owner IS NOT NULL AND (sid, fence) IN ("+s.dialect.pairs(len(claims))+")", args...); err != nil {
			return err
		}
		_, err := t.find(&held, "SELECT session_key, fence FROM lanes WHERE lease_owner IS NOT NULL AND sid IN "+in, sids...)
		return err
	})
	if err != nil {
		return nil, err
	}
	fences := make(map[string]int64, len(held))
	for _, h := range held {
		fences[h.SessionKey] = h.Fence
	}
	var lost []store.Claim
	for _, c := range claims {
		if fence, ok := fences[c.SessionKey]; !ok || fence != c.Fence {
			lost = append(lost, c)
		}
	}
	return lost, nil
}

// headWindow bounds how many waiting messages are looked at for the next turn.
const headWindow = 64

// BeginTurn takes the next message of a claimed lane.
func (s *Store) BeginTurn(ctx context.Context, c store.Claim, m store.MergeRule) (*store.Turn, error) {
	var turn *store.Turn
	err := s.write(ctx, "begin turn", func(t *tx) (err error) {
		turn = nil
		lane, found, err := lockLane(t, c.SessionKey)
		if err != nil {
			return err
		}
		if !found || !lane.heldBy(c) {
			return store.ErrLeaseLost
		}
		var rows []inboundRow
		if _, err := t.find(&rows, "SELECT "+inboundFull+fromInbound+" WHERE i.sid = ? AND i.queued = ? ORDER BY i.seq LIMIT ?",
			lane.Sid, inLane, headWindow); err != nil {
			return err
		}
		if len(rows) == 0 {
			return releaseLane(t, lane.Sid)
		}
		taken, err := takeHead(rows, m)
		if err != nil {
			return err
		}
		if turn, err = s.startTurn(t, c, lane.Epoch, taken); err != nil {
			return err
		}
		turn.Claim.Attempts = lane.Attempts
		return nil
	})
	return turn, err
}

func releaseLane(t *tx, sid []byte) error {
	_, err := t.exec("UPDATE lanes SET due_at = NULL, attempts = 0, lease_owner = NULL WHERE sid = ?", sid)
	return err
}

// startTurn marks the taken messages running under the claim. What was running
// under another claim lived through the death of its holder. What waited through a
// reset runs in the new epoch.
func (s *Store) startTurn(t *tx, c store.Claim, epoch int64, taken []inboundRow) (*store.Turn, error) {
	ids := make([]any, len(taken))
	for i := range taken {
		row := &taken[i]
		ids[i] = row.ID
		if row.State == string(models.InboundRunning) && row.RunFence != c.Fence {
			row.Attempts++
		}
		row.State, row.RunFence, row.Epoch = string(models.InboundRunning), c.Fence, epoch
	}
	if _, err := t.exec(`UPDATE inbound SET attempts = CASE WHEN state = 'running' AND run_fence <> ? THEN attempts + 1 ELSE attempts END,
		state = 'running', run_fence = ?, epoch = ? WHERE id IN `+values(1, len(ids)), append([]any{c.Fence, c.Fence, epoch}, ids...)...); err != nil {
		return nil, err
	}
	inbounds, err := inboundModels(taken)
	if err != nil {
		return nil, err
	}
	turn := &store.Turn{Claim: c, Inbounds: inbounds}
	if replaces := inbounds[0].Replaces; len(replaces) > 0 {
		var rows []inboundRow
		if _, err := t.find(&rows, "SELECT "+inboundFull+fromInbound+" WHERE i.state <> ? AND i.id IN "+values(1, len(replaces))+" ORDER BY i.seq",
			append([]any{string(models.InboundCancelled)}, anys(replaces)...)...); err != nil {
			return nil, err
		}
		if turn.Interrupted, err = inboundModels(rows); err != nil {
			return nil, err
		}
	}
	return turn, nil
}

// takeHead chooses what the next turn answers: what a dead holder was running,
// else the head of the queue and what may be merged with it.
func takeHead(rows []inboundRow, m store.MergeRule) ([]inboundRow, error) {
	var running []inboundRow
	for _, r := range rows {
		if r.State == string(models.InboundRunning) {
			running = append(running, r)
		}
	}
	if len(running) > 0 {
		return inOrder(running), nil
	}
	rows = inOrder(rows)
	n := 1
	for n < len(rows) && m.Merge && mergeable(&rows[n-1], &rows[n], m) {
		if m.Same != nil {
			pair, err := inboundModels(rows[n-1 : n+1])
			if err != nil {
				return nil, err
			}
			if !m.Same(pair[0], pair[1]) {
				break
			}
		}
		n++
	}
	return rows[:n], nil
}

// inOrder sorts by place. Among messages of the earliest one's account that carry
// a time of their platform, that time decides: a platform may deliver out of order.
func inOrder(rows []inboundRow) []inboundRow {
	left := append([]inboundRow(nil), rows...)
	sort.Slice(left, func(i, j int) bool { return left[i].Seq < left[j].Seq })
	out := make([]inboundRow, 0, len(left))
	for len(left) > 0 {
		head, first := 0, left[0]
		for i, r := range left {
			if first.OrderAt != 0 && r.OrderAt != 0 && r.OrderAt < left[head].OrderAt &&
				r.Channel == first.Channel && r.Account == first.Account {
				head = i
			}
		}
		out = append(out, left[head])
		left = append(left[:head], left[head+1:]...)
	}
	return out
}

func mergeable(before, next *inboundRow, m store.MergeRule) bool {
	gap := time.Duration(next.ReceivedAt-before.ReceivedAt) * time.Microsecond
	return before.Awaited == 0 && next.Awaited == 0 &&
		before.SenderID == next.SenderID && before.Channel == next.Channel && before.Account == next.Account &&
		before.Slot == next.Slot && before.Epoch == next.Epoch && gap.Abs() <= m.Debounce
}

// ReleaseLane hands a lane back.
func (s *Store) ReleaseLane(ctx context.Context, c store.Claim, delay time.Duration) error {
	return s.write(ctx, "release lane", func(t *tx) error {
		lane, found, err := lockLane(t, c.SessionKey)
		if err != nil {
			return err
		}
		if !found || !lane.heldBy(c) {
			if t.again {
				return nil
			}
			return store.ErrLeaseLost
		}
		if _, err := t.exec("UPDATE inbound SET state = ?, run_fence = 0 WHERE sid = ? AND queued = ? AND state = ?",
			string(models.InboundReceived), lane.Sid, inLane, string(models.InboundRunning)); err != nil {
			return err
		}
		waits, err := waiting(t, lane.Sid)
		if err != nil {
			return err
		}
		if !waits {
			return releaseLane(t, lane.Sid)
		}
		_, err = t.exec("UPDATE lanes SET due_at = {now} + ?, attempts = ?, lease_owner = NULL WHERE sid = ?",
			millis(delay), max(lane.Attempts-1, 0), lane.Sid)
		return err
	})
}

// SaveSign stores a message's working sign.
func (s *Store) SaveSign(ctx context.Context, inboundID, sign string) error {
	var c checks
	c.text("sign", sign, models.MaxContent)
	if c.err != nil {
		return fmt.Errorf("save sign: %w", c.err)
	}
	return s.autocommit(ctx, "save sign", func(t *tx) error {
		n, err := t.exec("UPDATE inbound SET sign = ? WHERE id = ?", sign, inboundID)
		if err == nil && n == 0 {
			return store.ErrNotFound
		}
		return err
	})
}

// StoppedTurns returns those that are no longer running.
func (s *Store) StoppedTurns(ctx context.Context, inboundIDs []string) ([]string, error) {
	if len(inboundIDs) == 0 {
		return nil, nil
	}
	if len(inboundIDs) > maxIDs {
		return nil, fmt.Errorf("stopped turns: more than %d ids: %w", maxIDs, store.ErrTooLarge)
	}
	var running []string
	err := s.read(ctx, "stopped turns", func(t *tx) error {
		running = nil
		_, err := t.find(&running, "SELECT id FROM inbound WHERE state = 'running' AND id IN "+values(1, len(inboundIDs)), anys(inboundIDs)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	alive := make(map[string]bool, len(running))
	for _, id := range running {
		alive[id] = true
	}
	var stopped []string
	for _, id := range inboundIDs {
		if !alive[id] {
			stopped = append(stopped, id)
		}
	}
	return stopped, nil
}

// ClaimLane claims one lane if it is due.
func (s *Store) ClaimLane(ctx context.Context, c store.ClaimRequest, sessionKey string) (*store.Claim, error) {
	token := s.token(c.Owner)
	sid := sidOf(sessionKey)
	var claim *store.Claim
	err := s.autocommit(ctx, "claim lane", func(t *tx) error {
		claim = nil
		one := values(1, 1)
		if n, err := t.exec(winLanes+one, millis(c.Lease), token, sid); err != nil || n == 0 {
			return err
		}
		var won store.Claim
		n, err := t.find(&won, wonLanes+one, token, sid)
		if n > 0 {
			claim = &won
		}
		return err
	})
	return claim, err
}

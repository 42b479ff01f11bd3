package gormstore

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// aliasLife is how long a thread is known by its further names after it was last
// used. People come back to old threads; an alias is a few bytes.
const aliasLife = 400 * 24 * time.Hour

// previewLife is how long a stream card is remembered: far longer than a turn and its
// delivery take. What is left then belongs to nobody.
const previewLife = 7 * 24 * time.Hour

// Sweep removes what is over, a batch of each kind, each in its own transaction.
func (s *Store) Sweep(ctx context.Context, now time.Time, keep store.Retention, batch int) (out store.Swept, err error) {
	batch = min(max(batch, 1), maxIDs)
	before := func(d time.Duration) int64 { return micros(now.Add(-d)) }
	steps := []struct {
		keep  time.Duration
		count *int
		run   func() (int, error)
	}{
		{keep.Inbound, &out.Inbound, func() (int, error) {
			return s.sweepStates(ctx, "inbound", "received_at", finalStates(inboundStates), before(keep.Inbound), batch)
		}},
		{keep.Deliveries, &out.Deliveries, func() (int, error) {
			return s.sweepStates(ctx, "deliveries", "created_at", []string{string(models.DeliveryDelivered), string(models.DeliveryFailed), string(models.DeliveryDead)}, before(keep.Deliveries), batch)
		}},
		{keep.Deduplication, &out.Dedup, func() (int, error) {
			return s.sweepOld(ctx, "dedup", "key_hash", "created_at", before(keep.Deduplication), batch)
		}},
		{keep.Inbound, &out.Approvals, func() (int, error) { return s.sweepApprovals(ctx, before(keep.Inbound), batch) }},
		{keep.Inbound, &out.Results, func() (int, error) { return s.sweepResults(ctx, before(keep.Inbound), batch) }},
		{aliasLife, &out.Aliases, func() (int, error) {
			return s.sweepOld(ctx, "thread_aliases", "alias_hash", "used_at", before(aliasLife), batch)
		}},
		{previewLife, &out.Previews, func() (int, error) { return s.sweepPreviews(ctx, before(previewLife), batch) }},
	}
	for _, step := range steps {
		if step.keep <= 0 {
			continue
		}
		if *step.count, err = step.run(); err != nil {
			return out, err
		}
	}
	if err := s.sweepLimits(ctx, now, keep.Usage, batch, &out); err != nil {
		return out, err
	}
	if keep.Resets > 0 {
		if err := s.expireResets(ctx, before(keep.Resets), batch); err != nil {
			return out, err
		}
	}
	if err := s.giveUpImports(ctx, now); err != nil {
		return out, err
	}
	out.Messages, _, err = s.eraseContexts(ctx, batch)
	return out, err
}

func finalStates(states []models.InboundState) (out []string) {
	for _, state := range states {
		if state.Final() {
			out = append(out, string(state))
		}
	}
	return out
}

// sweepStates removes the oldest rows of each state; the state index finds them.
func (s *Store) sweepStates(ctx context.Context, table, column string, states []string, before int64, batch int) (total int, err error) {
	for _, state := range states {
		if total >= batch {
			break
		}
		err := s.autocommit(ctx, "sweep "+table, func(t *tx) error {
			var ids []string
			if _, err := t.find(&ids, "SELECT id FROM "+table+" WHERE state = ? AND "+column+" < ? ORDER BY "+column+" LIMIT ?", state, before, batch-total); err != nil || len(ids) == 0 {
				return err
			}
			n, err := t.exec("DELETE FROM "+table+" WHERE state = ? AND "+column+" < ? AND id IN "+values(1, len(ids)), append([]any{state, before}, anys(ids)...)...)
			total += int(n)
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// sweepOld removes the oldest rows of a table with hashes for keys.
func (s *Store) sweepOld(ctx context.Context, table, key, column string, before int64, batch int) (total int, err error) {
	err = s.autocommit(ctx, "sweep "+table, func(t *tx) error {
		var keys [][]byte
		if _, err := t.find(&keys, "SELECT "+key+" FROM "+table+" WHERE "+column+" < ? ORDER BY "+column+" LIMIT ?", before, batch); err != nil || len(keys) == 0 {
			return err
		}
		n, err := t.exec("DELETE FROM "+table+" WHERE "+column+" < ? AND "+key+" IN "+values(1, len(keys)), append([]any{before}, anys(keys)...)...)
		total = int(n)
		return err
	})
	return total, err
}

// sweepPreviews removes the oldest stream cards. There is a row only for what is being
// answered now: few enough to look at all of them.
func (s *Store) sweepPreviews(ctx context.Context, before int64, batch int) (total int, err error) {
	err = s.autocommit(ctx, "sweep previews", func(t *tx) error {
		var ids []string
		if _, err := t.find(&ids, "SELECT id FROM previews WHERE created_at < ? LIMIT ?", before, batch); err != nil || len(ids) == 0 {
			return err
		}
		n, err := t.exec("DELETE FROM previews WHERE created_at < ? AND id IN "+values(1, len(ids)), append([]any{before}, anys(ids)...)...)
		total = int(n)
		return err
	})
	return total, err
}

// expireResets gives up contexts that were set aside too long ago. A restore that
// takes one of them at the same time wins or finds it gone: its row decides.
func (s *Store) expireResets(ctx context.Context, before int64, batch int) error {
	return s.write(ctx, "sweep resets", func(t *tx) error {
		var contexts [][]byte
		if _, err := t.find(&contexts, "SELECT context_id FROM resets WHERE reset_at < ? ORDER BY reset_at LIMIT ? {lock}", before, batch); err != nil || len(contexts) == 0 {
			return err
		}
		rows := make([][]any, len(contexts))
		for i, id := range contexts {
			rows[i] = []any{"context", id, 0}
		}
		if err := insertRows(t, "INSERT INTO erasures (kind, ref, through) VALUES ", rows); err != nil {
			return err
		}
		_, err := t.exec("DELETE FROM resets WHERE context_id IN "+values(1, len(contexts)), anys(contexts)...)
		return err
	})
}

// EraseDeleted removes the bytes of what is not reachable any more.
func (s *Store) EraseDeleted(ctx context.Context, batch int) (done bool, err error) {
	batch = min(max(batch, 1), maxIDs)
	_, contexts, err := s.eraseContexts(ctx, batch)
	if err != nil {
		return false, err
	}
	lanes, err := s.eraseLanes(ctx, batch)
	return contexts && lanes, err
}

// eraseBatch bounds how many contexts or lanes one call looks at.
const eraseBatch = 100

// eraseContexts removes messages of unreachable contexts and reports whether none are left.
func (s *Store) eraseContexts(ctx context.Context, batch int) (total int, done bool, err error) {
	err = s.autocommit(ctx, "erase messages", func(t *tx) error {
		var contexts [][]byte
		if _, err := t.find(&contexts, "SELECT ref FROM erasures WHERE kind = 'context' ORDER BY ref LIMIT ?", eraseBatch); err != nil {
			return err
		}
		done = len(contexts) < eraseBatch
		for _, id := range contexts {
			left := batch - total
			if left <= 0 {
				done = false
				return nil
			}
			var last int64
			if _, err := t.find(&last, "SELECT COALESCE(MAX(seq), 0) FROM (SELECT seq FROM messages WHERE context_id = ? ORDER BY seq LIMIT ?) some", id, left); err != nil {
				return err
			}
			if _, err := t.exec("DELETE FROM pruned_forms WHERE context_id = ? AND seq <= ?", id, last); err != nil {
				return err
			}
			n, err := t.exec("DELETE FROM messages WHERE context_id = ? AND seq <= ?", id, last)
			if err != nil {
				return err
			}
			total += int(n)
			if int(n) >= left { // perhaps not all
				done = false
				continue
			}
			if _, err := t.exec("DELETE FROM erasures WHERE kind = 'context' AND ref = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
	return total, done, err
}

type erasureRow struct {
	Ref     []byte
	Through int64
}

// eraseLanes removes messages and deliveries of deleted sessions, and lanes that
// hold nothing else.
func (s *Store) eraseLanes(ctx context.Context, batch int) (done bool, err error) {
	var lanes []erasureRow
	err = s.read(ctx, "erase deleted", func(t *tx) error {
		lanes = nil
		_, err := t.find(&lanes, "SELECT ref, through FROM erasures WHERE kind = 'lane' ORDER BY ref LIMIT ?", eraseBatch)
		return err
	})
	if err != nil {
		return false, err
	}
	left := batch
	for _, lane := range lanes {
		if left <= 0 {
			return false, nil
		}
		n, err := s.eraseLane(ctx, lane, left)
		if err != nil {
			return false, err
		}
		left -= n
	}
	return left > 0 && len(lanes) < eraseBatch, nil
}

func (s *Store) eraseLane(ctx context.Context, p erasureRow, batch int) (total int, err error) {
	err = s.write(ctx, "erase deleted", func(t *tx) error {
		total = 0
		var lane laneRow
		if _, err := t.find(&lane, "SELECT "+laneColumns+" FROM lanes l WHERE l.sid = ? {lock}", p.Ref); err != nil {
			return err
		}
		for _, of := range []struct{ table, place string }{{"inbound", "seq"}, {"deliveries", "lane_seq"}} {
			var ids []string
			if _, err := t.find(&ids, "SELECT id FROM "+of.table+" WHERE sid = ? AND "+of.place+" <= ? LIMIT ?", p.Ref, p.Through, batch); err != nil {
				return err
			}
			if len(ids) == 0 {
				continue
			}
			n, err := t.exec("DELETE FROM "+of.table+" WHERE id IN "+values(1, len(ids)), anys(ids)...)
			if err != nil {
				return err
			}
			total += int(n)
		}
		if total >= batch { // perhaps not all
			return nil
		}
		// Cards that nothing will finish any more.
		if _, err := t.exec(`DELETE FROM previews WHERE sid = ? AND inbound_id NOT IN (SELECT id FROM inbound WHERE sid = ? AND queued = 1)
			AND id NOT IN (SELECT preview FROM deliveries WHERE sid = ? AND queued = 1)`, p.Ref, p.Ref, p.Ref); err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM erasures WHERE kind = 'lane' AND ref = ? AND through = ?", p.Ref, p.Through); err != nil {
			return err
		}
		// The key itself names people: whoever summed up a turn just then wrote it down again.
		if _, err := t.exec("DELETE FROM usage_totals WHERE subject_hash = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE sid = ?)", p.Ref, p.Ref); err != nil {
			return err
		}
		// Only an idle lane that was not used since may go.
		_, err := t.exec(`DELETE FROM lanes WHERE sid = ? AND due_at IS NULL AND lease_owner IS NULL AND last_seq = ? AND deleted_seq = ?
			AND NOT EXISTS (SELECT 1 FROM sessions WHERE sid = ?) AND NOT EXISTS (SELECT 1 FROM deliveries WHERE sid = ?)`,
			p.Ref, p.Through+1, p.Through, p.Ref, p.Ref)
		return err
	})
	return total, err
}

// wakeBatch bounds how many sleepers one call wakes.
const wakeBatch = 500

// WakeLanes wakes idle lanes and targets with something to do. Candidates are read
// plainly; each is looked at again under its lock, so that a turn that ends just
// now is not taken for a fault.
func (s *Store) WakeLanes(ctx context.Context) (int, error) {
	var lanes, targets [][]byte
	err := s.read(ctx, "wake lanes", func(t *tx) error {
		lanes, targets = nil, nil
		if _, err := t.find(&lanes, `SELECT DISTINCT l.sid FROM inbound i JOIN lanes l ON l.sid = i.sid
			WHERE i.state IN ('received', 'running') AND i.queued = 1 AND l.due_at IS NULL LIMIT ?`, wakeBatch); err != nil {
			return err
		}
		_, err := t.find(&targets, `SELECT DISTINCT g.id FROM deliveries d JOIN targets g ON g.id = d.target_id
			WHERE d.state IN ('pending', 'sending') AND d.queued = 1 AND g.due_at IS NULL LIMIT ?`, wakeBatch)
		return err
	})
	woken := 0
	wake := func(ids [][]byte, lock, pending, wake string) {
		for _, id := range ids {
			if err != nil {
				return
			}
			n := 0
			err = s.write(ctx, "wake lanes", func(t *tx) error {
				n = 0
				var one int
				if found, err := t.find(&one, lock, id); err != nil || found == 0 {
					return err
				}
				if found, err := t.find(&one, pending, id); err != nil || found == 0 {
					return err
				}
				n = 1
				_, err := t.exec(wake, id)
				return err
			})
			woken += n
		}
	}
	wake(lanes, "SELECT 1 FROM lanes WHERE sid = ? AND due_at IS NULL {lock}",
		"SELECT 1 FROM inbound WHERE sid = ? AND queued = 1 LIMIT 1", "UPDATE lanes SET due_at = {now} WHERE sid = ?")
	wake(targets, "SELECT 1 FROM targets WHERE id = ? AND due_at IS NULL {lock}",
		"SELECT 1 FROM deliveries WHERE target_id = ? AND queued = 1 LIMIT 1", "UPDATE targets SET due_at = {now} WHERE id = ?")
	return woken, err
}

// Stats counts rows by state, each up to [store.StatsLimit].
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	out := store.Stats{Sessions: map[string]int{}, Inbound: map[string]int{}, Deliveries: map[string]int{}}
	counts := []struct {
		table  string
		into   map[string]int
		states []string
	}{
		{"sessions", out.Sessions, []string{string(models.SessionActive), string(models.SessionIdle), string(models.SessionCompacted), string(models.SessionArchived)}},
		{"inbound", out.Inbound, []string{string(models.InboundReceived), string(models.InboundRunning), string(models.InboundFailed), string(models.InboundDead)}},
		{"deliveries", out.Deliveries, []string{string(models.DeliveryPending), string(models.DeliverySending), string(models.DeliveryDelivered), string(models.DeliveryFailed), string(models.DeliveryDead)}},
	}
	err := s.read(ctx, "stats", func(t *tx) error {
		for _, c := range counts {
			for _, state := range c.states {
				var n int
				if _, err := t.find(&n, "SELECT COUNT(*) FROM (SELECT 1 FROM "+c.table+" WHERE state = ? LIMIT ?) some", state, store.StatsLimit); err != nil {
					return err
				}
				if n > 0 {
					c.into[state] = n
				}
			}
		}
		return nil
	})
	return out, err
}

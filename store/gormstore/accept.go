package gormstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// errSeen ends a transaction that met a deduplication key or id that is there already.
var errSeen = errors.New("seen before")

// Accept stores a message: lane, deduplication keys, message, in one transaction
// of four statements (five if the lane is busy and its queue has a cap).
func (s *Store) Accept(ctx context.Context, r *store.AcceptRequest) (*store.Accepted, error) {
	if err := checkAccept(r); err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	a := acceptance{store: s, request: r}
	if r.Claim != nil {
		a.token = s.token(r.Claim.Owner)
	}
	var out *store.Accepted
	err := s.write(ctx, "accept", func(t *tx) (err error) {
		a.again = t.again
		out, err = a.insert(t)
		return err
	})
	if errors.Is(err, errSeen) {
		return a.seen(ctx)
	}
	return out, err
}

func checkAccept(r *store.AcceptRequest) error {
	var c checks
	in := &r.Inbound
	c.id("inbound id", in.ID, models.MaxForeignID)
	c.key(in.SessionKey)
	c.id("channel", in.Channel, models.MaxName)
	c.id("account", in.Account, models.MaxName)
	c.text("platform message id", in.PlatformMessageID, models.MaxForeignID)
	c.text("sender", in.SenderID, models.MaxForeignID)
	c.text("slot", in.Slot, models.MaxName)
	if c.err == nil && len(in.Payload) > models.MaxContent {
		c.err = fmt.Errorf("payload has %d bytes, at most %d are stored: %w", len(in.Payload), models.MaxContent, store.ErrTooLarge)
	}
	if c.err == nil && len(r.Fingerprint) > 64 {
		c.err = fmt.Errorf("fingerprint has more than 64 bytes: %w", store.ErrTooLarge)
	}
	for _, k := range r.DedupKeys {
		if c.err == nil && k == "" {
			c.err = fmt.Errorf("a deduplication key is empty: %w", store.ErrInvalid)
		}
	}
	for _, a := range r.Aliases {
		c.id("alias", a.Alias, models.MaxForeignID)
		c.id("thread", a.Thread, models.MaxForeignID)
	}
	switch in.Kind {
	case models.KindMessage, models.KindCommand, models.KindObserved, models.KindIgnored:
	default:
		if c.err == nil {
			c.err = fmt.Errorf("inbound kind %q: %w", in.Kind, store.ErrInvalid)
		}
	}
	return c.err
}

// acceptance is one call of Accept.
type acceptance struct {
	store   *Store
	request *store.AcceptRequest
	token   string
	again   bool
}

func (a *acceptance) placing() placing {
	return placing{wake: a.request.Inbound.Kind == models.KindMessage, delay: a.request.Delay, claim: a.request.Claim, token: a.token}
}

func (a *acceptance) insert(t *tx) (*store.Accepted, error) {
	r := a.request
	in := r.Inbound
	place := a.placing()
	over, why, err := limited(t, r.Rate, in.ReceivedAt) // before the lane, which it may not wake
	if err != nil {
		return nil, err
	}
	if over {
		place = placing{}
	}
	lane, claimed, err := nextPlace(t, in.SessionKey, place)
	if err != nil {
		return nil, err
	}
	if err := a.insertKeys(t); err != nil {
		return nil, err
	}
	in.Seq, in.Epoch, in.State, in.Attempts = lane.LastSeq, lane.Epoch, models.InboundReceived, 0
	in.FinishedAt, in.Reply, in.MergedInto = nil, nil, ""
	if in.Slot == "" {
		in.Slot = lane.Slot
	}
	out := &store.Accepted{Inbound: &in, Limited: over}
	queued := finished
	switch in.Kind {
	case models.KindMessage:
		if over {
			in.State, in.Code, in.Error = models.InboundFailed, models.CodeRateLimited, why
			break
		}
		queued = inLane
		if claimed {
			in.State = models.InboundRunning
			out.Claim = &store.Claim{SessionKey: in.SessionKey, Fence: lane.Fence, Attempts: lane.Attempts}
		} else if out.Superseded, err = a.makeRoom(t, lane, &in); err != nil {
			return nil, err
		}
	case models.KindCommand:
		queued = around
		if err := a.insertCommand(t, &in); err != nil {
			return nil, err
		}
	case models.KindObserved:
		queued, in.State = background, models.InboundObserved
	case models.KindIgnored:
		in.State = models.InboundIgnored
	}
	if in.State.Final() {
		at := in.ReceivedAt
		in.FinishedAt = &at
	}
	fence := int64(0)
	if claimed {
		fence = lane.Fence
	}
	if err := insertInbound(t, lane.Sid, &in, queued, fence, r.Fingerprint); err != nil {
		if duplicate(err) {
			return nil, errSeen
		}
		return nil, err
	}
	if err := a.insertAliases(t); err != nil {
		return nil, err
	}
	return out, a.notice(t, lane, out.Superseded)
}

// insertKeys stores the deduplication keys; errSeen if one is there.
func (a *acceptance) insertKeys(t *tx) error {
	hashes := dedupHashes(a.request.DedupKeys)
	if len(hashes) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(hashes))
	for _, h := range hashes {
		args = append(args, h, a.request.Inbound.ID, micros(a.request.Inbound.ReceivedAt))
	}
	_, err := t.exec("INSERT INTO dedup (key_hash, inbound_id, created_at) VALUES "+values(len(hashes), 3), args...)
	if duplicate(err) {
		return errSeen
	}
	return err
}

// dedupHashes names deduplication keys, each once.
func dedupHashes(keys []string) [][]byte {
	seen := make(map[string]bool, len(keys))
	var out [][]byte
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			out = append(out, hash("dedup", k))
		}
	}
	return out
}

func (a *acceptance) insertCommand(t *tx, in *models.Inbound) error {
	lease, owner := int64(0), any(nil)
	if a.request.Claim != nil {
		lease, owner = millis(a.request.Claim.Lease), a.token
		in.State = models.InboundRunning
	}
	_, err := t.exec("INSERT INTO commands (inbound_id, due_at, lease_owner) VALUES (?, {now} + ?, ?)", in.ID, lease, owner)
	if duplicate(err) {
		return errSeen
	}
	return err
}

// makeRoom supersedes what a message that finds its lane busy replaces: the
// sender's running one if it interrupts, the oldest waiting ones over the cap.
func (a *acceptance) makeRoom(t *tx, lane laneRow, in *models.Inbound) ([]*models.Inbound, error) {
	r := a.request
	var replaced []inboundRow
	if r.Interrupt {
		var err error
		if replaced, err = a.interrupted(t, lane, in); err != nil {
			return nil, err
		}
		for _, row := range replaced {
			earlier, err := decode[[]string](row.Replaces)
			if err != nil {
				return nil, err
			}
			in.Replaces = append(append(in.Replaces, earlier...), row.ID)
		}
	}
	if r.Cap > 0 {
		over, err := a.overCap(t, lane)
		if err != nil {
			return nil, err
		}
		replaced = append(replaced, over...)
	}
	if len(replaced) == 0 {
		return nil, nil
	}
	superseded, err := inboundModels(replaced)
	if err != nil {
		return nil, err
	}
	outcome := store.Outcome{State: models.InboundSuperseded, Code: models.CodeSuperseded, Error: "replaced by a newer message"}
	ids := make([]string, len(superseded))
	for i, m := range superseded {
		ids[i] = m.ID
		m.State, m.Code, m.Error, m.FinishedAt = outcome.State, outcome.Code, outcome.Error, &in.ReceivedAt
	}
	_, err = a.store.finish(t, lane, ids, outcome, in.ReceivedAt)
	return superseded, err
}

// interrupted returns what the message's sender has running at the same place.
func (a *acceptance) interrupted(t *tx, lane laneRow, in *models.Inbound) ([]inboundRow, error) {
	var running []inboundRow
	if _, err := t.find(&running, "SELECT "+inboundFull+fromInbound+
		" WHERE i.sid = ? AND i.queued = ? AND i.state = ? AND i.sender_id = ? AND i.channel = ? AND i.account = ? AND i.slot = ? ORDER BY i.seq",
		lane.Sid, inLane, string(models.InboundRunning), in.SenderID, in.Channel, in.Account, in.Slot); err != nil {
		return nil, err
	}
	var out []inboundRow
	for i := range running {
		before, err := running[i].model()
		if err != nil {
			return nil, err
		}
		if a.request.Same == nil || a.request.Same(before, in) {
			out = append(out, running[i])
		}
	}
	return out, nil
}

// overCap returns the oldest waiting messages that must go so that one more fits.
func (a *acceptance) overCap(t *tx, lane laneRow) ([]inboundRow, error) {
	var count int
	const where = " WHERE i.sid = ? AND i.queued = ? AND i.state = ?"
	if _, err := t.find(&count, "SELECT COUNT(*) FROM inbound i"+where, lane.Sid, inLane, string(models.InboundReceived)); err != nil {
		return nil, err
	}
	excess := count + 1 - a.request.Cap
	if excess <= 0 {
		return nil, nil
	}
	if a.request.Reject {
		return nil, fmt.Errorf("%d messages wait: %w", count, store.ErrQueueFull)
	}
	var rows []inboundRow
	_, err := t.find(&rows, "SELECT "+inboundFull+fromInbound+where+" ORDER BY i.seq LIMIT ?",
		lane.Sid, inLane, string(models.InboundReceived), excess)
	return rows, err
}

func (a *acceptance) notice(t *tx, lane laneRow, superseded []*models.Inbound) error {
	if a.request.Notice == nil || len(superseded) == 0 {
		return nil
	}
	_, err := a.store.insertDeliveries(t, a.request.Notice(superseded), laneOf(lane), nil)
	return err
}

// insertAliases stores further names of the message's thread, or finds that one
// of them names another thread by now.
func (a *acceptance) insertAliases(t *tx) error {
	aliases := a.request.Aliases
	if len(aliases) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(aliases))
	hashes := make([]any, len(aliases))
	threads := make(map[string]string, len(aliases))
	for i, alias := range aliases {
		h := aliasHash(alias.Channel, alias.Account, alias.Alias)
		if earlier, ok := threads[string(h)]; ok && earlier != alias.Thread {
			return fmt.Errorf("alias %d names two threads: %w", i, store.ErrInvalid)
		}
		args = append(args, h, alias.Thread, micros(a.request.Inbound.ReceivedAt))
		hashes[i] = h
		threads[string(h)] = alias.Thread
	}
	if _, err := t.exec("INSERT INTO thread_aliases (alias_hash, thread, used_at) VALUES "+values(len(aliases), 3)+
		" {upsert alias_hash} used_at = ?", append(args, micros(a.request.Inbound.ReceivedAt))...); err != nil {
		return err
	}
	var stored []struct {
		AliasHash []byte
		Thread    string
	}
	if _, err := t.find(&stored, "SELECT alias_hash, thread FROM thread_aliases WHERE alias_hash IN "+values(1, len(hashes)), hashes...); err != nil {
		return err
	}
	for _, row := range stored {
		if threads[string(row.AliasHash)] != row.Thread {
			return store.ErrAliasTaken
		}
	}
	return nil
}

func aliasHash(channel, account, alias string) []byte { return hash("alias", channel, account, alias) }

// seen answers a duplicate: the first message as it is, or running again.
func (a *acceptance) seen(ctx context.Context) (*store.Accepted, error) {
	r := a.request
	row, err := a.store.firstOf(ctx, r.DedupKeys, r.Inbound.ID)
	if err != nil {
		return nil, err
	}
	if row == nil { // recalled before it came, or erased since
		return &store.Accepted{Duplicate: true}, nil
	}
	first, err := row.model()
	if err != nil {
		return nil, err
	}
	if a.again && first.ID == r.Inbound.ID {
		return a.resolved(ctx, first)
	}
	differs := len(r.Fingerprint) > 0 && len(row.Fingerprint) > 0 && !bytes.Equal(r.Fingerprint, row.Fingerprint)
	if r.RunAgain && !differs && first.State.Retryable() {
		return a.runAgain(ctx, first)
	}
	return &store.Accepted{Inbound: first, Duplicate: true, Differs: differs}, nil
}

// resolved answers when the commit whose answer was lost did take place.
func (a *acceptance) resolved(ctx context.Context, in *models.Inbound) (*store.Accepted, error) {
	out := &store.Accepted{Inbound: in}
	var lane laneRow
	err := a.store.read(ctx, "accept", func(t *tx) error {
		_, err := t.find(&lane, "SELECT "+laneColumns+" FROM lanes l WHERE l.sid = ?", sidOf(in.SessionKey))
		return err
	})
	if err == nil && a.token != "" && lane.LeaseOwner.String == a.token {
		out.Claim = &store.Claim{SessionKey: in.SessionKey, Fence: lane.Fence, Attempts: lane.Attempts}
	}
	return out, err
}

// runAgain gives a message that failed a new place in the order.
func (a *acceptance) runAgain(ctx context.Context, first *models.Inbound) (*store.Accepted, error) {
	r := a.request
	var out *store.Accepted
	committed := false // perhaps, by an earlier try
	err := a.store.write(ctx, "accept again", func(t *tx) error {
		committed = t.again
		if over, _, err := limited(t, r.Rate, r.Inbound.ReceivedAt); over || err != nil {
			out = &store.Accepted{Inbound: first, Duplicate: true, Limited: true}
			return err
		}
		p := a.placing()
		p.wake = first.Kind == models.KindMessage
		lane, claimed, err := nextPlace(t, first.SessionKey, p)
		if err != nil {
			return err
		}
		in := *first
		in.Awaited, in.ReceivedAt, in.CreatedAt = r.Inbound.Awaited, r.Inbound.ReceivedAt, r.Inbound.CreatedAt
		out = &store.Accepted{Inbound: &in}
		if claimed {
			out.Claim = &store.Claim{SessionKey: in.SessionKey, Fence: lane.Fence, Attempts: lane.Attempts}
		} else if p.wake {
			if out.Superseded, err = a.makeRoom(t, lane, &in); err != nil {
				return err
			}
		}
		if err := requeue(t, lane, &in, claimed); err != nil {
			return err
		}
		return a.notice(t, lane, out.Superseded)
	})
	if errors.Is(err, store.ErrConflict) { // somebody else made it run again
		row, err := a.store.firstOf(ctx, nil, first.ID)
		if err != nil || row == nil {
			return &store.Accepted{Duplicate: true}, err
		}
		in, err := row.model()
		if err == nil && committed && micros(in.ReceivedAt) == micros(r.Inbound.ReceivedAt) {
			return a.resolved(ctx, in) // it was this call
		}
		return &store.Accepted{Inbound: in, Duplicate: true}, err
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// requeue makes a failed, dead or cancelled message wait at the lane's newest
// place, or run if the lane was claimed for it. It updates in.
func requeue(t *tx, lane laneRow, in *models.Inbound, claimed bool) error {
	in.Seq, in.Epoch, in.State = lane.LastSeq, lane.Epoch, models.InboundReceived
	in.Attempts, in.Error, in.Code, in.FinishedAt, in.Reply, in.MergedInto, in.Sign = 0, "", "", nil, nil, "", ""
	queued, fence := inLane, int64(0)
	if claimed {
		in.State, fence = models.InboundRunning, lane.Fence
	}
	if in.Kind == models.KindCommand {
		queued = around
		if _, err := t.exec("INSERT INTO commands (inbound_id, due_at) VALUES (?, {now})", in.ID); err != nil {
			if duplicate(err) {
				return store.ErrConflict
			}
			return err
		}
	}
	replaces, err := encode(in.Replaces, len(in.Replaces) == 0)
	if err != nil {
		return err
	}
	n, err := t.exec(`UPDATE inbound SET seq = ?, epoch = ?, state = ?, queued = ?, run_fence = ?, attempts = 0, error = '', code = '',
		finished_at = NULL, finish_reason = '', reply = NULL, merged_into = '', sign = NULL, awaited = ?, received_at = ?, order_at = ?, replaces = ?
		WHERE id = ? AND sid = ? AND state IN (?, ?, ?) AND seq > ? AND LENGTH(payload) > 0`,
		in.Seq, in.Epoch, string(in.State), queued, fence, bit(in.Awaited), micros(in.ReceivedAt), micros(in.CreatedAt), replaces,
		in.ID, lane.Sid, string(models.InboundFailed), string(models.InboundDead), string(models.InboundCancelled), lane.DeletedSeq)
	if err == nil && n == 0 {
		return fmt.Errorf("message is not failed, dead or cancelled: %w", store.ErrConflict)
	}
	return err
}

// firstOf finds the message that was accepted under one of the keys, or has the
// id; nil if none was, or not any more.
func (s *Store) firstOf(ctx context.Context, keys []string, id string) (*inboundRow, error) {
	var row *inboundRow
	err := s.read(ctx, "find inbound", func(t *tx) error {
		row = nil
		if hashes := dedupHashes(keys); len(hashes) > 0 {
			var firsts []struct {
				InboundID *string
			}
			if _, err := t.find(&firsts, "SELECT inbound_id FROM dedup WHERE key_hash IN "+values(1, len(hashes)), anys(hashes)...); err != nil {
				return err
			}
			if len(firsts) > 0 {
				if firsts[0].InboundID == nil {
					return nil
				}
				id = *firsts[0].InboundID
			}
		}
		var found inboundRow
		n, err := t.find(&found, "SELECT "+inboundFull+fromInbound+" WHERE i.id = ?", id)
		if n > 0 {
			row = &found
		}
		return err
	})
	return row, err
}

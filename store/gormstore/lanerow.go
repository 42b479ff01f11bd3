package gormstore

import (
	"database/sql"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// laneRow is a row of lanes.
type laneRow struct {
	Sid         []byte
	SessionKey  string
	DueAt       sql.NullInt64
	Fence       int64
	Attempts    int
	LeaseOwner  sql.NullString
	LastSeq     int64
	Slot        string
	Epoch       int64
	DeletedSeq  int64
	ChangeToken sql.NullString
}

const laneColumns = `l.sid, l.session_key, l.due_at, l.fence, l.attempts, l.lease_owner, l.last_seq, l.slot, l.epoch, l.deleted_seq, l.change_token`

// columns are where laneColumns go.
func (l *laneRow) columns() []any {
	return []any{&l.Sid, &l.SessionKey, &l.DueAt, &l.Fence, &l.Attempts, &l.LeaseOwner, &l.LastSeq, &l.Slot, &l.Epoch, &l.DeletedSeq, &l.ChangeToken}
}

// The kinds of lanes in the column kind, which the index of due lanes begins with.
const (
	peopleLane = 0
	taskLane   = 1
)

// kindOf is the kind of a session's lane. A key holds the mark of its scope as it is
// written: in ids colons are escaped.
func kindOf(key string) int {
	if strings.Contains(key, ":scope:"+string(models.ScopeTask)+":") {
		return taskLane
	}
	return peopleLane
}

// heldBy reports whether the claim is the lane's newest and was not given back.
func (l *laneRow) heldBy(c store.Claim) bool { return l.Fence == c.Fence && l.LeaseOwner.Valid }

// A lane's fence starts at the clock, so that a lane that was erased and made
// again never takes a fence that somebody may still hold. MySQL assigns from left
// to right: due_at comes last.
const (
	nextPlaceQuietly = `INSERT INTO lanes (sid, session_key, kind, due_at, fence, attempts, lease_owner, last_seq, slot, epoch, deleted_seq)
		VALUES (?, ?, ?, NULL, {now}, 0, NULL, 1, '` + models.DefaultSlot + `', 0, 0)
		{upsert sid} last_seq = lanes.last_seq + 1`
	nextPlaceAndWake = `INSERT INTO lanes (sid, session_key, kind, due_at, fence, attempts, lease_owner, last_seq, slot, epoch, deleted_seq)
		VALUES (?, ?, ?, {now} + ?, {now}, 0, NULL, 1, '` + models.DefaultSlot + `', 0, 0)
		{upsert sid} last_seq = lanes.last_seq + 1, due_at = COALESCE(lanes.due_at, {now} + ?)`
	nextPlaceAndClaim = `INSERT INTO lanes (sid, session_key, kind, due_at, fence, attempts, lease_owner, last_seq, slot, epoch, deleted_seq)
		VALUES (?, ?, ?, {now} + ?, {now}, 1, ?, 1, '` + models.DefaultSlot + `', 0, 0)
		{upsert sid} last_seq = lanes.last_seq + 1,
			fence = CASE WHEN lanes.due_at IS NULL THEN lanes.fence + 1 ELSE lanes.fence END,
			attempts = CASE WHEN lanes.due_at IS NULL THEN 1 ELSE lanes.attempts END,
			lease_owner = CASE WHEN lanes.due_at IS NULL THEN ? ELSE lanes.lease_owner END,
			due_at = COALESCE(lanes.due_at, {now} + ?)`
	ensureLane = `INSERT INTO lanes (sid, session_key, kind, due_at, fence, attempts, lease_owner, last_seq, slot, epoch, deleted_seq)
		VALUES (?, ?, ?, NULL, {now}, 0, NULL, 0, '` + models.DefaultSlot + `', 0, 0)
		{upsert sid} last_seq = lanes.last_seq`
)

// placing says how taking the next place in a lane acts on the lane.
type placing struct {
	wake  bool
	delay time.Duration
	// claim is nil, or asks for an idle lane; token names it.
	claim *store.ClaimRequest
	token string
}

// nextPlace locks the lane, making it if there is none, and takes the next place
// in its order. It reports whether the lane was claimed.
func nextPlace(t *tx, key string, p placing) (lane laneRow, claimed bool, err error) {
	sid := sidOf(key)
	switch {
	case !p.wake:
		_, err = t.exec(nextPlaceQuietly, sid, key, kindOf(key))
	case p.claim == nil || p.delay > 0:
		_, err = t.exec(nextPlaceAndWake, sid, key, kindOf(key), millis(p.delay), millis(p.delay))
	default:
		lease := millis(p.claim.Lease)
		_, err = t.exec(nextPlaceAndClaim, sid, key, kindOf(key), lease, p.token, p.token, lease)
	}
	if err != nil {
		return lane, false, err
	}
	_, err = t.row(lane.columns(), "SELECT "+laneColumns+" FROM lanes l WHERE l.sid = ?", sid)
	return lane, lane.LeaseOwner.Valid && lane.LeaseOwner.String == p.token && p.token != "", err
}

// lockLane locks a lane; found is false if there is none.
func lockLane(t *tx, key string) (lane laneRow, found bool, err error) {
	found, err = t.row(lane.columns(), "SELECT "+laneColumns+" FROM lanes l WHERE l.sid = ? {lock}", sidOf(key))
	return lane, found, err
}

// restLane makes a lane idle that nobody holds and where nothing waits any more.
func restLane(t *tx, sid []byte) error {
	_, err := t.exec(`UPDATE lanes SET due_at = NULL, attempts = 0 WHERE sid = ? AND lease_owner IS NULL AND due_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM inbound WHERE sid = ? AND queued = ?)`, sid, sid, inLane)
	return err
}

// waiting reports whether a message of the lane has no outcome yet. It must be
// read after the lane was locked.
func waiting(t *tx, sid []byte) (bool, error) {
	var one int
	n, err := t.find(&one, "SELECT 1 FROM inbound WHERE sid = ? AND queued = ? LIMIT 1", sid, inLane)
	return n > 0, err
}

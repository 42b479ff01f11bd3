package dingtalk

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// probeAfter is how long a used-up quota is believed before one call tries again:
// it may have been raised.
const probeAfter = time.Hour

// quotaZone is where the platform's months begin.
var quotaZone = time.FixedZone("UTC+8", 8*60*60)

// quota stops calls once the platform said that the month's quota is used up,
// until the month ends or a probe succeeds.
type quota struct {
	clock clock.Clock

	mu    sync.Mutex
	until time.Time // zero: open for calls
	err   error
}

func newQuota(c clock.Clock) *quota { return &quota{clock: c} }

// check returns an error of kind Unavailable while calls are stopped.
func (q *quota) check() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until.IsZero() {
		return nil
	}
	wait := q.until.Sub(q.clock.Now())
	if wait <= 0 {
		// The caller is the probe; the others wait for what it finds.
		q.stop()
		return nil
	}
	return &adapters.SendError{Kind: adapters.Unavailable, Code: codeOf(q.err), RetryAfter: wait, Err: fmt.Errorf("not tried: %w", q.err)}
}

// note learns from the outcome of a call; nil is a success.
func (q *quota) note(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err == nil:
		q.until, q.err = time.Time{}, nil
	case classOf(err) == classQuota:
		q.err = err
		q.stop()
	}
}

func (q *quota) stop() {
	now := q.clock.Now()
	month := now.In(quotaZone)
	next := time.Date(month.Year(), month.Month()+1, 1, 0, 0, 0, 0, quotaZone)
	q.until = now.Add(min(probeAfter, next.Sub(now)))
}

// state returns why calls are stopped, nil if they are not.
func (q *quota) state() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// stopped reports whether calls are stopped.
func (q *quota) stopped() bool { return q.state() != nil }

func codeOf(err error) string {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.code
	}
	return ""
}

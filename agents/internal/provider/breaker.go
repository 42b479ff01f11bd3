package provider

import (
	"errors"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// ErrOpen is the cause of a call that was not made because the service is down.
var ErrOpen = errors.New("service is down, call withheld")

// Breaker leaves a dead service alone: after a row of failures it admits one call
// per pause until one succeeds. The zero value is not usable.
//
// A call is never withheld because another is still running, so that one slow
// answer does not hold up all others.
type Breaker struct {
	clock     clock.Clock
	threshold int
	pause     time.Duration
	maxPause  time.Duration

	mu       sync.Mutex
	failures int
	next     time.Time
}

// NewBreaker returns a breaker that opens after threshold failures in a row. While
// open it admits one call per pause, which doubles with each further failure up to
// maxPause.
func NewBreaker(c clock.Clock, threshold int, pause, maxPause time.Duration) *Breaker {
	return &Breaker{clock: c, threshold: threshold, pause: pause, maxPause: maxPause}
}

// Admit returns zero if a call may be made now, else how long to wait before asking again.
func (b *Breaker) Admit() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.threshold {
		return 0
	}
	now := b.clock.Now()
	if wait := b.next.Sub(now); wait > 0 {
		return wait
	}
	b.next = now.Add(b.currentPause())
	return 0
}

// Succeeded tells that the service answered; it closes the breaker.
func (b *Breaker) Succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

// Failed tells that the service did not answer.
func (b *Breaker) Failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.failures >= b.threshold {
		b.next = b.clock.Now().Add(b.currentPause())
	}
}

func (b *Breaker) currentPause() time.Duration {
	doublings := min(b.failures-b.threshold, 16)
	return min(b.pause<<max(doublings, 0), b.maxPause)
}

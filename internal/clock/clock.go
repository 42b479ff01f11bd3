// Package clock is the only source of wall-clock time in the program.
//
// Everything that compares, stores or waits for a time takes a [Clock], so that
// tests can drive it. Lease arithmetic is the exception: it uses the database's
// own clock inside SQL.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and makes timers.
type Clock interface {
	// Now returns the current time; it carries a monotonic reading when the clock is real.
	Now() time.Time
	// NewTimer fires once after d.
	NewTimer(d time.Duration) *Timer
}

// Timer is a one-shot timer of a [Clock].
type Timer struct {
	// C receives the time at which the timer fired.
	C    <-chan time.Time
	stop func() bool
}

// Stop prevents the timer from firing. It reports whether it did.
func (t *Timer) Stop() bool { return t.stop() }

// Real returns the system's clock.
func Real() Clock { return real{} }

type real struct{}

func (real) Now() time.Time { return time.Now() }

func (real) NewTimer(d time.Duration) *Timer {
	t := time.NewTimer(d)
	return &Timer{C: t.C, stop: t.Stop}
}

// Sleep waits for d or until ctx ends, and returns ctx's error in that case.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fake is a clock that only moves when told to. It is safe for concurrent use.
type Fake struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*fakeTimer]struct{}
}

type fakeTimer struct {
	at time.Time
	ch chan time.Time
}

// NewFake returns a clock that stands at now.
func NewFake(now time.Time) *Fake {
	return &Fake{now: now, timers: map[*fakeTimer]struct{}{}}
}

// Now returns the time the clock stands at.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// NewTimer fires when the clock is moved to or past d from now.
func (f *Fake) NewTimer(d time.Duration) *Timer {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &fakeTimer{at: f.now.Add(d), ch: make(chan time.Time, 1)}
	if d <= 0 {
		t.ch <- f.now
	} else {
		f.timers[t] = struct{}{}
	}
	return &Timer{C: t.ch, stop: func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, pending := f.timers[t]
		delete(f.timers, t)
		return pending
	}}
}

// Advance moves the clock forward and fires the timers that became due.
func (f *Fake) Advance(d time.Duration) { f.Set(f.Now().Add(d)) }

// Set moves the clock to t and fires the timers that became due. Moved back it is a
// clock on the wall that was set: timers have left what they had.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if back := t.Sub(f.now); back < 0 {
		for timer := range f.timers {
			timer.at = timer.at.Add(back)
		}
	}
	f.now = t
	for timer := range f.timers {
		if !timer.at.After(t) {
			timer.ch <- t
			delete(f.timers, timer)
		}
	}
}

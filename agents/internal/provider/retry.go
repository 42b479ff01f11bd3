package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// DefaultRetryBudget is how long a turn's failed calls are made again in all.
	DefaultRetryBudget = 20 * time.Second

	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 5 * time.Second

	// A service is held for dead after five failures in a row, and then called once
	// a second by all turns together.
	deadAfter = 5
	deadPause = time.Second
)

// NewCallBreaker returns the breaker that all turns of one agent share for their
// single calls.
func NewCallBreaker(c clock.Clock) *Breaker { return NewBreaker(c, deadAfter, deadPause, deadPause) }

// Retrier repeats the failed calls of one turn. It is not safe for concurrent use.
type Retrier struct {
	clock   clock.Clock
	breaker *Breaker
	left    time.Duration
}

// NewRetrier returns a retrier for one turn: after a call's first failure it is
// made again for at most the budget, which all calls of the turn share.
func NewRetrier(c clock.Clock, b *Breaker, budget time.Duration) *Retrier {
	return &Retrier{clock: c, breaker: b, left: budget}
}

// Do makes call, and makes it again while it fails as [agents.Transient], waiting
// as long as the service asks or else ever longer, with jitter. A wait that would
// go beyond the budget is not begun. It returns the last error of call, or what
// [ContextError] says once ctx is done.
func (r *Retrier) Do(ctx context.Context, call func() error) error {
	var failedAt time.Time
	var last error
	for attempt := 0; ; {
		err := r.admit(last)
		if err == nil {
			err = call()
			attempt++
			last = err
			r.tell(ctx, err)
		}
		if ctx.Err() != nil && err != nil {
			return ContextError(ctx)
		}
		var failure *agents.Error
		if err == nil || !errors.As(err, &failure) || failure.Kind != agents.Transient {
			r.spend(failedAt)
			return err
		}
		now := r.clock.Now()
		if failedAt.IsZero() {
			failedAt = now
		}
		wait := pause(failure, attempt)
		if now.Add(wait).After(failedAt.Add(r.left)) {
			r.spend(failedAt)
			return err
		}
		if clock.Sleep(ctx, r.clock, wait) != nil {
			return ContextError(ctx)
		}
	}
}

// admit asks the breaker, and keeps the cause that this turn has seen.
func (r *Retrier) admit(last error) error {
	wait := r.breaker.Admit()
	if wait == 0 {
		return nil
	}
	cause := ErrOpen
	if last != nil {
		cause = fmt.Errorf("%w: %w", ErrOpen, last)
	}
	return &agents.Error{Kind: agents.Transient, RetryAfter: wait, Err: cause}
}

// tell counts what says something about the service's health: a refusal is an
// answer, and a turn that somebody cancelled says nothing.
func (r *Retrier) tell(ctx context.Context, err error) {
	switch {
	case err == nil:
		r.breaker.Succeeded()
	case errors.Is(ctx.Err(), context.Canceled):
	case ctx.Err() != nil, agents.KindOf(err) == agents.Transient, agents.KindOf(err) == agents.Timeout:
		r.breaker.Failed()
	default:
		r.breaker.Succeeded()
	}
}

func (r *Retrier) spend(since time.Time) {
	if !since.IsZero() {
		r.left -= r.clock.Now().Sub(since)
	}
}

// pause is what the service asked for and up to a tenth more, or a backoff of
// which the upper half is random.
func pause(failure *agents.Error, attempt int) time.Duration {
	if asked := failure.RetryAfter; asked > 0 {
		return asked + rand.N(asked/10+time.Millisecond)
	}
	backoff := min(firstBackoff<<min(max(attempt-1, 0), 8), maxBackoff)
	return backoff/2 + rand.N(backoff/2)
}

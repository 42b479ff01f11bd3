package agents

import (
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// ErrorKind says what can be done about an agent's failure.
type ErrorKind string

// The kinds of failure.
const (
	// Transient failures may pass: rate limits, overload, broken connections.
	Transient ErrorKind = "transient"
	// Permanent failures repeat: a bad request, an unknown model, a refusal.
	Permanent ErrorKind = "permanent"
	// Overflow means that the context does not fit the provider's window.
	Overflow ErrorKind = "overflow"
	// Auth means that the provider refused the credentials or the account.
	Auth ErrorKind = "auth"
	// Timeout means that the turn's deadline passed.
	Timeout ErrorKind = "timeout"
)

// Error is a classified failure of an agent. Its text is for logs; users get a
// text of the gateway's own.
type Error struct {
	Kind ErrorKind
	// RetryAfter is how long the provider asked to wait; zero if it did not.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
	// Usage is what the turn had cost by then, as far as it is known.
	Usage models.Usage
}

// Error returns the cause behind its kind.
func (e *Error) Error() string { return fmt.Sprintf("agent: %s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, Permanent if it carries none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Permanent
}

// UsageOf returns what a turn had cost when it failed with err, as far as it is known.
func UsageOf(err error) models.Usage {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Usage
	}
	return models.Usage{}
}

// WithUsage returns err as a failure after so much was spent.
func WithUsage(err error, spent models.Usage) error {
	if err == nil || spent == (models.Usage{}) {
		return err
	}
	failure := Error{Kind: Permanent, Err: err}
	if e, ok := errors.AsType[*Error](err); ok {
		failure = *e
	}
	failure.Usage = spent
	return &failure
}

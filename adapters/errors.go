package adapters

import (
	"errors"
	"fmt"
	"time"
)

// ErrTooLarge means that an attachment is larger than the limit.
var ErrTooLarge = errors.New("adapters: attachment is too large")

// SendErrorKind says what can be done about a refused or failed send.
type SendErrorKind string

// The kinds of send errors.
const (
	// Retry: it did not work this time and nothing was sent.
	Retry SendErrorKind = "retry"
	// RateLimited: too fast; wait RetryAfter, or a while if that is zero.
	RateLimited SendErrorKind = "rate_limited"
	// Unknown: it may have been sent (a time-out, a broken connection, a 5xx).
	Unknown SendErrorKind = "unknown"
	// Refused: this message will never be taken.
	Refused SendErrorKind = "refused"
	// TargetGone: nothing can be sent to this target any more.
	TargetGone SendErrorKind = "target_gone"
	// Gone: the card or message to be changed is closed; a new message may work.
	Gone SendErrorKind = "gone"
	// Unavailable: the account itself cannot send now (bad credentials, a used-up
	// quota); nothing was sent and an operator should look.
	Unavailable SendErrorKind = "unavailable"
)

// SendError is a classified failure of a send. Its text is for operators and
// holds neither secrets nor message text.
type SendError struct {
	Kind SendErrorKind
	// Code is the platform's own code, for the operator; may be empty.
	Code string
	// RetryAfter is how long the platform asked to wait; zero if it did not.
	RetryAfter time.Duration
	Err        error
}

// Error returns the cause behind kind and code.
func (e *SendError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("send: %s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("send: %s: code %s: %v", e.Kind, e.Code, e.Err)
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// SendErrorOf returns the classified failure in err; one without a class counts as Unknown.
func SendErrorOf(err error) *SendError {
	if e, ok := errors.AsType[*SendError](err); ok {
		return e
	}
	return &SendError{Kind: Unknown, Err: err}
}

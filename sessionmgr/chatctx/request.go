package chatctx

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// DefaultTimeout bounds a request that names no timeout of its own.
const DefaultTimeout = 2 * time.Minute

// ErrTimeout is the cause with which a request's context ends at its deadline. It
// is also a context.DeadlineExceeded.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string        { return "request timed out" }
func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrCancelled is the cause when a request is cancelled without one.
var ErrCancelled = errors.New("request cancelled")

// RequestContext is the request layer: who asks, since when, and until when. Its
// fields are read-only once it is in a context. It must not be copied then.
type RequestContext struct {
	RequestID    string
	TraceID      string
	ParentSpanID string
	// Timeout counts from StartTime; zero or less is [DefaultTimeout].
	Timeout   time.Duration
	StartTime time.Time
	IsStream  bool
	UserID    string

	mu      sync.Mutex
	clock   clock.Clock
	cancels []context.CancelCauseFunc
	ended   bool
	cause   error
}

// WithRequest returns a context that belongs to r and ends at r's deadline or by
// [RequestContext.Cancel], whichever is first. It fills in what r lacks: an id,
// the timeout, the start. A nil r is one with defaults. Whoever starts a request
// must Cancel it when it is over; that releases the context.
func WithRequest(ctx context.Context, r *RequestContext) context.Context {
	return withRequest(ctx, r, clock.Real())
}

func withRequest(ctx context.Context, r *RequestContext, c clock.Clock) context.Context {
	if r == nil {
		r = &RequestContext{}
	}
	remaining := r.begin(c)
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, requestKey{}, r))
	ctx, stop := context.WithTimeoutCause(ctx, remaining, ErrTimeout)
	r.attach(func(cause error) {
		cancel(cause)
		stop()
	})
	return ctx
}

// begin completes r and returns how long it may last from now.
func (r *RequestContext) begin(c clock.Clock) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = c
	if r.RequestID == "" {
		r.RequestID = models.NewID("req")
	}
	if r.Timeout <= 0 {
		r.Timeout = DefaultTimeout
	}
	now := c.Now()
	if r.StartTime.IsZero() {
		r.StartTime = now
	}
	return r.StartTime.Add(r.Timeout).Sub(now)
}

// attach makes Cancel end one more context.
func (r *RequestContext) attach(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		cancel(r.cause)
		return
	}
	r.cancels = append(r.cancels, cancel)
}

// Elapsed returns how long the request has been running; zero before it started.
func (r *RequestContext) Elapsed() time.Duration {
	elapsed, _ := r.usage()
	return elapsed
}

// IsTimeout reports whether the request has used up its time.
func (r *RequestContext) IsTimeout() bool {
	elapsed, timeout := r.usage()
	return elapsed >= timeout
}

func (r *RequestContext) usage() (elapsed, timeout time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	timeout = r.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if r.StartTime.IsZero() {
		return 0, timeout
	}
	if r.clock == nil {
		r.clock = clock.Real()
	}
	return r.clock.Now().Sub(r.StartTime), timeout
}

// Cancel ends the request's context with the cause; nil is [ErrCancelled]. Only
// the first call has an effect. A request cancelled before it is in a context
// ends as soon as it is.
func (r *RequestContext) Cancel(cause error) {
	if cause == nil {
		cause = ErrCancelled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended, r.cause = true, cause
	for _, cancel := range r.cancels {
		cancel(cause)
	}
	r.cancels = nil
}

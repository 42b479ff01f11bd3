package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/chatkeep/chatkeep/agents"
)

// ContextError returns what a turn ends with once ctx is done: a
// [agents.Timeout] if its deadline passed, else the cause of the cancellation.
func ContextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &agents.Error{Kind: agents.Timeout, Err: context.Cause(ctx)}
	}
	return context.Cause(ctx)
}

var machineWord = regexp.MustCompile(`^[A-Za-z0-9_.:/\[\]-]{1,64}$`)

// Word returns a word that a service sent for machines to read, such as an error code,
// and "" for anything that may be more than that. What a service says of a failure in
// words may quote the conversation: it is neither logged nor stored.
func Word(s string) string {
	if machineWord.MatchString(s) {
		return s
	}
	return ""
}

// withoutURL takes the address off an error of the HTTP client: it may hold a key.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// ConnectionError classifies a failure to reach a service or to read its answer.
// Everything may pass except a certificate that does not hold.
func ConnectionError(err error) error {
	err = withoutURL(err)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &agents.Error{Kind: agents.Permanent, Err: err}
	}
	return &agents.Error{Kind: agents.Transient, Err: err}
}

// KindOfStatus returns what an HTTP status that is not a success means when the
// body says nothing better.
func KindOfStatus(status int) agents.ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return agents.Auth
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return agents.Transient
	case http.StatusRequestEntityTooLarge:
		return agents.Overflow
	case http.StatusNotImplemented:
		return agents.Permanent
	}
	if status >= http.StatusInternalServerError {
		return agents.Transient
	}
	return agents.Permanent
}

// RetryAfter reads how long a response asks to wait (RFC 9110 section 10.2.3, and
// retry-after-ms as some providers send); zero if it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// seconds bounds absurd values, which would overflow a duration.
func seconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	return time.Duration(min(s, day) * float64(time.Second))
}

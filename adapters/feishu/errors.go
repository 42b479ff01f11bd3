package feishu

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"github.com/chatkeep/chatkeep/adapters"
)

// codeClass says what a platform's error code asks for, beyond the kinds of send errors.
type codeClass int

const (
	classUnknown       codeClass = iota
	classToken                   // the token is not valid (any more)
	classRate                    // too fast
	classQuota                   // the tenant's monthly quota is used up
	classAccount                 // the app itself: credentials, permissions, switched off
	classContent                 // this form of the message; another form may do
	classReplyGone               // the message to reply to was withdrawn
	classTargetGone              // nothing can be sent there
	classRefused                 // this message, whatever its form
	classCardGone                // the card or message cannot be changed any more
	classCardSequence            // an operation on a card came out of order
	classCardStreaming           // the card does not stream (any more)
	classServer                  // the platform's own trouble
)

// codes is the platform's error table, as far as this adapter meets it:
// https://open.feishu.cn/document/server-docs/im-v1/message/create, …/cardkit-v1/card/…,
// https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code.
var codes = map[int]codeClass{
	99991661: classToken, 99991663: classToken, 99991664: classToken, 99991671: classToken,

	99991400: classRate, 230020: classRate, 11232: classRate,
	99991403: classQuota,

	99991543: classAccount, 10003: classAccount, 10014: classAccount,
	99991401: classAccount, 99991662: classAccount, 99991673: classAccount,
	99991672: classAccount, 99991676: classAccount, 99991679: classAccount, 230027: classAccount,
	230006: classAccount, 232025: classAccount,

	230001: classContent, 230025: classContent, 230099: classContent, 200570: classContent,
	300301: classContent, 300305: classContent, 11310: classContent,

	230011: classReplyGone, 231003: classReplyGone,
	230002: classTargetGone, 230013: classTargetGone, 230045: classTargetGone, 232009: classTargetGone,
	230028: classRefused, 230035: classRefused, 230050: classRefused,
	234001: classRefused, 234002: classRefused, 234043: classRefused,

	230031: classCardGone, 230072: classCardGone, 300313: classCardGone,
	300317: classCardSequence,
	300309: classCardStreaming, 200850: classCardStreaming,

	2200: classServer, 55001: classServer,
}

var kinds = map[codeClass]adapters.SendErrorKind{
	classToken:         adapters.Retry,
	classRate:          adapters.RateLimited,
	classQuota:         adapters.Unavailable,
	classAccount:       adapters.Unavailable,
	classContent:       adapters.Refused,
	classReplyGone:     adapters.Refused,
	classTargetGone:    adapters.TargetGone,
	classRefused:       adapters.Refused,
	classCardGone:      adapters.Gone,
	classCardSequence:  adapters.Gone,
	classCardStreaming: adapters.Gone,
	classServer:        adapters.Unknown,
	classUnknown:       adapters.Refused,
}

// apiError is a refusal by the platform.
type apiError struct {
	op     string
	code   int // the platform's; 0 if it gave none
	status int
	msg    string
	logID  string
	class  codeClass
	reset  time.Duration
	scopes []string // what the app lacks
}

func (e *apiError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: HTTP %d, code %d: %s", e.op, e.status, e.code, clip(e.msg, 200))
	if len(e.scopes) > 0 {
		fmt.Fprintf(&s, " (missing permission: %s)", strings.Join(e.scopes, ", "))
	}
	if e.logID != "" {
		fmt.Fprintf(&s, " [log id %s]", e.logID)
	}
	return s.String()
}

// httpError is an answer of a server in between, not of the platform's API.
type httpError struct {
	status int
	reset  time.Duration
}

func (e *httpError) Error() string { return fmt.Sprintf("HTTP %d without a JSON answer", e.status) }

// apiErrorOf returns the refusal that an answer holds, nil for a success.
func apiErrorOf(op string, resp *larkcore.ApiResp, code larkcore.CodeError) error {
	if code.Code == 0 {
		return nil
	}
	e := &apiError{op: op, code: code.Code, msg: code.Msg, class: codes[code.Code]}
	if resp != nil {
		e.status, e.logID, e.reset = resp.StatusCode, resp.RequestId(), resetAfter(resp.Header)
	}
	if code.Err != nil {
		for _, v := range code.Err.PermissionViolations {
			if v != nil && v.Subject != "" {
				e.scopes = append(e.scopes, v.Subject)
			}
		}
	}
	switch {
	case e.class == classContent && strings.Contains(code.Msg, "11310"), e.class != classUnknown:
	case e.status == http.StatusTooManyRequests:
		e.class = classRate
	case e.status >= 500:
		e.class = classServer
	}
	return e
}

// resetAfter reads how long the platform asks to wait.
func resetAfter(h http.Header) time.Duration {
	for _, name := range []string{"X-Ogw-Ratelimit-Reset", "Retry-After"} {
		if seconds, err := strconv.Atoi(h.Get(name)); err == nil && seconds > 0 && seconds < 86400 {
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

// classOf returns the class of a failure; classUnknown if the platform gave none.
func classOf(err error) codeClass {
	if refused, ok := errors.AsType[*apiError](err); ok {
		return refused.class
	}
	return classUnknown
}

// sendError classifies any failure of a call for the gateway.
func sendError(err error) error {
	if err == nil {
		return nil
	}
	if done, ok := errors.AsType[*adapters.SendError](err); ok {
		return done
	}
	e := &adapters.SendError{Kind: adapters.Unknown, Err: err}
	var (
		api  *apiError
		web  *httpError
		dial *larkcore.DialFailedError
	)
	switch {
	case errors.As(err, &api):
		e.Kind, e.Code, e.RetryAfter = kinds[api.class], strconv.Itoa(api.code), api.reset
	case errors.As(err, &web):
		e.RetryAfter = web.reset
		if web.status == http.StatusTooManyRequests {
			e.Kind = adapters.RateLimited
		}
	case errors.As(err, &dial):
		e.Kind = adapters.Retry
	case errors.Is(err, errNoToken):
		e.Kind = adapters.Retry
	}
	return e
}

// errNoToken marks failures before anything of the message itself was sent.
var errNoToken = errors.New("no access token")

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

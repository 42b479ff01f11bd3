package dingtalk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
)

// class says what a refusal by the platform is about.
type class int

const (
	classOther      class = iota
	classRate             // too many requests per second or minute
	classBusy             // the platform is overloaded and did nothing
	classQuota            // the month's quota is used up
	classToken            // the access token is not valid
	classPermission       // the app lacks a permission
	classSetup            // credentials or robot settings are wrong
	classWebhook          // the session webhook has ended
	classPerson           // the person cannot be written to
	classChat             // the chat or the robot in it is gone
	classSize             // the message is too large
	classContent          // the content filter refused it
	classCard             // the card does not exist or is closed
	classUnclear          // it may have been sent
)

var kinds = map[class]adapters.SendErrorKind{
	classOther:      adapters.Refused,
	classRate:       adapters.RateLimited,
	classBusy:       adapters.Retry,
	classQuota:      adapters.Unavailable,
	classToken:      adapters.Unavailable,
	classPermission: adapters.Unavailable,
	classSetup:      adapters.Unavailable,
	classWebhook:    adapters.TargetGone,
	classPerson:     adapters.TargetGone,
	classChat:       adapters.TargetGone,
	classSize:       adapters.Refused,
	classContent:    adapters.Refused,
	classCard:       adapters.Gone,
	classUnclear:    adapters.Unknown,
}

// codes are the platform's, in lower case: those of the OpenAPI are words, those
// of the older API and of session webhooks are numbers or words.
var codes = map[string]class{
	"90018": classRate, "90002": classRate, "410100": classRate, "130101": classRate,
	"send.too.fast": classRate, "send.bytoken.toofast": classRate, "too.many.group": classRate, "too.many.people": classRate,

	"-1": classBusy, "system.busy": classBusy,

	"90020": classQuota,

	"invalidauthentication": classToken, "40014": classToken, "42001": classToken, "88": classToken,

	"invalidclientidorsecret": classSetup, "authfailed": classSetup, "310000": classSetup,

	"session.expired": classWebhook, "session.notexisted": classWebhook, "300001": classWebhook,

	"staffid.notexisted": classPerson, "robot.oto.notexist": classPerson, "chatbotid.notallow.sendoto": classPerson,

	"miss.openconversationid": classChat, "invalid.openconversationid": classChat, "group.disbanded": classChat,
	"400013": classChat, "bot.stopped": classChat, "template.stopped": classChat, "resource.not.found": classChat,
	"400101": classChat, "400102": classChat, "400106": classChat,

	"invalidparameter.msgparam.toolong": classSize, "460101": classSize, "101002": classSize, "param.stream.content": classSize,

	"430101": classContent, "430102": classContent, "430103": classContent, "430104": classContent,

	"system.error": classUnclear, "unknown.send.result": classUnclear,
}

// families are beginnings of codes, tried in order after the table.
var families = []struct {
	prefix string
	class  class
}{
	{"forbidden.accessdenied.qpslimit", classRate},
	{"forbidden.accessdenied.apicountlimit", classQuota},
	{"forbidden.accessdenied.accesstokenpermissiondenied", classPermission},
	{"forbidden.accessdenied.ipnotinwhitelist", classSetup},
	{"invalidparameter.robotcode", classChat},
	{"contain.unsafe.url", classContent},
	{"contain.notallowed", classContent},
	{"notallowed.", classContent},
	{"param.outtrackid", classCard},
	{"param.card", classCard},
	{"card.", classCard},
	{"session.", classWebhook},
}

// Waits that the platform's limits suggest; it names none itself.
const (
	waitQPS     = time.Second     // the limits count per second
	waitBusy    = 2 * time.Second // overload
	waitWebhook = time.Minute     // 20 messages a minute; a block lasts up to ten
	waitBanned  = 5 * time.Minute // the address made more than 10000 calls in 20 s
)

// apiError is a refusal by the platform.
type apiError struct {
	op     string
	status int
	code   string
	msg    string
	scopes []string // what the app lacks
	class  class
	wait   time.Duration
}

func (e *apiError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: HTTP %d", e.op, e.status)
	if e.code != "" {
		s.WriteString(", code " + e.code)
	}
	if e.msg != "" {
		s.WriteString(": " + clip(e.msg, 200))
	}
	if len(e.scopes) > 0 {
		s.WriteString(" (missing permission: " + strings.Join(e.scopes, ", ") + ")")
	}
	return s.String()
}

// networkError is a request without an answer.
type networkError struct {
	op string
	// sent is set if the request may have reached the platform.
	sent bool
	err  error
}

func (e *networkError) Error() string { return fmt.Sprintf("%s: %v", e.op, e.err) }
func (e *networkError) Unwrap() error { return e.err }

// answer are the fields by which any answer of the platform tells success.
type answer struct {
	Code    str             `json:"code"`
	Message str             `json:"message"`
	ErrCode json.RawMessage `json:"errcode"`
	ErrMsg  str             `json:"errmsg"`
	Status  number          `json:"status"`
	Denied  struct {
		Scopes list[str] `json:"requiredScopes"`
	} `json:"accessdenieddetail"`
}

// tooManyCalls is the status of the page that a banned address gets.
const tooManyCalls = 1111

// refusal returns the refusal in an answer, nil if it is none. Session webhooks
// and the older API answer 200 and say in errcode how it went; legacy asks for it.
func refusal(op string, status int, data []byte, legacy bool) error {
	var a answer
	e := &apiError{op: op, status: status}
	if len(data) == 0 && status/100 == 2 && !legacy {
		return nil
	}
	if json.Unmarshal(data, &a) != nil {
		e.msg = "the answer is no JSON"
		e.class, e.wait = classOfStatus(status)
		if status == http.StatusOK {
			e.class = classUnclear
		}
		return e
	}
	var errcode str
	if len(a.ErrCode) > 0 {
		_ = errcode.UnmarshalJSON(a.ErrCode)
	}
	switch {
	case a.Status == tooManyCalls:
		e.code, e.class, e.wait = "1111", classRate, waitBanned
		return e
	case errcode != "" && errcode != "0":
		e.code, e.msg = string(errcode), string(a.ErrMsg)
	case status/100 == 2 && legacy && len(a.ErrCode) == 0:
		e.msg, e.class = "the answer has no errcode", classUnclear
		return e
	case status/100 == 2:
		return nil
	default:
		e.code, e.msg = string(a.Code), string(a.Message)
	}
	for _, s := range a.Denied.Scopes {
		e.scopes = append(e.scopes, string(s))
	}
	e.class, e.wait = classify(status, e.code, legacy)
	return e
}

func classify(status int, code string, legacy bool) (class, time.Duration) {
	c, known := codes[strings.ToLower(code)]
	for _, f := range families {
		if !known && strings.HasPrefix(strings.ToLower(code), f.prefix) {
			c, known = f.class, true
		}
	}
	if !known {
		return classOfStatus(status)
	}
	switch {
	case c == classRate && legacy && code != "90018" && code != "90002":
		return c, waitWebhook
	case c == classRate:
		return c, waitQPS
	case c == classBusy:
		return c, waitBusy
	}
	return c, 0
}

// classOfStatus classifies an answer whose code says nothing.
func classOfStatus(status int) (class, time.Duration) {
	switch {
	case status == http.StatusTooManyRequests:
		return classRate, waitQPS
	case status == http.StatusUnauthorized:
		return classToken, 0
	case status == http.StatusForbidden:
		return classPermission, 0
	case status >= 500 || status/100 == 3:
		return classUnclear, 0
	}
	return classOther, 0
}

func classOf(err error) class {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.class
	}
	return classOther
}

// sendError classifies any failure for the gateway.
func sendError(err error) error {
	if err == nil {
		return nil
	}
	if done, ok := errors.AsType[*adapters.SendError](err); ok {
		return done
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return &adapters.SendError{Kind: kinds[e.class], Code: e.code, RetryAfter: e.wait, Err: err}
	}
	if e, ok := errors.AsType[*networkError](err); ok && !e.sent {
		return &adapters.SendError{Kind: adapters.Retry, Err: err}
	}
	return &adapters.SendError{Kind: adapters.Unknown, Err: err}
}

func refused(format string, args ...any) error {
	return &adapters.SendError{Kind: adapters.Refused, Err: fmt.Errorf(format, args...)}
}

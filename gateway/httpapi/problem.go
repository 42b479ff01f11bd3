package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// problem is an error as a client sees it.
type problem struct {
	code    models.ErrorCode
	message string
	// retryAfter goes with 429 and 503; zero: [retrySoon].
	retryAfter time.Duration
	// cause is for the log.
	cause error
}

// Error returns the message.
func (p *problem) Error() string { return p.message }

// errorDocument is the body of every error.
type errorDocument struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code      models.ErrorCode `json:"code"`
	Message   string           `json:"message"`
	RequestID string           `json:"requestId"`
}

// statuses is the HTTP status of every code.
var statuses = map[models.ErrorCode]int{
	models.CodeInvalidRequest: http.StatusBadRequest, models.CodeUnauthorized: http.StatusUnauthorized,
	models.CodeForbidden: http.StatusForbidden, models.CodeSessionNotFound: http.StatusNotFound,
	models.CodeSlotNotFound: http.StatusNotFound, models.CodeTaskNotFound: http.StatusNotFound,
	models.CodeNotFound: http.StatusNotFound, models.CodeSlotExists: http.StatusConflict,
	models.CodeSlotReadonly: http.StatusConflict, models.CodeConflict: http.StatusConflict,
	models.CodeSuperseded: http.StatusConflict, models.CodeCancelled: http.StatusConflict,
	models.CodeTooLarge: http.StatusRequestEntityTooLarge, models.CodeRateLimited: http.StatusTooManyRequests,
	models.CodeBudgetExceeded: http.StatusTooManyRequests, models.CodeQueueFull: http.StatusTooManyRequests,
	models.CodeAgentFailed: http.StatusBadGateway, models.CodeUnavailable: http.StatusServiceUnavailable,
	models.CodeAgentTimeout: http.StatusGatewayTimeout,
}

func (p *problem) status() int { return statuses[p.code] }

func invalid(message string) *problem {
	return &problem{code: models.CodeInvalidRequest, message: message}
}

func notFound(message string) *problem {
	return &problem{code: models.CodeNotFound, message: message}
}

func conflict(message string) *problem {
	return &problem{code: models.CodeConflict, message: message}
}

func unavailable(message string) *problem {
	return &problem{code: models.CodeUnavailable, message: message}
}

func noSession() *problem {
	return &problem{code: models.CodeSessionNotFound, message: "there is no such session"}
}

func noSlot() *problem {
	return &problem{code: models.CodeSlotNotFound, message: "the session has no such slot"}
}

// retrySoon is what a client is told to wait where nothing better is known.
const retrySoon = time.Second

// problemOf translates an error from below; what it does not know is a 503 whose
// cause only the log learns.
func problemOf(err error) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, key.ErrScopeNotAllowed):
		return &problem{code: models.CodeForbidden, message: "this account may not use that scope; the operator can allow it with allowScopes"}
	case errors.Is(err, key.ErrInvalid):
		return invalid(detail(err, key.ErrInvalid))
	case errors.Is(err, slot.ErrNotFound):
		return noSlot()
	case errors.Is(err, slot.ErrExists):
		return &problem{code: models.CodeSlotExists, message: "the session has a slot of that name"}
	case errors.Is(err, slot.ErrReadonly):
		return &problem{code: models.CodeSlotReadonly, message: "the slot is read-only"}
	case errors.Is(err, store.ErrInvalid):
		return invalid(detail(err, store.ErrInvalid))
	case errors.Is(err, store.ErrTooLarge):
		return &problem{code: models.CodeTooLarge, message: detail(err, store.ErrTooLarge)}
	case errors.Is(err, store.ErrQueueFull):
		return &problem{code: models.CodeQueueFull, message: "too many messages wait in this session; try again when some are answered"}
	case errors.Is(err, store.ErrNotFound):
		return notFound("there is no such thing")
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrExists):
		return conflict("its present state does not allow that")
	case errors.Is(err, gateway.ErrUnknownAccount):
		return invalid("no such account or agent is configured")
	case errors.Is(err, context.Canceled):
		return &problem{code: models.CodeUnavailable, message: "the request was cancelled", cause: err}
	default:
		return &problem{code: models.CodeUnavailable, message: "the service cannot do that right now; try again", cause: err}
	}
}

// detail is what an error says besides the operations it passed through and the
// name of its sentinel: what a client can act on.
func detail(err, sentinel error) string {
	whole, name := err.Error(), sentinel.Error()
	if _, after, ok := strings.Cut(whole, name+": "); ok {
		return after
	}
	kind := lastPart(name)
	before, ok := strings.CutSuffix(whole, ": "+name)
	if !ok {
		return kind
	}
	return kind + ": " + lastPart(before)
}

func lastPart(s string) string {
	if i := strings.LastIndex(s, ": "); i >= 0 {
		return s[i+2:]
	}
	return s
}

// sessionProblem is problemOf where what is missing is the session.
func sessionProblem(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return noSession()
	}
	return err
}

// fail ends a request with an error document.
func (s *Server) fail(c *gin.Context, err error) {
	p := problemOf(err)
	s.failWith(c, p.status(), p)
}

func (s *Server) failWith(c *gin.Context, status int, p *problem) {
	s.logProblem(c, p)
	switch status {
	case http.StatusUnauthorized:
		c.Header("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		c.Header("Retry-After", strconv.Itoa(seconds(p.retryAfter)))
	}
	c.AbortWithStatusJSON(status, p.document(c))
}

// logProblem writes down what an operator should look at. A client that went away
// is nothing of that kind.
func (s *Server) logProblem(c *gin.Context, p *problem) {
	if p.cause != nil && c.Request.Context().Err() == nil {
		s.log.Error("request failed", append(about(c), "error", p.cause)...)
	}
}

func (p *problem) document(c *gin.Context) errorDocument {
	return errorDocument{errorBody{p.code, p.message, requestID(c)}}
}

// seconds rounds up to whole seconds, at least one.
func seconds(d time.Duration) int {
	return int(max(retrySoon, d+time.Second-1) / time.Second)
}

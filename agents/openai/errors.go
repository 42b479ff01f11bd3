package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
)

const (
	// maxErrorBody is how much of an error's body is read.
	maxErrorBody = 64 << 10
	// maxErrorText is how much of a provider's text goes into our error.
	maxErrorText = 300
)

// statusError is a refusal: an HTTP status, or an error object in a success.
type statusError struct {
	status     int // zero if the error came without one
	code       string
	kind       string // the provider's "type"
	message    string
	retryAfter time.Duration
}

func (e *statusError) Error() string {
	text := strings.Join(strings.Fields(e.message), " ")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return fmt.Sprintf("provider refused: status %d, type %q, code %q: %s", e.status, e.kind, e.code, text)
}

// parseError reads an error body in any of the forms in use: OpenAI's object, a
// bare string, the fields at the top level, a list of one, or plain text.
func parseError(body []byte) *statusError {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var top struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &top) == nil && isSet(top.Error) {
		return parseErrorValue(top.Error)
	}
	return parseErrorValue(body)
}

func parseErrorValue(raw json.RawMessage) *statusError {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &statusError{message: text}
	}
	var object struct {
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return &statusError{message: string(raw)}
	}
	message := plain(object.Message)
	if message == "" {
		message = plain(object.Detail)
	}
	if message == "" {
		message = string(raw)
	}
	return &statusError{code: plain(object.Code), kind: plain(object.Type), message: message}
}

// plain returns a JSON string's text, and any other value as it is written.
func plain(raw json.RawMessage) string {
	var text string
	switch {
	case !isSet(raw):
		return ""
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// embeddedError finds an error object inside a successful answer or its stream.
func embeddedError(data []byte) error {
	var top struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(data, &top) // what is no JSON holds no error object
	if !isSet(top.Error) {
		return nil
	}
	failure := parseErrorValue(top.Error)
	if status, err := strconv.Atoi(failure.code); err == nil && status >= 400 && status < 600 {
		failure.status = status
	}
	return failure
}

// classify turns any failure of a call into the contract's error.
func (a *Agent) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return provider.ContextError(ctx)
	}
	if _, ok := errors.AsType[*agents.Error](err); ok {
		return err
	}
	if errors.Is(err, errTooLarge) {
		return &agents.Error{Kind: agents.Permanent, Err: err}
	}
	var refused *statusError
	if !errors.As(err, &refused) {
		return provider.ConnectionError(err)
	}
	if a.cfg.APIKey != "" { // some providers repeat the key they refuse
		refused.message = strings.ReplaceAll(refused.message, a.cfg.APIKey, "***")
	}
	return &agents.Error{Kind: refused.agentKind(), RetryAfter: refused.retryAfter, Err: refused}
}

// agentKind says what can be done about the refusal: by its code, by its text,
// then by its status.
func (e *statusError) agentKind() agents.ErrorKind {
	code, kind, text := strings.ToLower(e.code), strings.ToLower(e.kind), strings.ToLower(e.message)
	switch {
	case overflowCodes[code], overflowCodes[kind]:
		return agents.Overflow
	case accountCodes[code], accountCodes[kind]:
		return agents.Auth
	}
	if e.status != http.StatusTooManyRequests && e.status != http.StatusUnauthorized && containsAny(text, overflowTexts) {
		return agents.Overflow
	}
	if containsAny(text, accountTexts) {
		return agents.Auth
	}
	if e.status != 0 {
		return provider.KindOfStatus(e.status)
	}
	if badRequestKinds[kind] || badRequestKinds[code] {
		return agents.Permanent
	}
	return agents.Transient // a service that fails in mid-answer
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

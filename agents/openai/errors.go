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

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// statusError is a refusal: an HTTP status, or an error object in a success.
type statusError struct {
	status     int // zero if the error came without one
	code       string
	kind       string // the provider's "type"
	param      string
	message    string // for telling what it means; it may quote the conversation
	retryAfter time.Duration
}

// Error says what of the refusal is for machines.
func (e *statusError) Error() string {
	parts := []string{"provider refused the request"}
	if e.status != 0 {
		parts[0] += fmt.Sprintf(": status %d", e.status)
	}
	for _, field := range []struct{ name, value string }{{"type", e.kind}, {"code", e.code}, {"param", e.param}} {
		if word := provider.Word(field.value); word != "" {
			parts = append(parts, field.name+" "+word)
		}
	}
	return strings.Join(parts, ", ")
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
		Param   json.RawMessage `json:"param"`
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
	return &statusError{code: plain(object.Code), kind: plain(object.Type), param: plain(object.Param), message: message}
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

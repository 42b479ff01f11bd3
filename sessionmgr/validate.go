package sessionmgr

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
)

// MaxVariable is the largest JSON value of one variable, in bytes.
const MaxVariable = 64 << 10

func checkMessage(m *models.SessionMessage) error {
	if m == nil {
		return fmt.Errorf("%w: message is nil", ErrInvalid)
	}
	if !m.Role.Valid() {
		return fmt.Errorf("%w: unknown role", ErrInvalid)
	}
	if m.TokenCount < 0 {
		return fmt.Errorf("%w: negative token count", ErrInvalid)
	}
	texts := append([]string{m.Content, m.ID, m.ToolCallID, m.SenderID, m.SenderName, m.PlatformMessageID}, m.Images...)
	for _, call := range m.ToolCalls {
		texts = append(texts, call.ID, call.Name, call.Arguments)
	}
	if m.Reasoning != nil {
		texts = append(texts, *m.Reasoning)
	}
	return checkTexts("message", texts...)
}

func checkSession(s *models.Session) error {
	if s == nil {
		return fmt.Errorf("%w: session is nil", ErrInvalid)
	}
	if s.State != "" && !s.State.Valid() {
		return fmt.Errorf("%w: unknown state", ErrInvalid)
	}
	if s.CurrentSlot != "" && !models.ValidName(s.CurrentSlot) {
		return fmt.Errorf("%w: current slot is not a name", ErrInvalid)
	}
	if len(s.Title) > models.MaxTitle {
		return fmt.Errorf("%w: title has %d bytes, at most %d are allowed", ErrTooLarge, len(s.Title), models.MaxTitle)
	}
	return checkTexts("session", s.Title, s.Model, s.SystemPrompt, s.CompactedSummary, s.Channel, s.Account)
}

func checkVariable(name string, value json.RawMessage) error {
	if name == "" || len(name) > models.MaxForeignID || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return fmt.Errorf("%w: variable name must be 1 to %d bytes of plain text", ErrInvalid, models.MaxForeignID)
	}
	if len(value) > MaxVariable {
		return fmt.Errorf("%w: variable has %d bytes, at most %d are allowed", ErrTooLarge, len(value), MaxVariable)
	}
	if !json.Valid(value) {
		return fmt.Errorf("%w: variable is not a JSON value", ErrInvalid)
	}
	return nil
}

// checkTexts refuses what no storage could give back as it was: text that is not
// UTF-8, NUL (which some databases end a text at), and more than MaxContent.
func checkTexts(what string, texts ...string) error {
	size := 0
	for _, text := range texts {
		size += len(text)
		if !utf8.ValidString(text) {
			return fmt.Errorf("%w: %s holds text that is not UTF-8", ErrInvalid, what)
		}
		if strings.IndexByte(text, 0) >= 0 {
			return fmt.Errorf("%w: %s holds a NUL byte", ErrInvalid, what)
		}
	}
	if size > models.MaxContent {
		return fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", ErrTooLarge, what, size, models.MaxContent)
	}
	return nil
}

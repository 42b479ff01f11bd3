package gormstore

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// checks collects the first complaint about the values of a call.
type checks struct{ err error }

// text takes any text up to most bytes; empty is fine.
func (c *checks) text(field, v string, most int) {
	switch {
	case c.err != nil:
	case len(v) > most:
		c.err = fmt.Errorf("%s has %d bytes, at most %d are stored: %w", field, len(v), most, store.ErrTooLarge)
	case !utf8.ValidString(v):
		c.err = fmt.Errorf("%s is not valid UTF-8: %w", field, store.ErrInvalid)
	case strings.IndexByte(v, 0) >= 0:
		c.err = fmt.Errorf("%s has a NUL byte: %w", field, store.ErrInvalid)
	}
}

// id takes a text that may not be empty.
func (c *checks) id(field, v string, most int) {
	if c.err == nil && v == "" {
		c.err = fmt.Errorf("%s is empty: %w", field, store.ErrInvalid)
	}
	c.text(field, v, most)
}

func (c *checks) key(v string)  { c.id("session key", v, models.MaxKey) }
func (c *checks) slot(v string) { c.id("slot", v, models.MaxName) }

func (c *checks) messages(messages []*models.SessionMessage) {
	for _, m := range messages {
		c.id("message id", m.ID, models.MaxForeignID)
		c.id("message role", string(m.Role), 16)
		c.text("message content", m.Content, models.MaxContent)
		c.text("message tool call id", m.ToolCallID, models.MaxForeignID)
		c.text("message sender", m.SenderID, models.MaxForeignID)
		c.text("message sender name", m.SenderName, models.MaxContent)
		c.text("message platform id", m.PlatformMessageID, models.MaxForeignID)
		for _, call := range m.ToolCalls {
			c.text("tool call id", call.ID, models.MaxContent)
			c.text("tool call name", call.Name, models.MaxContent)
			c.text("tool call arguments", call.Arguments, models.MaxContent)
		}
		for _, image := range m.Images {
			c.text("message image", image, models.MaxContent)
		}
		if m.Quote != nil {
			c.text("message quote", m.Quote.Sender+m.Quote.Text, models.MaxContent)
		}
		if m.Reasoning != nil {
			c.text("message reasoning", *m.Reasoning, models.MaxContent)
		}
	}
}

func (c *checks) deliveries(deliveries []*models.Delivery) {
	for _, d := range deliveries {
		c.id("delivery id", d.ID, models.MaxForeignID)
		c.id("delivery channel", d.Channel, models.MaxName)
		c.id("delivery account", d.Account, models.MaxName)
		c.text("delivery session key", d.SessionKey, models.MaxKey)
		c.text("delivery inbound id", d.InboundID, models.MaxForeignID)
		c.text("delivery text", d.Text, models.MaxContent)
		c.text("delivery preview", d.Preview, models.MaxForeignID)
		c.target(d.Target)
		if c.err == nil && len(d.Observed) > models.MaxContent {
			c.err = fmt.Errorf("delivery has %d bytes to be observed, at most %d are stored: %w", len(d.Observed), models.MaxContent, store.ErrTooLarge)
		}
		if c.err == nil && d.State != models.DeliveryDelivered && d.Target.ChatID == "" && d.Target.UserID == "" {
			c.err = fmt.Errorf("delivery target has neither chat nor user: %w", store.ErrInvalid)
		}
		for _, f := range d.Files {
			c.text("delivery file", f, models.MaxContent)
		}
	}
}

func (c *checks) target(t models.Target) {
	c.text("target chat", t.ChatID, models.MaxForeignID)
	c.text("target user", t.UserID, models.MaxForeignID)
	c.text("target thread", t.ThreadID, models.MaxForeignID)
	c.text("target reply", t.ReplyTo, models.MaxForeignID)
}

func (c *checks) session(s *models.Session) {
	c.key(s.Key)
	c.text("agent", s.AgentID, models.MaxName)
	c.text("channel", s.Channel, models.MaxName)
	c.text("account", s.Account, models.MaxName)
	c.text("scope", string(s.Scope), 32)
	c.text("scope id", s.ScopeID, models.MaxKey)
	c.text("title", s.Title, models.MaxTitle)
	c.text("model", s.Model, models.MaxForeignID)
	c.text("system prompt", s.SystemPrompt, models.MaxContent)
	c.text("compacted summary", s.CompactedSummary, models.MaxContent)
}

// clip cuts an error text to what a row holds, on a rune boundary.
func clip(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if len(text) <= models.MaxError {
		return text
	}
	end := models.MaxError
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// hash names a tuple of texts. Each part is preceded by its length, so that no
// two tuples are written alike.
func hash(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// sidOf is the name of a session's rows.
func sidOf(key string) []byte {
	h := sha256.Sum256([]byte(key))
	return h[:]
}

package models

import "time"

// Role says who speaks in a message.
type Role string

// The roles that the model APIs know.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleSystem    Role = "system"
)

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool {
	switch r {
	case RoleUser, RoleAssistant, RoleTool, RoleSystem:
		return true
	}
	return false
}

// ToolCall is one call that the model asked for. Arguments is the JSON text as
// the model wrote it; it may be invalid.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// SessionMessage is one stored message. Once written it is never changed.
type SessionMessage struct {
	ID string `json:"id"`
	// Seq orders the messages of a slot, from 1, without meaning beyond order.
	Seq     int64  `json:"seq"`
	Slot    string `json:"slot"`
	Role    Role   `json:"role"`
	Content string `json:"content"`
	// Images are URLs or data URLs that belong to the content.
	Images     []string   `json:"images"`
	ToolCalls  []ToolCall `json:"toolCalls"`
	ToolCallID string     `json:"toolCallId"`
	// TokenCount is the provider's figure where it gave one, else an estimate.
	TokenCount int `json:"tokenCount"`
	// IsCompacted marks a summary that a compaction wrote.
	IsCompacted bool   `json:"isCompacted"`
	SenderID    string `json:"senderId"`
	SenderName  string `json:"senderName"`
	// PlatformMessageID is the platform's id of the message, if it came from one.
	PlatformMessageID string    `json:"platformMessageId"`
	CreatedAt         time.Time `json:"createdAt"`

	// Reasoning is the provider's reasoning text. Users never see it; a provider
	// that requires it with tool calls gets it back verbatim. Nil: none was given.
	Reasoning *string `json:"-"`
	// ContextTokens is the provider's count of the prompt that an answer was given to; zero: unknown.
	ContextTokens int `json:"-"`
	// ImagesOmitted is set where a message had pictures that were too much to be read.
	ImagesOmitted bool `json:"-"`
	// Observed marks group talk that was not addressed to the bot.
	Observed bool `json:"-"`
	// Quote is what the message answers to, if it quotes something.
	Quote *Quote `json:"-"`
	// SenderAltIDs are other ids of the sender, which access lists may name.
	SenderAltIDs []string `json:"-"`
}

// Quote is a message that another one answers to.
type Quote struct {
	Sender string `json:"sender,omitempty"`
	// SenderID is one of the ids of whoever wrote it; empty if it is not known.
	SenderID string `json:"senderId,omitempty"`
	Text     string `json:"text"`
}

// Clone returns a deep copy.
func (m *SessionMessage) Clone() *SessionMessage {
	c := *m
	c.Images = append([]string(nil), m.Images...)
	c.ToolCalls = append([]ToolCall(nil), m.ToolCalls...)
	c.SenderAltIDs = append([]string(nil), m.SenderAltIDs...)
	if m.Reasoning != nil {
		r := *m.Reasoning
		c.Reasoning = &r
	}
	if m.Quote != nil {
		q := *m.Quote
		c.Quote = &q
	}
	return &c
}

// CloneMessages returns deep copies of all messages; nil stays nil.
func CloneMessages(messages []*SessionMessage) []*SessionMessage {
	if messages == nil {
		return nil
	}
	out := make([]*SessionMessage, len(messages))
	for i, m := range messages {
		out[i] = m.Clone()
	}
	return out
}

// Usage is what a provider charged for.
type Usage struct {
	PromptTokens     int `json:"promptTokens"`
	CompletionTokens int `json:"completionTokens"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.PromptTokens + v.PromptTokens, u.CompletionTokens + v.CompletionTokens}
}

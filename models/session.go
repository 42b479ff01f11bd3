package models

import (
	"slices"
	"time"
)

// Scope says how messages are mapped to sessions.
type Scope string

// The scopes, from the widest to the narrowest.
const (
	ScopeMain                  Scope = "main"                     // one context for everybody
	ScopePerPeer               Scope = "per_peer"                 // one per peer (the default)
	ScopePerChannelPeer        Scope = "per_channel_peer"         // one per peer and channel
	ScopePerAccountChannelPeer Scope = "per_account_channel_peer" // one per peer, channel and bot account
	ScopeThread                Scope = "thread"                   // one per thread or topic
	ScopeTask                  Scope = "task"                     // scheduled tasks
)

// Scopes lists every scope.
func Scopes() []Scope {
	return []Scope{ScopeMain, ScopePerPeer, ScopePerChannelPeer, ScopePerAccountChannelPeer, ScopeThread, ScopeTask}
}

// Valid reports whether s is one of the scopes.
func (s Scope) Valid() bool {
	return slices.Contains(Scopes(), s)
}

// SessionState is where a session stands in its life.
type SessionState string

// The states of a session.
const (
	SessionActive    SessionState = "active"
	SessionIdle      SessionState = "idle"
	SessionCompacted SessionState = "compacted"
	SessionArchived  SessionState = "archived"
)

// Valid reports whether s is one of the states.
func (s SessionState) Valid() bool {
	switch s {
	case SessionActive, SessionIdle, SessionCompacted, SessionArchived:
		return true
	}
	return false
}

// Session is one isolated memory: what one peer, chat or thread shares with an agent.
type Session struct {
	// Key is the canonical session key (see package sessionmgr/key).
	Key     string `json:"key"`
	AgentID string `json:"agentId"`
	// Channel and Account are those of the latest user message.
	Channel string `json:"channel"`
	Account string `json:"account"`
	Scope   Scope  `json:"scope"`
	// ScopeID is the last part of the key, still escaped.
	ScopeID string       `json:"scopeId"`
	State   SessionState `json:"state"`
	Title   string       `json:"title"`
	// Model overrides the agent's model when not empty.
	Model string `json:"model"`
	// SystemPrompt overrides the agent's system prompt when not empty.
	SystemPrompt string `json:"systemPrompt"`
	// Pinned sessions are neither archived nor expired.
	Pinned bool `json:"pinned"`
	// MessageCount and TotalTokenCount count what the session's slots hold.
	MessageCount    int `json:"messageCount"`
	TotalTokenCount int `json:"totalTokenCount"`
	CompactionCount int `json:"compactionCount"`
	// CompactedSummary is that of the current slot; empty if it has none.
	CompactedSummary string `json:"compactedSummary"`
	CurrentSlot      string `json:"currentSlot"`
	// Messages holds the newest messages of the current slot where a call says so; lists never fill it.
	Messages       []*SessionMessage `json:"messages,omitempty"`
	CreatedAt      time.Time         `json:"createdAt"`
	LastActivityAt time.Time         `json:"lastActivityAt"`
	UpdatedAt      time.Time         `json:"updatedAt"`
	// LastUserAt is when a person last wrote; idleness counts from it alone. Zero: never.
	LastUserAt time.Time `json:"-"`
}

// Clone returns a deep copy.
func (s *Session) Clone() *Session {
	c := *s
	c.Messages = CloneMessages(s.Messages)
	return &c
}

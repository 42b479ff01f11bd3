package models

import "time"

// SlotMode says how a slot is read and whether it may be written.
type SlotMode string

// The modes of a slot.
const (
	SlotFull     SlotMode = "full"     // every message is read
	SlotFocused  SlotMode = "focused"  // filtered when read, nothing lost
	SlotReadonly SlotMode = "readonly" // writes are refused before the model is asked
)

// SlotSourceKind says where a slot came from.
type SlotSourceKind string

// The sources of a slot.
const (
	SlotNew     SlotSourceKind = "new"
	SlotDerived SlotSourceKind = "derived"
	SlotStatic  SlotSourceKind = "static" // from the configuration, not stored
)

// DeriveStrategy says what a derived slot copies of its parent.
type DeriveStrategy string

// The strategies of deriving.
const (
	DeriveFull    DeriveStrategy = "full"
	DeriveFocused DeriveStrategy = "focused"
)

// Focus filters what a focused slot shows: the first stored system message if
// KeepSystem, the newest RecentMessages others, then SummaryOverride as one system message.
type Focus struct {
	KeepSystem      bool   `json:"keepSystem"`
	RecentMessages  int    `json:"recentMessages"`
	SummaryOverride string `json:"summaryOverride,omitempty"`
}

// SlotSource tells a slot's origin. ParentID and Strategy are those of a derived slot,
// else empty.
type SlotSource struct {
	Kind     SlotSourceKind `json:"kind"`
	ParentID string         `json:"parentId"`
	Strategy DeriveStrategy `json:"strategy"`
}

// Budget bounds the parts of a slot's context, in tokens. Auto derives the parts
// from the agent's context window.
type Budget struct {
	Auto        bool `json:"auto,omitempty"`
	System      int  `json:"system"`
	History     int  `json:"history"`
	Tools       int  `json:"tools"`
	ToolResults int  `json:"toolResults"`
	Reserve     int  `json:"reserve"`
}

// ContextSlot is one named context of a session, like a tab.
type ContextSlot struct {
	ID string `json:"id"`
	// Title is what people call the slot where that is no id; empty: its id.
	Title      string     `json:"title"`
	SessionKey string     `json:"sessionKey"`
	Mode       SlotMode   `json:"mode"`
	Focused    *Focus     `json:"focused"`
	Source     SlotSource `json:"source"`
	Budget     *Budget    `json:"budget"`
	// Compact lets compaction act on the slot.
	Compact      bool      `json:"compact"`
	MessageCount int       `json:"messageCount"`
	TotalTokens  int       `json:"totalTokens"`
	Current      bool      `json:"current"`
	CreatedAt    time.Time `json:"createdAt"`
}

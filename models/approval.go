package models

import "time"

// ApprovalState says how far a call of a tool is that a person must approve.
type ApprovalState string

// The states of an approval.
const (
	ApprovalPending  ApprovalState = "pending"
	ApprovalApproved ApprovalState = "approved" // its turn waits, or is about to run the call
	ApprovalRunning  ApprovalState = "running"  // the call was begun, and may have had its effect
	ApprovalDone     ApprovalState = "done"
	ApprovalDenied   ApprovalState = "denied"
	ApprovalExpired  ApprovalState = "expired" // nobody decided in time; never stored
)

// Valid reports whether s is one of the states.
func (s ApprovalState) Valid() bool {
	switch s {
	case ApprovalPending, ApprovalApproved, ApprovalRunning, ApprovalDone, ApprovalDenied, ApprovalExpired:
		return true
	}
	return false
}

// Approval is a call of a tool that waits for a person, or was decided on.
type Approval struct {
	// Code is what the person names it by.
	Code       string `json:"code"`
	SessionKey string `json:"sessionKey"`
	Slot       string `json:"slot"`
	// InboundID is the message whose turn made the call.
	InboundID string `json:"inboundId"`
	AgentID   string `json:"agentId"`
	Channel   string `json:"channel"`
	Account   string `json:"account"`
	// SenderID and SenderName say who asked.
	SenderID   string `json:"senderId"`
	SenderName string `json:"senderName"`
	Tool       string `json:"tool"`
	// Arguments is one JSON object in canonical form.
	Arguments string        `json:"arguments"`
	State     ApprovalState `json:"state"`
	CreatedAt time.Time     `json:"createdAt"`
	ExpiresAt time.Time     `json:"expiresAt"`
	// DecidedBy is who decided, as a text for people; empty until then.
	DecidedBy string     `json:"decidedBy"`
	DecidedAt *time.Time `json:"decidedAt"`
	// DecidedIn is the message that decided, and whose turn runs the call.
	DecidedIn string `json:"decidedIn"`

	// Key is the idempotency key of the call.
	Key string `json:"-"`
	// Reasoning is what the model thought when it made the call; nil: nothing was given.
	Reasoning *string `json:"-"`
	// Payload is the gateway's own data about where the call was made.
	Payload []byte `json:"-"`
	// Result is what the call came to, as the gateway encoded it; nil until it ended.
	Result []byte `json:"-"`
}

// HeldCall is what somebody who fetches an answer learns of a call that waits.
type HeldCall struct {
	Code      string    `json:"code"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// At returns the state at a time: what nobody decided in time has expired.
func (a *Approval) At(now time.Time) ApprovalState {
	if a.State == ApprovalPending && !now.Before(a.ExpiresAt) {
		return ApprovalExpired
	}
	return a.State
}

const (
	// MaxFullResult is how much of a tool's result is kept, in bytes.
	MaxFullResult = 5 << 20
	// MaxFullResults is how many results a session keeps in full, the newest ones.
	MaxFullResults = 10
)

// FullResult is the whole text of a tool's result that was too large for a context.
type FullResult struct {
	ID         string `json:"id"`
	SessionKey string `json:"sessionKey"`
	InboundID  string `json:"inboundId"`
	Tool       string `json:"tool"`
	// Size is the result's own, in bytes; what is beyond [MaxFullResult] is not kept.
	Size      int       `json:"size"`
	Text      string    `json:"text,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// Button is what a person may press below a message.
type Button struct {
	Label string `json:"label"`
	// Value is what the adapter reports when it is pressed.
	Value string `json:"value"`
	// Primary makes it stand out.
	Primary bool `json:"primary,omitempty"`
}

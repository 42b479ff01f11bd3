package models

import "time"

// InboundState is the outcome of an accepted message, or how far it is.
type InboundState string

// The states of an inbound message. All but the first two are final, though
// failed, dead and cancelled ones can be run again.
const (
	InboundReceived   InboundState = "received"
	InboundRunning    InboundState = "running"
	InboundDone       InboundState = "done"
	InboundObserved   InboundState = "observed"
	InboundSuperseded InboundState = "superseded"
	InboundCancelled  InboundState = "cancelled"
	InboundIgnored    InboundState = "ignored"
	InboundFailed     InboundState = "failed"
	InboundDead       InboundState = "dead"
)

// Final reports whether the message has its outcome.
func (s InboundState) Final() bool { return s != InboundReceived && s != InboundRunning }

// Retryable reports whether a message in this state may run again.
func (s InboundState) Retryable() bool {
	return s == InboundFailed || s == InboundDead || s == InboundCancelled
}

// Valid reports whether s is one of the states.
func (s InboundState) Valid() bool {
	switch s {
	case InboundReceived, InboundRunning, InboundDone, InboundObserved, InboundSuperseded,
		InboundCancelled, InboundIgnored, InboundFailed, InboundDead:
		return true
	}
	return false
}

// InboundKind says what an accepted message asks for.
type InboundKind string

// The kinds of inbound messages.
const (
	KindMessage  InboundKind = "message"  // a turn of the agent
	KindCommand  InboundKind = "command"  // a chat command: never waits behind a turn
	KindObserved InboundKind = "observed" // background: no turn
	KindIgnored  InboundKind = "ignored"  // refused: kept for its outcome only
)

// ErrorCode is a machine-readable code of the HTTP contract, kept with an
// inbound message so that every waiting client learns the same.
type ErrorCode string

// The codes, with the HTTP status that goes with each.
const (
	CodeInvalidRequest  ErrorCode = "invalid_request"   // 400
	CodeUnauthorized    ErrorCode = "unauthorized"      // 401
	CodeForbidden       ErrorCode = "forbidden"         // 403
	CodeSessionNotFound ErrorCode = "session_not_found" // 404
	CodeSlotNotFound    ErrorCode = "slot_not_found"    // 404
	CodeTaskNotFound    ErrorCode = "task_not_found"    // 404
	CodeNotFound        ErrorCode = "not_found"         // 404
	CodeSlotExists      ErrorCode = "slot_exists"       // 409
	CodeSlotReadonly    ErrorCode = "slot_readonly"     // 409
	CodeConflict        ErrorCode = "conflict"          // 409
	CodeSuperseded      ErrorCode = "superseded"        // 409
	CodeCancelled       ErrorCode = "cancelled"         // 409
	CodeTooLarge        ErrorCode = "too_large"         // 413
	CodeRateLimited     ErrorCode = "rate_limited"      // 429
	CodeBudgetExceeded  ErrorCode = "budget_exceeded"   // 429
	CodeQueueFull       ErrorCode = "queue_full"        // 429
	CodeAgentFailed     ErrorCode = "agent_failed"      // 502
	CodeUnavailable     ErrorCode = "unavailable"       // 503
	CodeAgentTimeout    ErrorCode = "agent_timeout"     // 504
)

// Reply is the answer that a client of the API channel gets.
type Reply struct {
	MessageID string     `json:"messageId"`
	Role      Role       `json:"role"`
	Content   string     `json:"content"`
	ToolCalls []ToolCall `json:"toolCalls"`
	Usage     Usage      `json:"usage"`
	// Notices are what the gateway itself has to say besides, for who fetches the answer.
	Notices []string `json:"notices,omitempty"`
	// Approvals are the calls of tools that wait for a person.
	Approvals []HeldCall `json:"approvals,omitempty"`
}

// Inbound is one accepted message: a row that ends in exactly one outcome.
type Inbound struct {
	ID                string       `json:"id"`
	Channel           string       `json:"channel"`
	Account           string       `json:"account"`
	SessionKey        string       `json:"sessionKey"`
	PlatformMessageID string       `json:"platformMessageId"`
	State             InboundState `json:"state"`
	// MergedInto is the id of the message that was answered in its stead.
	MergedInto string `json:"mergedInto"`
	// Attempts counts the process deaths and lost leases it went through.
	Attempts   int        `json:"attempts"`
	Error      string     `json:"error"`
	ReceivedAt time.Time  `json:"receivedAt"`
	FinishedAt *time.Time `json:"finishedAt"`

	Kind InboundKind `json:"-"`
	// Deferred is set if it is a command that waits for what it asked for, beside the
	// session's other commands.
	Deferred bool `json:"-"`
	// Seq is the message's place in its session's order.
	Seq int64 `json:"-"`
	// Slot is the context slot it was bound to when it was accepted.
	Slot string `json:"-"`
	// Epoch is the session's generation it was bound to.
	Epoch int64 `json:"-"`
	// SenderID tells whose message it is, for merging, stopping and interrupting.
	SenderID string `json:"-"`
	// Replaces lists the interrupted messages whose text belongs before this one's.
	Replaces []string `json:"-"`
	// Sign is what an adapter needs to take its working sign back; empty if there is none.
	Sign string `json:"-"`
	// Awaited is set when somebody waits for the outcome; such a message is never merged.
	Awaited bool `json:"-"`
	// CreatedAt is the platform's time of the message, the tie-break of order; zero if unknown.
	CreatedAt time.Time `json:"-"`
	// Payload is the accepted message as the gateway encoded it.
	Payload []byte `json:"-"`
	// Code goes with failed, dead, superseded, cancelled and ignored.
	Code ErrorCode `json:"-"`
	// FinishReason goes with done, e.g. "stop".
	FinishReason string `json:"-"`
	// Reply is the answer, on rows that were answered and not erased.
	Reply *Reply `json:"-"`
}

package live

import "time"

// Type says what happened.
type Type string

// The types of events.
const (
	MessageAccepted Type = "message.accepted" // a message was stored
	MessageState    Type = "message.state"    // a message got its outcome, or waits again
	TurnStarted     Type = "turn.started"
	TurnFinished    Type = "turn.finished"
	DeliveryState   Type = "delivery.state" // pending: also after an attempt that is to be repeated
	JobFinished     Type = "job.finished"
	TaskRun         Type = "task.run"        // a run was started, or settled
	ChannelState    Type = "channel.state"   // an account's connection went up or down
	SessionChanged  Type = "session.changed" // by an administrator
	SlotChanged     Type = "slot.changed"    // by an administrator
	Missed          Type = "missed"          // some events are not shown; made for each watcher, never published
)

// Types lists those that can be asked for.
func Types() []Type {
	return []Type{
		MessageAccepted, MessageState, TurnStarted, TurnFinished, DeliveryState, JobFinished, TaskRun, ChannelState, SessionChanged, SlotChanged,
	}
}

// Event is something that happened. What does not apply is empty.
type Event struct {
	// ID is what a watcher that comes back has seen last; empty: nothing yet.
	ID   string    `json:"-"`
	Type Type      `json:"type"`
	At   time.Time `json:"at"`
	// Replica is the process where it happened.
	Replica string `json:"replica"`

	SessionKey string `json:"sessionKey,omitempty"`
	Slot       string `json:"slot,omitempty"`
	InboundID  string `json:"inboundId,omitempty"`
	DeliveryID string `json:"deliveryId,omitempty"`
	TaskID     string `json:"taskId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
	Channel    string `json:"channel,omitempty"`
	Account    string `json:"account,omitempty"`
	Job        string `json:"job,omitempty"`
	// Kind is that of the message or delivery.
	Kind string `json:"kind,omitempty"`
	// State is the new one; of a turn what it came to; of a connection connected or
	// disconnected; of a job ok or failed.
	State string `json:"state,omitempty"`
	// Code is the API's code of a failure.
	Code string `json:"code,omitempty"`
	// Action is what an administrator did.
	Action   string `json:"action,omitempty"`
	Attempts int    `json:"attempts,omitempty"`

	DurationMs       int64 `json:"durationMs,omitempty"`
	PromptTokens     int   `json:"promptTokens,omitempty"`
	CompletionTokens int   `json:"completionTokens,omitempty"`
	Considered       int   `json:"considered,omitempty"`
	Changed          int   `json:"changed,omitempty"`
	Skipped          int   `json:"skipped,omitempty"`
	// Missed is how many events, of any type, are not shown; zero in a [Missed] event: it
	// is not known.
	Missed uint64 `json:"missed,omitempty"`
}

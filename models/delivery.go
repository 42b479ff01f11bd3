package models

import "time"

// DeliveryState says how far an outgoing message is.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliverySending   DeliveryState = "sending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed" // refused for good
	DeliveryDead      DeliveryState = "dead"   // given up
)

// Valid reports whether s is one of the states.
func (s DeliveryState) Valid() bool {
	switch s {
	case DeliveryPending, DeliverySending, DeliveryDelivered, DeliveryFailed, DeliveryDead:
		return true
	}
	return false
}

// Target is where an outgoing message goes. It is fixed when the message that
// it answers is accepted.
type Target struct {
	ChatID   string `json:"chatId"`
	UserID   string `json:"userId"`
	ThreadID string `json:"threadId"`
	// ReplyTo is the platform's id of the message that is answered; empty for pushes.
	ReplyTo string `json:"replyTo"`
	// Direct is set for a direct chat.
	Direct bool `json:"-"`
	// Ref is the adapter's own data about how to reply, opaque to all others.
	Ref []byte `json:"-"`
}

// DeliveryKind says what an outgoing text is.
type DeliveryKind string

// The kinds of deliveries.
const (
	DeliveryAnswer  DeliveryKind = "answer"  // an agent's answer, or a command's
	DeliveryNotice  DeliveryKind = "notice"  // a short text of the gateway itself
	DeliveryPush    DeliveryKind = "push"    // from outside, or from a task
	DeliveryPreview DeliveryKind = "preview" // nothing to say, but an open stream card must be closed
)

// Delivery is one outgoing message: one send on the platform.
type Delivery struct {
	ID                string        `json:"id"`
	InboundID         string        `json:"inboundId"`
	SessionKey        string        `json:"sessionKey"`
	Channel           string        `json:"channel"`
	Account           string        `json:"account"`
	Target            Target        `json:"target"`
	Text              string        `json:"text"`
	State             DeliveryState `json:"state"`
	Attempts          int           `json:"attempts"`
	NextAttemptAt     *time.Time    `json:"nextAttemptAt"`
	Error             string        `json:"error"`
	PlatformMessageID string        `json:"platformMessageId"`
	CreatedAt         time.Time     `json:"createdAt"`
	DeliveredAt       *time.Time    `json:"deliveredAt"`

	Kind DeliveryKind `json:"-"`
	// Seq is the delivery's place in its target's order.
	Seq int64 `json:"-"`
	// Part and Parts number the pieces of one answer, from 1.
	Part  int `json:"-"`
	Parts int `json:"-"`
	// Files are attachments of the answer: URLs, data URLs or platform keys.
	Files []string `json:"-"`
	// Buttons are below the text, where the platform has them.
	Buttons []Button `json:"-"`
	// Observed, where the text is to be remembered, is the payload of the observed message
	// that it becomes once it is delivered. Nil: it becomes a message of the session.
	Observed []byte `json:"-"`
	// FirstSentAt is when the first attempt began; the platform's idempotency window counts from it. Zero: never tried.
	FirstSentAt time.Time `json:"-"`
	// Ambiguous is set once an attempt ended without the platform's answer: it may have been sent.
	Ambiguous bool `json:"-"`
	// QueuedAt is when it was last put in line: made, or retried by hand. Its age counts from it.
	QueuedAt time.Time `json:"-"`
	// Preview is the id of the stream card that this delivery finishes; empty if there is none.
	Preview string `json:"-"`
	// Trace is the place in a trace that sending it continues, as a traceparent; empty: none.
	Trace string `json:"-"`
}

// Preview is a stream card: a message that shows an answer while it grows.
type Preview struct {
	// ID is derived from the inbound message, so that a second attempt finds it.
	ID         string
	InboundID  string
	SessionKey string
	Channel    string
	Account    string
	Target     Target
	// State is the adapter's own data (entity id, uuid, sequence), opaque to all others.
	State []byte
	// Shown is set once the card may be visible in the chat.
	Shown     bool
	CreatedAt time.Time
}

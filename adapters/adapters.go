package adapters

import (
	"context"
	"net/http"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Adapter connects one bot account of one platform.
type Adapter interface {
	// Channel and Account name the adapter, e.g. "feishu" and "main".
	Channel() string
	Account() string
	// Run receives until ctx ends, feeding the sink. It outlives outages of the
	// platform, at start too; it returns nil after ctx ended and an error only for
	// what an operator must mend. It leaves no goroutine behind.
	Run(ctx context.Context, sink Sink) error
	// Render turns an answer into the pieces that are sent one by one, each within
	// the platform's limits once encoded. It is a pure function of the answer.
	// An empty answer has no pieces.
	Render(answer Answer) []string
	// Send sends one piece. The delivery's id is the idempotency key: every attempt
	// uses the same. It fails with a [*SendError].
	Send(ctx context.Context, d *models.Delivery) (Sent, error)
	// Status tells how the connection is.
	Status() Status
	// Traits are facts about the platform that do not change.
	Traits() Traits
}

// Answer is what an agent, a command or the gateway has to say.
type Answer struct {
	// Text is Markdown.
	Text   string
	Target models.Target
	// MentionID is the person to mention at the start; empty for nobody.
	MentionID string
	Kind      models.DeliveryKind
}

// Sent is what the platform said of a message that it took.
type Sent struct {
	// PlatformMessageID is the platform's id; an adapter that gets none makes one.
	PlatformMessageID string
	// Ambiguous is set when the platform may hold the message twice.
	Ambiguous bool
}

// Traits are a platform's fixed properties.
type Traits struct {
	// IdempotencyWindow is how long the platform recognises a repeated send; zero: it cannot.
	IdempotencyWindow time.Duration
	// OrderWindow is how long to wait for frames that the transport may have
	// shuffled before the next turn of a chat starts; zero: arrival order is right.
	OrderWindow time.Duration
	// Streams is set if the adapter implements [Streamer] for this account.
	Streams bool
}

// Status is what readiness and the admin API show of a connection.
type Status struct {
	Mode        string
	Connected   bool
	ConnectedAt time.Time // zero if not connected
	LastEventAt time.Time // zero if none yet
	Error       string    // one line, empty if all is well
}

// Sink takes what a platform sends. Every method returns only after the event is
// durably stored; the adapter acknowledges to the platform after a nil error and
// never after another one.
type Sink interface {
	// Accept stores a message. A duplicate is not an error.
	Accept(ctx context.Context, m *Message) error
	// Notify stores and handles anything else that happened. A duplicate is not an error.
	Notify(ctx context.Context, e *Event) error
}

// ChatType is the kind of chat a message was written in.
type ChatType string

// The kinds of chats.
const (
	Direct ChatType = "direct"
	Group  ChatType = "group"
)

// Message is one decoded message of a platform, before anything was fetched for
// it. It is stored as JSON with the inbound row: every field must survive that.
type Message struct {
	// EventID is the platform's id of this delivery of the message; may be empty.
	EventID string `json:"eventId,omitempty"`
	// ID is the platform's id of the message itself, the same on every redelivery.
	ID     string `json:"id"`
	Chat   Chat   `json:"chat"`
	Sender Sender `json:"sender"`
	// Mentioned is set if the bot itself was addressed (always in a direct chat).
	Mentioned bool `json:"mentioned"`
	// Text is the message in Markdown, mentions resolved, the bot's own removed.
	Text string `json:"text"`
	// Quote is the message that this one answers, as far as it is known.
	Quote *Quote `json:"quote,omitempty"`
	// Attachments are pictures and files; they are fetched by a [MediaFetcher].
	Attachments []Attachment `json:"attachments,omitempty"`
	// Unsupported is set when the message holds nothing that an agent could use
	// (a sticker, an unknown type); Text then says what it was.
	Unsupported bool `json:"unsupported,omitempty"`
	// SentAt is the platform's time of the message.
	SentAt time.Time `json:"sentAt"`
	// Ref is the adapter's own data about how to reply; it becomes [models.Target].Ref.
	// Secrets in it must be encrypted by the adapter.
	Ref []byte `json:"ref,omitempty"`
	// RawType and Raw are the platform's own type and content, kept for audit and re-decoding.
	RawType string `json:"rawType,omitempty"`
	Raw     []byte `json:"raw,omitempty"`
}

// Chat is where a message was written.
type Chat struct {
	ID   string   `json:"id"`
	Type ChatType `json:"type"`
	Name string   `json:"name,omitempty"`
	// ThreadID is the thread or topic; empty outside threads.
	ThreadID string `json:"threadId,omitempty"`
	// ThreadAliases are other ids that the same thread goes by (e.g. the id of its
	// first message), so that its first message and its replies share one session.
	ThreadAliases []string `json:"threadAliases,omitempty"`
	// ThreadOf is the platform id of the message that the thread grew out of, if any.
	ThreadOf string `json:"threadOf,omitempty"`
}

// Sender is who wrote a message.
type Sender struct {
	// ID is what session keys, access lists and limits use.
	ID string `json:"id"`
	// AltIDs are other ids of the same person that access lists may name.
	AltIDs []string `json:"altIds,omitempty"`
	Name   string   `json:"name,omitempty"`
	// IsBot is set for other bots and apps. An adapter drops its own messages.
	IsBot bool `json:"isBot,omitempty"`
}

// Quote is a message that is answered or forwarded.
type Quote struct {
	MessageID string `json:"messageId,omitempty"`
	// SenderID is one of the ids of whoever wrote it; empty if it is not known.
	SenderID   string `json:"senderId,omitempty"`
	SenderName string `json:"senderName,omitempty"`
	// Text is empty until fetched.
	Text string `json:"text,omitempty"`
	// FromBot is set if the bot itself wrote it.
	FromBot bool `json:"fromBot,omitempty"`
}

// AttachmentKind says what an attachment is.
type AttachmentKind string

// The kinds of attachments.
const (
	Image AttachmentKind = "image"
	File  AttachmentKind = "file"
	Audio AttachmentKind = "audio"
	Video AttachmentKind = "video"
)

// Attachment is a picture or file of a message, not fetched yet.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	// Key is what the adapter fetches it by.
	Key  string `json:"key"`
	Name string `json:"name,omitempty"`
	// Size is in bytes, zero if unknown.
	Size int64 `json:"size,omitempty"`
	// Text is what was recognised in it (speech), if the platform says.
	Text string `json:"text,omitempty"`
	// Quoted is set if it belongs to the quote, not to the message itself.
	Quoted bool `json:"quoted,omitempty"`
}

// EventKind says what happened besides a message.
type EventKind string

// The kinds of events.
const (
	Recalled     EventKind = "recalled"     // MessageID was withdrawn
	BotAdded     EventKind = "bot_added"    // to Chat, by Sender
	BotRemoved   EventKind = "bot_removed"  // from Chat
	ChatGone     EventKind = "chat_gone"    // Chat was disbanded
	ChatEntered  EventKind = "chat_entered" // Sender opened the direct chat
	Reacted      EventKind = "reacted"      // Sender reacted to MessageID with Value
	Unreacted    EventKind = "unreacted"    // Sender took the reaction back
	ActionStop   EventKind = "action_stop"  // Sender pressed Stop on the card of InboundID
	ActionButton EventKind = "action"       // Sender pressed another button; Value is its value
	QuotaNotice  EventKind = "quota"        // the platform says that a quota is used up; Value tells
)

// Event is anything that happened besides a message.
type Event struct {
	// ID is the platform's id of the event, the same on every redelivery.
	ID        string
	Kind      EventKind
	Chat      Chat
	Sender    Sender
	MessageID string
	// InboundID is set by actions on the bot's own cards.
	InboundID string
	Value     string
	At        time.Time
}

// Webhook is implemented by adapters that receive over HTTP. The handler answers
// the request whole: it verifies, feeds the sink given to Run, and writes the status.
type Webhook interface {
	ServeWebhook(w http.ResponseWriter, r *http.Request)
}

// Enricher is implemented by adapters that can learn more about a message by
// asking the platform: names, quoted text, forwarded messages. It is called from
// a worker, long after the acknowledgement, and changes m in place. An error
// means that the message is as good as it gets; it is logged, not fatal.
type Enricher interface {
	Enrich(ctx context.Context, m *Message) error
}

// MediaFetcher is implemented by adapters that can fetch attachments.
type MediaFetcher interface {
	// Fetch returns at most limit bytes; more is [ErrTooLarge].
	Fetch(ctx context.Context, m *Message, a Attachment, limit int64) (*Media, error)
}

// Media is a fetched attachment.
type Media struct {
	ContentType string
	Name        string
	Data        []byte
}

// WorkingSign is implemented by adapters that can show that the bot is busy with
// a message. Both calls are best effort and safe to repeat.
type WorkingSign interface {
	// ShowWorking returns what HideWorking needs; it is stored with the inbound row.
	ShowWorking(ctx context.Context, m *Message) (sign string, err error)
	HideWorking(ctx context.Context, m *Message, sign string) error
}

// Streamer is implemented by adapters that can show an answer while it grows.
// The order of calls is Open, Show, any number of Update, Finish. p.State is the
// adapter's; the gateway stores it after every call that changes it and before
// the next call. One goroutine at a time works on a preview.
type Streamer interface {
	// OpenPreview makes the platform's entity, still invisible, and fills p.State
	// with everything that is needed to find and finish it after a crash.
	OpenPreview(ctx context.Context, p *models.Preview) error
	// ShowPreview makes it visible in the chat. Repeating it shows it once.
	ShowPreview(ctx context.Context, p *models.Preview) error
	// UpdatePreview replaces the text that is shown. The adapter paces itself: a
	// call too early returns at once and the text is dropped, which is not an error.
	UpdatePreview(ctx context.Context, p *models.Preview, text string) error
	// FinishPreview makes d.Text the final text of the card (d.Kind
	// [models.DeliveryPreview]: closes it with what it shows). It fails with a
	// [*SendError] of kind [Gone] if the card cannot hold it any more: the text is
	// then sent as an ordinary message.
	FinishPreview(ctx context.Context, p *models.Preview, d *models.Delivery) (Sent, error)
}

// Checker is implemented by adapters that can check credentials and permissions,
// for `chatkeep doctor`. Each finding is one line, what is well beginning with
// "ok: "; an error means that the check
// itself could not be made.
type Checker interface {
	Check(ctx context.Context) (findings []string, err error)
}

package feishu

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// envelope is an event as it comes over either transport, decrypted.
type envelope struct {
	Type      string          `json:"type"` // url_verification
	Challenge string          `json:"challenge"`
	Token     string          `json:"token"`
	Header    eventHeader     `json:"header"`
	Event     json.RawMessage `json:"event"`
}

type eventHeader struct {
	EventID    string `json:"event_id"`
	EventType  string `json:"event_type"`
	CreateTime millis `json:"create_time"`
	Token      string `json:"token"`
	AppID      string `json:"app_id"`
	TenantKey  string `json:"tenant_key"`
}

// token returns the verification token of an event or URL check.
func (e *envelope) token() string {
	if e.Header.Token != "" {
		return e.Header.Token
	}
	return e.Token
}

var errNoEvent = errors.New("not an event")

func parseEnvelope(payload []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, errNoEvent
	}
	return &e, nil
}

// The events that the adapter acts on, and those that it takes without acting:
// over the long connection a subscribed event without a handler is refused and
// comes again.
const (
	eventMessage     = "im.message.receive_v1"
	eventRecalled    = "im.message.recalled_v1"
	eventReacted     = "im.message.reaction.created_v1"
	eventUnreacted   = "im.message.reaction.deleted_v1"
	eventBotAdded    = "im.chat.member.bot.added_v1"
	eventBotRemoved  = "im.chat.member.bot.deleted_v1"
	eventDisbanded   = "im.chat.disbanded_v1"
	eventChatUpdated = "im.chat.updated_v1"
	eventEntered     = "im.chat.access_event.bot_p2p_chat_entered_v1"
	eventCardAction  = "card.action.trigger"
)

var ignoredEvents = []string{
	"im.message.message_read_v1",
	"im.chat.member.user.added_v1",
	"im.chat.member.user.deleted_v1",
	"im.chat.member.user.withdrawn_v1",
	"application.bot.menu_v6",
	"p2p_chat_create",
	"im.message.updated_v1",
	"im.message.bot_muted_v1",
}

var handledEvents = []string{
	eventMessage, eventRecalled, eventReacted, eventUnreacted, eventBotAdded,
	eventBotRemoved, eventDisbanded, eventChatUpdated, eventEntered,
}

// userID holds the ids of one person or bot.
type userID struct {
	OpenID  string `json:"open_id"`
	UserID  string `json:"user_id"`
	UnionID string `json:"union_id"`
}

// mention is one "@" of a message.
type mention struct {
	Key  string `json:"key"`
	ID   userID `json:"id"`
	Name string `json:"name"`
}

type messageEvent struct {
	Sender struct {
		SenderID   userID `json:"sender_id"`
		SenderType string `json:"sender_type"`
	} `json:"sender"`
	Message struct {
		MessageID   string    `json:"message_id"`
		RootID      string    `json:"root_id"`
		ParentID    string    `json:"parent_id"`
		CreateTime  millis    `json:"create_time"`
		ChatID      string    `json:"chat_id"`
		ThreadID    string    `json:"thread_id"`
		ChatType    string    `json:"chat_type"`
		MessageType string    `json:"message_type"`
		Content     string    `json:"content"`
		Mentions    []mention `json:"mentions"`
	} `json:"message"`
}

type recalledEvent struct {
	MessageID  string `json:"message_id"`
	ChatID     string `json:"chat_id"`
	RecallTime millis `json:"recall_time"`
}

type reactionEvent struct {
	MessageID    string `json:"message_id"`
	ReactionType struct {
		EmojiType string `json:"emoji_type"`
	} `json:"reaction_type"`
	OperatorType string `json:"operator_type"` // user or app
	UserID       userID `json:"user_id"`
	ActionTime   millis `json:"action_time"`
}

type chatEvent struct {
	ChatID     string `json:"chat_id"`
	OperatorID userID `json:"operator_id"`
	Name       string `json:"name"`
}

type cardEvent struct {
	Operator userID `json:"operator"`
	Token    string `json:"token"`
	Action   struct {
		Value json.RawMessage `json:"value"`
		Tag   string          `json:"tag"`
	} `json:"action"`
	Context struct {
		OpenMessageID string `json:"open_message_id"`
		OpenChatID    string `json:"open_chat_id"`
	} `json:"context"`
}

// millis is a time in milliseconds, a decimal string or a number on the wire;
// anything else is the zero time.
type millis struct{ time.Time }

// UnmarshalJSON never fails: a strange time must not cost the message.
func (m *millis) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < 1<<53 {
		m.Time = time.UnixMilli(n).UTC()
	}
	return nil
}

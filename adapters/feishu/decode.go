package feishu

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// errOwnMessage marks a message of the bot itself, which is dropped.
var errOwnMessage = errors.New("the bot's own message")

// parseMessage reads an event as far as it can: a field of a strange type stays
// empty, but a message without ids is refused.
func parseMessage(event json.RawMessage) (*messageEvent, error) {
	var e messageEvent
	var strange *json.UnmarshalTypeError
	if err := json.Unmarshal(event, &e); err != nil && !errors.As(err, &strange) {
		return nil, fmt.Errorf("decode message: %w", errNoEvent)
	}
	for _, id := range []string{e.Message.MessageID, e.Message.ChatID, e.Sender.SenderID.id()} {
		if id == "" || len(id) > models.MaxForeignID {
			return nil, fmt.Errorf("decode message: no usable message, chat or sender id: %w", errNoEvent)
		}
	}
	return &e, nil
}

// id returns the id that sessions and access lists use.
func (u userID) id() string {
	for _, id := range []string{u.OpenID, u.UnionID, u.UserID} {
		if id != "" {
			return id
		}
	}
	return ""
}

func (u userID) others() []string {
	var ids []string
	for _, id := range []string{u.UserID, u.UnionID} {
		if id != "" && id != u.id() {
			ids = append(ids, id)
		}
	}
	return ids
}

// direct reports whether the message is from a direct chat. Every other type,
// known or not, counts as a group.
func (e *messageEvent) direct() bool { return e.Message.ChatType == "p2p" }

// needsTopic reports whether the event alone does not tell if it is part of a topic.
func (e *messageEvent) needsTopic() bool {
	return !e.direct() && e.Message.ThreadID == "" && e.Message.ChatType != "topic_group"
}

// decodeMessage turns an event into a message. self is the bot's open_id, empty
// while unknown; topic tells that the chat consists of topics.
func decodeMessage(eventID string, e *messageEvent, self string, topic bool) (*adapters.Message, error) {
	if self != "" && e.Sender.SenderID.OpenID == self {
		return nil, errOwnMessage
	}
	topic = topic || e.Message.ChatType == "topic_group"
	at := newMentions(e.Message.Mentions, self)
	b := decodeContent(e.Message.MessageType, e.Message.Content, at)
	m := &adapters.Message{
		EventID: eventID,
		ID:      e.Message.MessageID,
		Chat:    adapters.Chat{ID: e.Message.ChatID, Type: adapters.Group},
		Sender: adapters.Sender{
			ID:     e.Sender.SenderID.id(),
			AltIDs: e.Sender.SenderID.others(),
			IsBot:  e.Sender.SenderType == "bot" || e.Sender.SenderType == "app",
		},
		Mentioned:   at.self,
		Text:        b.text,
		Attachments: b.attachments,
		Unsupported: b.unsupported,
		SentAt:      e.Message.CreateTime.Time,
		RawType:     e.Message.MessageType,
		Raw:         []byte(e.Message.Content),
	}
	if e.direct() {
		m.Chat.Type = adapters.Direct
		m.Mentioned = true
	}
	e.thread(&m.Chat, topic)
	// In a thread every message answers the root; that is no quote.
	if parent := e.Message.ParentID; parent != "" && (m.Chat.ThreadID == "" || parent != e.Message.RootID) {
		m.Quote = &adapters.Quote{MessageID: parent}
	}
	return m, nil
}

// thread says which thread a message is in. A root id alone is no thread: an
// ordinary quote in an ordinary group has one too.
func (e *messageEvent) thread(chat *adapters.Chat, topic bool) {
	msg := e.Message
	switch {
	case msg.ThreadID != "":
		chat.ThreadID = msg.ThreadID
	case topic && msg.RootID != "":
		chat.ThreadID = msg.RootID
	case topic:
		chat.ThreadID = msg.MessageID
	default:
		return
	}
	first := msg.RootID
	if first == "" {
		first = msg.MessageID
	}
	for _, id := range []string{first, msg.ThreadID} {
		if id != "" && id != chat.ThreadID {
			chat.ThreadAliases = append(chat.ThreadAliases, id)
		}
	}
	if msg.RootID != "" {
		chat.ThreadOf = msg.RootID
	}
}

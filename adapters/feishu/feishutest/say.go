package feishutest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Said is what a person (or another bot) writes.
type Said struct {
	ChatID string
	// Kind is the kind of chat if it is not known yet; empty: P2P.
	Kind ChatKind
	From string // open_id; empty: "ou_person"
	// FromBot makes the sender another bot.
	FromBot bool
	Text    string
	// Mention puts the bot at the start of the text, MentionAll everybody.
	Mention, MentionAll bool
	// Others are open_ids of people who are mentioned at the end of the text.
	Others []string
	// ReplyTo is the message that is answered. In a topic it continues the topic.
	ReplyTo string
	// InThread answers in a thread.
	InThread bool
	// Type and Content replace Text by any content, e.g. "image" and {"image_key":"…"}.
	Type, Content string
	// Forwarded are messages that a merge_forward holds.
	Forwarded []Said

	// MessageID and EventID are made up if empty, At is now if zero.
	MessageID, EventID string
	At                 time.Time
	// Quiet stores the message without pushing it, as the platform does with messages
	// that the app may not read.
	Quiet bool
	// WithoutThreadID leaves the thread's id out of the event, as some clients cause it.
	WithoutThreadID bool
}

type eventMention struct {
	Key string `json:"key"`
	ID  ids    `json:"id"`

	MentionedType string `json:"mentioned_type,omitempty"`
	Name          string `json:"name"`
	TenantKey     string `json:"tenant_key"`
}

type ids struct {
	OpenID  string `json:"open_id"`
	UserID  string `json:"user_id,omitempty"`
	UnionID string `json:"union_id,omitempty"`
}

const tenantKey = "tenant_simulated"

// Say writes a message and pushes it to the app. It returns the message's id.
func (s *Server) Say(said Said) string {
	s.mu.Lock()
	m := s.write(said)
	event := s.messageEvent(m, said)
	s.mu.Unlock()
	if !said.Quiet {
		s.pushEvent("im.message.receive_v1", said.EventID, m.id, event)
	}
	return m.id
}

// write stores a message of a person; s.mu is held.
func (s *Server) write(said Said) *message {
	if said.From == "" {
		said.From = "ou_person"
	}
	c := s.chats[said.ChatID]
	if c == nil {
		kind := said.Kind
		if kind == "" {
			kind = P2P
		}
		c = &chat{id: said.ChatID, kind: kind, name: said.ChatID}
		s.chats[c.id] = c
	}
	m := s.compose(said)
	m.chatID = c.id
	if known := s.messages[m.id]; known != nil {
		return known
	}
	s.place(c, m, s.messages[said.ReplyTo], said.InThread)
	return m
}

func (s *Server) compose(said Said) *message {
	m := &message{
		id: said.MessageID, sender: said.From, senderType: "user", msgType: said.Type, content: said.Content, createdAt: said.At,
	}
	if m.id == "" {
		m.id = s.id("om")
	}
	if said.FromBot {
		m.senderType = "app"
	}
	if m.createdAt.IsZero() {
		m.createdAt = s.clock.Now()
	}
	text := said.Text
	if said.Mention {
		m.mentions = append(m.mentions, eventMention{
			Key: "@_user_1", ID: ids{OpenID: BotOpenID}, MentionedType: "bot", Name: s.opts.BotName, TenantKey: tenantKey,
		})
		text = "@_user_1 " + text
	}
	if said.MentionAll {
		m.mentions = append(m.mentions, eventMention{Key: "@_all"})
		text = "@_all " + text
	}
	for _, other := range said.Others {
		at := eventMention{Key: fmt.Sprintf("@_user_%d", len(m.mentions)+1), ID: s.ids(other), MentionedType: "user", Name: s.user(other).Name, TenantKey: tenantKey}
		m.mentions = append(m.mentions, at)
		text += " " + at.Key
	}
	if m.msgType == "" {
		content, _ := json.Marshal(map[string]string{"text": text}) // strings cannot fail
		m.msgType, m.content = "text", string(content)
	}
	if said.Forwarded != nil {
		m.msgType, m.content = "merge_forward", "Merged and Forwarded Message"
		for _, inner := range said.Forwarded {
			if inner.From == "" {
				inner.From = "ou_person"
			}
			child := s.compose(inner)
			child.upperID = m.id
			s.messages[child.id] = child
			m.children = append(m.children, child.id)
		}
	}
	return m
}

func (s *Server) ids(openID string) ids {
	u := s.user(openID)
	return ids{OpenID: u.OpenID, UserID: u.UserID, UnionID: u.UnionID}
}

func (s *Server) messageEvent(m *message, said Said) map[string]any {
	c := s.chats[m.chatID]
	chatType := "group"
	if c.kind == P2P {
		chatType = "p2p"
	}
	msg := map[string]any{
		"message_id": m.id, "chat_id": m.chatID, "chat_type": chatType, "message_type": m.msgType,
		"content": m.content, "create_time": millis(m.createdAt), "update_time": millis(m.createdAt),
	}
	if m.parentID != "" {
		msg["parent_id"], msg["root_id"] = m.parentID, m.rootID
		if m.threadID != "" && m.parentID != m.rootID && said.InThread {
			msg["parent_id"] = m.rootID
		}
	}
	if m.threadID != "" && !said.WithoutThreadID {
		msg["thread_id"] = m.threadID
	}
	if len(m.mentions) > 0 {
		msg["mentions"] = m.mentions
	}
	return map[string]any{
		"sender":  map[string]any{"sender_id": s.ids(m.sender), "sender_type": m.senderType, "tenant_key": tenantKey},
		"message": msg,
	}
}

// Redeliver pushes a message again under another event id.
func (s *Server) Redeliver(messageID string) {
	s.mu.Lock()
	m := s.messages[messageID]
	if m == nil {
		s.mu.Unlock()
		return
	}
	event := s.messageEvent(m, Said{})
	s.mu.Unlock()
	s.pushEvent("im.message.receive_v1", "", messageID, event)
}

// Recall withdraws a message.
func (s *Server) Recall(messageID string) {
	s.mu.Lock()
	chatID := ""
	if m := s.messages[messageID]; m != nil {
		m.recalled, chatID = true, m.chatID
	}
	now := millis(s.clock.Now())
	s.touchLocked()
	s.mu.Unlock()
	s.pushEvent("im.message.recalled_v1", "", "", map[string]any{
		"message_id": messageID, "chat_id": chatID, "recall_time": now, "recall_type": "message_owner",
	})
}

// React adds a person's reaction to a message.
func (s *Server) React(messageID, openID, emoji string) {
	s.mu.Lock()
	if m := s.messages[messageID]; m != nil {
		m.reactions = append(m.reactions, Reaction{ID: s.id("reaction"), Emoji: emoji, By: openID})
	}
	event := map[string]any{
		"message_id": messageID, "reaction_type": map[string]any{"emoji_type": emoji},
		"operator_type": "user", "user_id": s.ids(openID), "action_time": millis(s.clock.Now()),
	}
	s.touchLocked()
	s.mu.Unlock()
	s.pushEvent("im.message.reaction.created_v1", "", "", event)
}

// AddBot puts the bot into a group.
func (s *Server) AddBot(chatID, name, by string) {
	s.mu.Lock()
	c := s.chats[chatID]
	if c == nil {
		c = &chat{id: chatID, kind: Group}
		s.chats[chatID] = c
	}
	c.name, c.absent = name, false
	s.mu.Unlock()
	s.chatEvent("im.chat.member.bot.added_v1", chatID, by)
}

// RemoveBot takes the bot out of a group.
func (s *Server) RemoveBot(chatID, by string) {
	s.setChat(chatID, func(c *chat) { c.absent = true })
	s.chatEvent("im.chat.member.bot.deleted_v1", chatID, by)
}

// Disband ends a group.
func (s *Server) Disband(chatID, by string) {
	s.setChat(chatID, func(c *chat) { c.gone = true })
	s.chatEvent("im.chat.disbanded_v1", chatID, by)
}

// SetKind changes what a chat is.
func (s *Server) SetKind(chatID string, kind ChatKind, by string) {
	s.setChat(chatID, func(c *chat) { c.kind = kind })
	s.chatEvent("im.chat.updated_v1", chatID, by)
}

// Enter opens the direct chat with the bot.
func (s *Server) Enter(chatID, by string) {
	s.chatEvent("im.chat.access_event.bot_p2p_chat_entered_v1", chatID, by)
}

func (s *Server) setChat(id string, change func(*chat)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[id]; c != nil {
		change(c)
		s.touchLocked()
	}
}

func (s *Server) chatEvent(eventType, chatID, by string) {
	s.mu.Lock()
	name := ""
	if c := s.chats[chatID]; c != nil {
		name = c.name
	}
	event := map[string]any{"chat_id": chatID, "operator_id": s.ids(by), "name": name, "external": false}
	s.mu.Unlock()
	s.pushEvent(eventType, "", "", event)
}

// Toast is what a person sees after pressing a button.
type Toast struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// Press presses the button of a card whose label contains the given text, and
// waits at most 3 s for the answer, as the platform does.
func (s *Server) Press(messageID, openID, label string) (Toast, error) {
	s.mu.Lock()
	var value json.RawMessage
	found := false
	m := s.messages[messageID]
	if m != nil {
		for _, b := range s.view(m).Buttons {
			if strings.Contains(b.Label, label) {
				value, found = b.Value, true
			}
		}
	}
	if !found {
		s.mu.Unlock()
		return Toast{}, fmt.Errorf("feishutest: message %s has no button %q", messageID, label)
	}
	event := map[string]any{
		"operator": s.ids(openID), "token": s.id("c-token"), "host": "im_message",
		"action":  map[string]any{"value": value, "tag": "button"},
		"context": map[string]any{"open_message_id": messageID, "open_chat_id": m.chatID},
	}
	s.mu.Unlock()
	answer, err := s.callback("card.action.trigger", event)
	if err != nil {
		return Toast{}, err
	}
	var body struct {
		Toast Toast `json:"toast"`
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return Toast{}, fmt.Errorf("feishutest: error 200672: the answer to the button is not JSON: %w", err)
	}
	return body.Toast, nil
}

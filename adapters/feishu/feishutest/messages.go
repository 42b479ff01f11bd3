package feishutest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type sendRequest struct {
	ReceiveID     string `json:"receive_id"`
	MsgType       string `json:"msg_type"`
	Content       string `json:"content"`
	UUID          string `json:"uuid"`
	ReplyInThread bool   `json:"reply_in_thread"`
}

func (s *Server) postMessage(r *http.Request) reply {
	req := body[sendRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.receiver(r.URL.Query().Get("receive_id_type"), req.ReceiveID)
	if c == nil {
		return refuse(230001, "invalid receive_id")
	}
	return s.send(c, nil, req)
}

// receiver finds the chat that a message goes to; a person's is made if need be.
func (s *Server) receiver(idType, id string) *chat {
	if idType == "chat_id" {
		return s.chats[id]
	}
	if idType != "open_id" || !strings.HasPrefix(id, "ou_") {
		return nil
	}
	chatID := "oc_p2p_" + id
	if s.chats[chatID] == nil {
		s.chats[chatID] = &chat{id: chatID, kind: P2P}
	}
	return s.chats[chatID]
}

func (s *Server) postReply(r *http.Request) reply {
	req := body[sendRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.messages[r.PathValue("id")]
	switch {
	case parent == nil:
		return refuse(231003, "The message is not found")
	case parent.recalled:
		return refuse(230011, "The message has been recalled")
	}
	return s.send(s.chats[parent.chatID], parent, req)
}

// send takes a message of the bot; s.mu is held.
func (s *Server) send(c *chat, parent *message, req sendRequest) reply {
	switch {
	case c.gone:
		return refuse(230045, "The chat is disbanded")
	case c.absent:
		return refuse(230002, "The bot can not be outside the group")
	case len(req.UUID) > maxUUID:
		return refuse(230001, "uuid is too long")
	}
	now := s.clock.Now()
	if once, ok := s.uuids[req.UUID]; ok && req.UUID != "" && now.Sub(once.at) < uuidWindow {
		return reply{Data: s.described(s.messages[once.messageID])}
	}
	if s.tooFast(c.id, now) {
		return refuse(230020, "This operation triggers the frequency limit")
	}
	cardID, refused := s.checkContent(req)
	if refused.Code != 0 {
		return refused
	}
	m := &message{
		id: s.id("om"), chatID: c.id, msgType: req.MsgType, content: req.Content,
		sender: BotOpenID, senderType: "app", createdAt: now, cardID: cardID,
	}
	s.place(c, m, parent, req.ReplyInThread)
	if cardID != "" {
		s.cards[cardID].sentIn = m.id
	}
	if req.UUID != "" {
		s.uuids[req.UUID] = sentOnce{m.id, now}
	}
	return reply{Data: s.described(m)}
}

// place puts a message into its chat and thread; s.mu is held.
func (s *Server) place(c *chat, m, parent *message, inThread bool) {
	if parent != nil {
		m.parentID, m.rootID, m.threadID = parent.id, parent.id, parent.threadID
		if parent.rootID != "" {
			m.rootID = parent.rootID
		}
		if m.threadID == "" && inThread {
			m.threadID = "omt_" + strings.TrimPrefix(m.rootID, "om_")
			s.messages[m.rootID].threadID = m.threadID
		}
	}
	if c.kind == TopicGroup && m.threadID == "" {
		m.threadID = "omt_" + strings.TrimPrefix(m.id, "om_")
	}
	s.messages[m.id] = m
	c.order = append(c.order, m.id)
	s.touchLocked()
}

func (s *Server) described(m *message) map[string]any {
	data := map[string]any{
		"message_id": m.id, "root_id": m.rootID, "parent_id": m.parentID, "chat_id": m.chatID,
		"msg_type": m.msgType, "create_time": millis(m.createdAt), "deleted": m.recalled, "updated": false,
		"body":   map[string]any{"content": m.content},
		"sender": map[string]any{"id": m.sender, "id_type": "open_id", "sender_type": m.senderType},
	}
	if m.sender == BotOpenID {
		data["sender"] = map[string]any{"id": s.opts.AppID, "id_type": "app_id", "sender_type": "app"}
	}
	if m.threadID != "" {
		data["thread_id"] = m.threadID
	}
	if m.upperID != "" {
		data["upper_message_id"] = m.upperID
	}
	var mentions []map[string]any
	for _, at := range m.mentions {
		mentions = append(mentions, map[string]any{"key": at.Key, "id": at.ID.OpenID, "id_type": "open_id", "name": at.Name})
	}
	if mentions != nil {
		data["mentions"] = mentions
	}
	return data
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func (s *Server) tooFast(chatID string, now time.Time) bool {
	if s.opts.ChatQPS == 0 {
		return false
	}
	recent := slices.DeleteFunc(s.sends[chatID], func(at time.Time) bool { return now.Sub(at) >= time.Second })
	if len(recent) >= s.opts.ChatQPS {
		s.sends[chatID] = recent
		return true
	}
	s.sends[chatID] = append(recent, now)
	return false
}

// checkContent refuses what the platform would; a card entity's id is returned.
func (s *Server) checkContent(req sendRequest) (cardID string, refused reply) {
	encoded, err := json.Marshal(req.Content)
	if err != nil || !json.Valid([]byte(req.Content)) {
		return "", refuse(230001, "content is not a string in json format")
	}
	limit := maxTextBytes
	if req.MsgType == "post" || req.MsgType == "interactive" {
		limit = maxCardBytes
	}
	if len(encoded) > limit {
		return "", refuse(230025, "The length of the message content reaches its limit")
	}
	var fields struct {
		Text     *string `json:"text"`
		ImageKey string  `json:"image_key"`
		FileKey  string  `json:"file_key"`
		Type     string  `json:"type"`
		Data     struct {
			CardID string `json:"card_id"`
		} `json:"data"`
	}
	_ = json.Unmarshal([]byte(req.Content), &fields) // it is valid; strange types stay empty
	ok := false
	switch req.MsgType {
	case "text":
		ok = fields.Text != nil && strings.TrimSpace(*fields.Text) != ""
	case "post":
		ok = strings.TrimSpace(readable("post", req.Content)) != ""
	case "image":
		_, ok = s.blobs[fields.ImageKey]
	case "file", "audio", "media":
		_, ok = s.blobs[fields.FileKey]
	case "interactive":
		if fields.Type == "card" {
			c := s.cards[fields.Data.CardID]
			if c == nil || c.sentIn != "" {
				return "", refuse(230099, "Failed to create card content, ext=ErrCode: 11246; ErrMsg: card id is invalid or sent already")
			}
			return c.id, reply{}
		}
		var doc cardDoc
		if json.Unmarshal([]byte(req.Content), &doc) != nil {
			return "", refuse(230099, "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err")
		}
		return "", doc.check(req.Content)
	}
	if !ok {
		return "", refuse(230001, "Your request contains an invalid request parameter")
	}
	return "", reply{}
}

func (s *Server) getMessage(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	if m == nil {
		return refuse(231003, "The message is not found")
	}
	return reply{Data: map[string]any{"items": s.withChildren(m)}}
}

func (s *Server) withChildren(m *message) []map[string]any {
	items := []map[string]any{s.described(m)}
	for _, id := range m.children {
		items = append(items, s.withChildren(s.messages[id])...)
	}
	return items
}

func (s *Server) listMessages(r *http.Request) reply {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []map[string]any{}
	for _, c := range s.chats {
		for _, id := range c.order {
			m := s.messages[id]
			if q.Get("container_id_type") == "thread" && m.threadID == q.Get("container_id") || c.id == q.Get("container_id") {
				items = append(items, s.described(m))
			}
		}
	}
	return reply{Data: map[string]any{"items": items, "has_more": false}}
}

func (s *Server) patchMessage(r *http.Request) reply {
	req := body[sendRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	if m == nil || m.msgType != "interactive" || m.sender != BotOpenID {
		return refuse(230001, "This message is NOT a card")
	}
	var doc cardDoc
	if json.Unmarshal([]byte(req.Content), &doc) != nil {
		return refuse(230099, "parse card json err")
	}
	if refused := doc.check(req.Content); refused.Code != 0 {
		return refused
	}
	m.content = req.Content
	s.touchLocked()
	return reply{}
}

func (s *Server) putMessage(r *http.Request) reply {
	req := body[sendRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	if m == nil || m.sender != BotOpenID || m.msgType != "text" && m.msgType != "post" {
		return refuse(230001, "This message cannot be edited")
	}
	m.msgType, m.content = req.MsgType, req.Content
	s.touchLocked()
	return reply{}
}

func (s *Server) deleteMessage(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	if m == nil || m.sender != BotOpenID {
		return refuse(230026, "No permission to recall this message")
	}
	m.recalled = true
	s.touchLocked()
	return reply{}
}

func (s *Server) postReaction(r *http.Request) reply {
	req := body[struct {
		ReactionType struct {
			EmojiType string `json:"emoji_type"`
		} `json:"reaction_type"`
	}](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	switch {
	case m == nil:
		return refuse(231003, "The message is not found")
	case m.recalled:
		return refuse(230011, "The message has been recalled")
	case req.ReactionType.EmojiType == "":
		return refuse(231001, "reaction type is invalid")
	}
	reaction := Reaction{ID: s.id("reaction"), Emoji: req.ReactionType.EmojiType, By: BotOpenID}
	m.reactions = append(m.reactions, reaction)
	s.touchLocked()
	return reply{Data: map[string]any{"reaction_id": reaction.ID}}
}

func (s *Server) deleteReaction(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	if m == nil {
		return refuse(231003, "The message is not found")
	}
	before := len(m.reactions)
	m.reactions = slices.DeleteFunc(m.reactions, func(x Reaction) bool { return x.ID == r.PathValue("reaction") && x.By == BotOpenID })
	if len(m.reactions) == before {
		return refuse(231007, "The reaction is not found")
	}
	s.touchLocked()
	return reply{}
}

package dingtalktest

import (
	"fmt"
	"strings"
	"time"
)

// Limits of messages, in bytes.
const (
	maxWebhookBody = 20000
	maxMsgParam    = 15000
)

// session is what a session webhook stands for: one robot in one conversation.
type session struct {
	id      string
	chatID  string
	expires time.Time
	used    []time.Time
}

// newSession makes a session webhook. The caller holds mu.
func (s *Server) newSession(c *chat, now time.Time) *session {
	n := &session{id: fmt.Sprintf("sim%dsession", s.next()), chatID: c.ID, expires: now.Add(s.opts.WebhookTTL)}
	s.sessions[n.id] = n
	return n
}

// ExpireWebhooks ends all session webhooks, whatever their bodies said.
func (s *Server) ExpireWebhooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = map[string]*session{}
}

// sendBySession takes a message over a session webhook.
func (s *Server) sendBySession(r *request) {
	var in struct {
		MsgType  string `json:"msgtype"`
		Markdown struct {
			Title, Text string
		} `json:"markdown"`
		Text struct {
			Content string `json:"content"`
		} `json:"text"`
		At struct {
			AtUserIDs []string `json:"atUserIds"`
		} `json:"at"`
	}
	if !r.decode(&in) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	session := s.sessions[r.r.URL.Query().Get("session")]
	if session == nil || now.After(session.expires) {
		r.errcode(300001, "session not exist")
		return
	}
	if len(r.body) > maxWebhookBody {
		r.errcode(460101, "message too long")
		return
	}
	if s.tooMany(session, now) {
		r.errcode(130101, "send too fast, exceed 20 times per minute")
		return
	}
	m := Message{Via: ViaWebhook, Kind: in.MsgType, Title: in.Markdown.Title, Text: in.Markdown.Text}
	switch {
	case in.MsgType == "text" && in.Text.Content != "":
		m.Text = in.Text.Content
	case in.MsgType == "markdown" && in.Markdown.Title != "" && in.Markdown.Text != "":
	default:
		r.errcode(40035, "missing parameter")
		return
	}
	for _, id := range in.At.AtUserIDs {
		if strings.Contains(m.Text, "@"+id) { // else the mention has no effect
			m.At = append(m.At, id)
		}
	}
	s.show(s.chats[session.chatID], m)
	r.errcode(0, "ok")
}

func (s *Server) tooMany(session *session, now time.Time) bool {
	limit := s.opts.WebhooksPerMinute
	if limit == 0 {
		return false
	}
	used := 0
	for _, other := range s.sessions {
		if other.chatID != session.chatID {
			continue
		}
		for _, t := range other.used {
			if now.Sub(t) < time.Minute {
				used++
			}
		}
	}
	if used >= limit {
		return true
	}
	session.used = append(session.used, now)
	return false
}

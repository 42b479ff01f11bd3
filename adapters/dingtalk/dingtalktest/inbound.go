package dingtalktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Inbound is a message of a person to the robot.
type Inbound struct {
	// ID is the platform's id; empty: a fresh one.
	ID   string
	Chat string
	User string
	// Type is the msgtype; empty: "text".
	Type string
	// Text is the content of a text message; elsewhere what the simulator shows.
	Text string
	// Fields are more fields of the body, or other values of known ones. A nil
	// value removes a field.
	Fields map[string]json.RawMessage
	// NotMentioned leaves the robot out of a group message's mentions. The real
	// platform does not deliver such messages.
	NotMentioned bool
}

// delivery is a message on its way to the robot.
type delivery struct {
	id       string
	body     []byte
	attempts int
	acks     int
}

// Say makes a person write to the robot, in a group with a mention of it, and
// returns the message's id.
func (s *Server) Say(chatID, user, text string) string {
	return s.Send(Inbound{Chat: chatID, User: user, Text: text})
}

// Send delivers a message of any kind and returns its id.
func (s *Server) Send(in Inbound) string {
	s.mu.Lock()
	orDefault(&in.Type, "text")
	if in.ID == "" {
		in.ID = fmt.Sprintf("msgSim%d==", s.next())
	}
	c := s.chat(in.Chat, in.User)
	body := s.body(c, in)
	s.show(c, Message{ID: in.ID, Via: ViaUser, User: in.User, Kind: in.Type, Text: in.Text})
	s.deliveries[in.ID] = &delivery{id: in.ID, body: body}
	s.mu.Unlock()
	s.deliver(in.ID)
	return in.ID
}

// Push delivers a body as it is, whatever it holds, under a message id of its own.
func (s *Server) Push(id string, body []byte) {
	s.mu.Lock()
	s.deliveries[id] = &delivery{id: id, body: body}
	s.mu.Unlock()
	s.deliver(id)
}

// Redeliver delivers a message again: a new delivery of the same message.
func (s *Server) Redeliver(id string) { s.deliver(id) }

// body builds what the platform sends. The caller holds mu.
func (s *Server) body(c *chat, in Inbound) []byte {
	now := s.clock.Now()
	u := s.user(in.User)
	session := s.newSession(c, now)
	fields := map[string]any{
		"msgId": in.ID, "msgtype": in.Type, "createAt": now.UnixMilli(),
		"conversationId": c.ID, "conversationType": "1",
		"senderId": u.SenderID, "senderNick": u.Nick, "senderCorpId": "dingsimcorp", "senderPlatform": "Win", "isAdmin": false,
		"chatbotUserId": RobotID, "chatbotCorpId": "dingsimcorp", "robotCode": s.opts.ClientID,
		"sessionWebhook": s.URL() + "/robot/sendBySession?session=" + session.id, "sessionWebhookExpiredTime": session.expires.UnixMilli(),
		"openThreadId": c.ID,
	}
	if u.StaffID != "" {
		fields["senderStaffId"] = u.StaffID
	}
	text := in.Text
	if c.Group {
		fields["conversationType"], fields["conversationTitle"] = "2", c.Title
		fields["isInAtList"] = !in.NotMentioned
		if !in.NotMentioned {
			fields["atUsers"] = []map[string]string{{"dingtalkId": RobotID}}
			text = " " + text
		}
	}
	if in.Type == "text" {
		fields["text"] = map[string]string{"content": text}
	}
	for name, value := range in.Fields {
		if value == nil {
			delete(fields, name)
		} else {
			fields[name] = value
		}
	}
	data, err := json.Marshal(fields)
	if err != nil { // a field that is no JSON
		data, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return data
}

// deliver sends a message over the robot's transport.
func (s *Server) deliver(id string) {
	s.mu.Lock()
	d := s.deliveries[id]
	if d == nil || s.ctx.Err() != nil {
		s.mu.Unlock()
		return
	}
	d.attempts++
	attempt, target := d.attempts, s.target
	s.mu.Unlock()
	if target != "" {
		s.spawn(func() { s.post(target, d) })
	} else {
		s.stream(d)
	}
	if s.opts.RedeliverAfter > 0 && attempt <= 2 {
		s.spawn(func() { s.redeliverUnless(d) })
	}
}

func (s *Server) redeliverUnless(d *delivery) {
	t := s.clock.NewTimer(s.opts.RedeliverAfter)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
		return
	}
	s.mu.Lock()
	acked := d.acks > 0
	s.mu.Unlock()
	if !acked {
		s.deliver(d.id)
	}
}

// Ack is an answer of the robot to a delivery.
type Ack struct {
	// MessageID is the message's, not the delivery's.
	MessageID string    `json:"messageId"`
	Code      int       `json:"code"`
	Message   string    `json:"message"`
	Data      string    `json:"data"`
	At        time.Time `json:"at"`
}

// Acks returns the answers to a message's deliveries, oldest first.
func (s *Server) Acks(messageID string) []Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acks[messageID])
}

// Acked counts the messages with a positive answer.
func (s *Server) Acked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// acknowledge notes an answer. The caller holds mu.
func (s *Server) acknowledge(id string, a Ack) {
	a.MessageID, a.At = id, s.clock.Now()
	s.acks[id] = append(s.acks[id], a)
	if d := s.deliveries[id]; d != nil && a.Code == 200 {
		if d.acks++; d.acks == 1 {
			s.acked++
		}
	}
	s.notify()
}

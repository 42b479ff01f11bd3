package dingtalktest

import (
	"fmt"
	"slices"
	"time"
)

// User is a person on the platform.
type User struct {
	// StaffID is the person's id in the organisation; empty for people from outside.
	StaffID string `json:"staffId"`
	// SenderID is the opaque id; empty: made of the name that [Server.Say] uses.
	SenderID string `json:"senderId"`
	Nick     string `json:"nick"`
}

// Chat is a conversation with the robot.
type Chat struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Group bool   `json:"group"`
	// User names the person of a direct chat.
	User string `json:"user"`
}

// Via says which way a message came.
type Via string

// The ways.
const (
	ViaUser    Via = "user"
	ViaWebhook Via = "webhook" // session webhook
	ViaGroup   Via = "group"   // OpenAPI
	ViaDirect  Via = "direct"  // OpenAPI
	ViaCard    Via = "card"
)

// Message is a message as people see it.
type Message struct {
	ID     string `json:"id"`
	ChatID string `json:"chatId"`
	Via    Via    `json:"via"`
	User   string `json:"user"` // empty: the robot
	Kind   string `json:"kind"` // text, markdown, card, image, file, or the msgtype of what a person sent
	Title  string `json:"title"`
	// Text is what is readable; of a card what it shows now.
	Text string `json:"text"`
	// At are the staff ids that were really mentioned.
	At []string `json:"at"`
	// Emotions are what the robot put on the message.
	Emotions []string `json:"emotions"`
	// Card tells how a card is: processing, typing, done or failed. Empty: no card.
	Card   string    `json:"card"`
	SentAt time.Time `json:"sentAt"`
}

type chat struct {
	Chat
	messages []*Message
}

// RobotID is the robot's own opaque id.
const RobotID = "$:LWCP_v1:$simrobot"

// AddUser makes a person known under a name; an unknown name stands for a member
// of the organisation with that staff id.
func (s *Server) AddUser(name string, u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addUser(name, u)
}

func (s *Server) addUser(name string, u User) *User {
	if u.SenderID == "" {
		u.SenderID = "$:LWCP_v1:$" + name
	}
	if u.Nick == "" {
		u.Nick = name
	}
	s.users[name] = &u
	return &u
}

// user returns a person. The caller holds mu.
func (s *Server) user(name string) *User {
	if u := s.users[name]; u != nil {
		return u
	}
	return s.addUser(name, User{StaffID: name})
}

// AddChat makes a conversation known; an unknown id stands for a direct chat.
func (s *Server) AddChat(c Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addChat(c)
	s.notify()
}

func (s *Server) addChat(c Chat) *chat {
	if known := s.chats[c.ID]; known != nil {
		known.Chat = c
		return known
	}
	added := &chat{Chat: c}
	s.chats[c.ID] = added
	s.order = append(s.order, c.ID)
	return added
}

// chat returns a conversation. The caller holds mu.
func (s *Server) chat(id, user string) *chat {
	if c := s.chats[id]; c != nil {
		return c
	}
	return s.addChat(Chat{ID: id, User: user})
}

// directChat returns the direct chat of a member. The caller holds mu.
func (s *Server) directChat(staffID string) *chat {
	name := ""
	for n, u := range s.users {
		if u.StaffID == staffID {
			name = n
		}
	}
	if name == "" {
		return nil
	}
	for _, id := range s.order {
		if c := s.chats[id]; !c.Group && c.User == name {
			return c
		}
	}
	return s.addChat(Chat{ID: fmt.Sprintf("cidDirect%d==", s.next()), User: name})
}

// show appends a message to a chat. The caller holds mu.
func (s *Server) show(c *chat, m Message) *Message {
	if m.ID == "" {
		m.ID = fmt.Sprintf("sim-%d", s.next())
	}
	m.ChatID, m.SentAt = c.ID, s.clock.Now()
	c.messages = append(c.messages, &m)
	s.notify()
	return &m
}

// Chats returns the conversations, oldest first.
func (s *Server) Chats() []Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Chat
	for _, id := range s.order {
		out = append(out, s.chats[id].Chat)
	}
	return out
}

// Messages returns what people see in a chat, oldest first.
func (s *Server) Messages(chatID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return nil
	}
	var out []Message
	for _, m := range c.messages {
		out = append(out, m.copy())
	}
	return out
}

// Shown returns what people see of the robot in all chats, in no order across chats.
func (s *Server) Shown() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, id := range s.order {
		for _, m := range s.chats[id].messages {
			if m.User == "" {
				out = append(out, m.copy())
			}
		}
	}
	return out
}

func (m *Message) copy() Message {
	c := *m
	c.At, c.Emotions = slices.Clone(m.At), slices.Clone(m.Emotions)
	return c
}

// message finds a message by id. The caller holds mu.
func (s *Server) message(id string) *Message {
	for _, c := range s.chats {
		for _, m := range c.messages {
			if m.ID == id {
				return m
			}
		}
	}
	return nil
}

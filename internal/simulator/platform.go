package simulator

import "time"

// Platform is a simulated chat platform. Its methods are safe for concurrent use.
type Platform interface {
	// Info describes it; it does not change.
	Info() Info
	// Connections is how many connections of the gateway it holds.
	Connections() int
	// Messages returns what a chat shows, oldest first.
	Messages(chatID string) []Message
	// Say writes as a member of a chat.
	Say(s Said) error
	// Press presses a button of a message, and returns what the person is told.
	Press(messageID, personID, label string) (string, error)
	// Recall takes a person's message back.
	Recall(messageID string) error
	// SetFault turns a fault on or off.
	SetFault(name string, on bool) error
	// Changed is closed at the next change.
	Changed() <-chan struct{}
}

// Info is what there is on a platform.
type Info struct {
	Name   string   `json:"name"`
	Chats  []Chat   `json:"chats"`
	People []Person `json:"people"`
	// Faults are the names of what can go wrong.
	Faults []Fault `json:"faults"`
	// CanRecall is set if people can take messages back.
	CanRecall bool `json:"canRecall"`
}

// Chat is one conversation.
type Chat struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Direct chats have one person in them, whose id this is.
	Direct string `json:"direct"`
	// Topics is set if messages belong to topics.
	Topics bool `json:"topics"`
}

// Person is somebody who can write.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Fault is something that can go wrong on the platform.
type Fault struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// Said is what a person writes.
type Said struct {
	ChatID   string `json:"chatId"`
	PersonID string `json:"personId"`
	Text     string `json:"text"`
	// Mention addresses the bot.
	Mention bool `json:"mention"`
	// ReplyTo is the message that is answered; in a topic it continues the topic.
	ReplyTo string `json:"replyTo"`
}

// Message is what people see.
type Message struct {
	ID      string `json:"id"`
	Sender  string `json:"sender"` // a person's name
	FromBot bool   `json:"fromBot"`
	// Kind is the platform's own name of what it is.
	Kind string `json:"kind"`
	// Text is Markdown.
	Text string `json:"text"`
	// Growing is set while the bot still writes it.
	Growing  bool      `json:"growing"`
	Recalled bool      `json:"recalled"`
	ThreadID string    `json:"threadId"`
	ReplyTo  string    `json:"replyTo"`
	Buttons  []string  `json:"buttons"`
	Signs    []string  `json:"signs"` // reactions
	SentAt   time.Time `json:"sentAt"`
}

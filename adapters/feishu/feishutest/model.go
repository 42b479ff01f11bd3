package feishutest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ChatKind is what a chat is.
type ChatKind string

// The kinds of chats.
const (
	P2P        ChatKind = "p2p"
	Group      ChatKind = "group"
	TopicGroup ChatKind = "topic" // every message begins or continues a topic
)

// User is a person.
type User struct {
	OpenID, UserID, UnionID, Name string
}

// Blob is a file.
type Blob struct {
	ContentType string
	Name        string
	Data        []byte
}

type chat struct {
	id     string
	kind   ChatKind
	name   string
	gone   bool // disbanded
	absent bool // the bot is not in it
	order  []string
}

type message struct {
	id, chatID, rootID, parentID, threadID, upperID string
	msgType, content                                string
	sender                                          string // open_id of a person, BotOpenID, or of another bot
	senderType                                      string // user or app
	mentions                                        []eventMention
	createdAt                                       time.Time
	recalled                                        bool
	cardID                                          string // of a card entity
	reactions                                       []Reaction
	children                                        []string
}

// Reaction is an emoji under a message.
type Reaction struct {
	ID, Emoji, By string
}

type sentOnce struct {
	messageID string
	at        time.Time
}

// cardEntity is a card that is changed through CardKit.
type cardEntity struct {
	id        string
	doc       cardDoc
	raw       string
	sequence  int
	streaming bool
	openedAt  time.Time
	sentIn    string
	changes   int
}

// Button is a button of a card.
type Button struct {
	Label string
	Value json.RawMessage
}

// View is a message as people see it.
type View struct {
	ID        string
	ChatID    string
	ThreadID  string
	ReplyTo   string
	Sender    string
	FromBot   bool
	Type      string
	Text      string
	Buttons   []Button
	Streaming bool
	Recalled  bool
	Reactions []Reaction
	CreatedAt time.Time
	// Raw is the content as the platform holds it.
	Raw string
}

// AddUser makes a person known; a person who was not added has the id as name.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.OpenID] = u
}

// AddChat makes a chat that the bot is in.
func (s *Server) AddChat(id string, kind ChatKind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[id] = &chat{id: id, kind: kind, name: name}
	s.touchLocked()
}

// AddBlob makes a file that a person can send under a key.
func (s *Server) AddBlob(key string, b Blob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[key] = b
}

// Blob returns a file that was uploaded.
func (s *Server) Blob(key string) (Blob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[key]
	return b, ok
}

// Chats lists the ids of all chats, sorted.
func (s *Server) Chats() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.chats {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Messages lists what people see in a chat, oldest first.
func (s *Server) Messages(chatID string) []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return nil
	}
	var out []View
	for _, id := range c.order {
		out = append(out, s.view(s.messages[id]))
	}
	return out
}

// FromBot lists all that the bot wrote, in every chat, oldest first.
func (s *Server) FromBot() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []View
	for _, c := range s.chats {
		for _, id := range c.order {
			if m := s.messages[id]; m.sender == BotOpenID {
				out = append(out, s.view(m))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b View) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// view renders a message; s.mu is held.
func (s *Server) view(m *message) View {
	v := View{
		ID: m.id, ChatID: m.chatID, ThreadID: m.threadID, ReplyTo: m.parentID, Sender: s.user(m.sender).Name,
		FromBot: m.sender == BotOpenID, Type: m.msgType, Recalled: m.recalled, CreatedAt: m.createdAt, Raw: m.content,
		Reactions: slices.Clone(m.reactions),
	}
	switch {
	case m.cardID != "":
		c := s.cards[m.cardID]
		v.Raw, v.Streaming = c.raw, c.streaming
		v.Text, v.Buttons = c.doc.words()
	case m.msgType == "interactive":
		var doc cardDoc
		if json.Unmarshal([]byte(m.content), &doc) == nil {
			v.Text, v.Buttons = doc.words()
		}
	default:
		v.Text = readable(m.msgType, m.content)
		for _, at := range m.mentions {
			v.Text = strings.ReplaceAll(v.Text, at.Key, "@"+at.Name)
		}
	}
	if v.FromBot {
		v.Text = mentionTag.ReplaceAllStringFunc(v.Text, func(tag string) string {
			return "@" + s.user(mentionTag.FindStringSubmatch(tag)[1]).Name
		})
	}
	return v
}

// mentionTag is how a bot mentions a person in a card, a post and a text.
var mentionTag = regexp.MustCompile(`<at (?:user_)?id="?([A-Za-z0-9_-]+)"?></at>`)

// user returns a person; s.mu is held.
func (s *Server) user(openID string) User {
	if u, ok := s.users[openID]; ok {
		return u
	}
	if openID == BotOpenID {
		return User{OpenID: openID, Name: s.opts.BotName}
	}
	return User{OpenID: openID, Name: openID}
}

// readable returns the words of a text or post, and the raw content of the rest.
func readable(msgType, content string) string {
	switch msgType {
	case "text":
		var text struct{ Text string }
		if json.Unmarshal([]byte(content), &text) == nil {
			return text.Text
		}
	case "post":
		var post map[string]struct {
			Title   string
			Content [][]struct{ Text string }
		}
		if json.Unmarshal([]byte(content), &post) == nil {
			var lines []string
			for _, locale := range post {
				for _, paragraph := range locale.Content {
					var line strings.Builder
					for _, node := range paragraph {
						line.WriteString(node.Text)
					}
					lines = append(lines, line.String())
				}
			}
			return strings.Join(lines, "\n")
		}
	}
	return content
}

// cardDoc is what the platform looks at in a card.
type cardDoc struct {
	Schema string `json:"schema"`
	Config struct {
		UpdateMulti   *bool `json:"update_multi"`
		StreamingMode bool  `json:"streaming_mode"`
	} `json:"config"`
	Body struct {
		Elements []cardElement `json:"elements"`
	} `json:"body"`
}

type cardElement struct {
	Tag       string `json:"tag"`
	ElementID string `json:"element_id"`
	Content   string `json:"content"`
	Text      struct {
		Content string `json:"content"`
	} `json:"text"`
	Behaviors []struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	} `json:"behaviors"`
}

func (d *cardDoc) words() (text string, buttons []Button) {
	var parts []string
	for _, e := range d.Body.Elements {
		switch e.Tag {
		case "markdown":
			parts = append(parts, e.Content)
		case "button":
			b := Button{Label: e.Text.Content}
			for _, behavior := range e.Behaviors {
				if behavior.Type == "callback" {
					b.Value = behavior.Value
				}
			}
			buttons = append(buttons, b)
		}
	}
	return strings.Join(parts, "\n"), buttons
}

func (d *cardDoc) element(id string) *cardElement {
	for i := range d.Body.Elements {
		if d.Body.Elements[i].ElementID == id {
			return &d.Body.Elements[i]
		}
	}
	return nil
}

// Limits of the platform.
const (
	maxCardBytes = 30 << 10
	maxTextBytes = 150 << 10
	maxTables    = 5
	maxUUID      = 50
	uuidWindow   = time.Hour
	streamLife   = 10 * time.Minute
)

var (
	tableRule   = regexp.MustCompile(`(?m)^\s*\|?\s*:?-{3,}:?\s*(\|\s*:?-{3,}:?\s*)*\|?\s*$`)
	cardPicture = regexp.MustCompile(`!\[[^\]]*\]\(([^)\s]+)`)
	fencedCode  = regexp.MustCompile("(?s)```.*?(```|$)")
)

// check returns why the platform refuses a card, zero if it does not.
func (d *cardDoc) check(raw string) reply {
	if d.Schema != "2.0" || len(d.Body.Elements) == 0 {
		return refuse(230099, "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err")
	}
	if len(raw) > maxCardBytes {
		return refuse(230025, "The length of the message content reaches its limit")
	}
	ids := map[string]bool{}
	tables := 0
	for _, e := range d.Body.Elements {
		if e.ElementID != "" && ids[e.ElementID] {
			return refuse(300301, "duplicate element_id")
		}
		ids[e.ElementID] = true
		text := fencedCode.ReplaceAllString(e.Content, "")
		tables += len(tableRule.FindAllString(text, -1))
		for _, picture := range cardPicture.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(picture[1], "img_") {
				return refuse(230099, "Failed to create card content, ext=ErrCode: 200570; ErrMsg: image key is invalid")
			}
		}
	}
	if tables > maxTables {
		return refuse(230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit")
	}
	return reply{}
}

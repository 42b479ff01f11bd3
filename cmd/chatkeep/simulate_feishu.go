package main

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/simulator"
)

// feishuSimulation is a simulated Feishu with a few chats and people in it.
type feishuSimulation struct {
	*feishutest.Server

	info  simulator.Info
	names map[string]string // of people, by open_id
	kinds map[string]feishutest.ChatKind
}

// Faults of the simulated Feishu.
const (
	faultDown       = "down"
	faultSlow       = "slow"
	faultRate       = "rate-limited"
	faultLostAnswer = "lost-answer"
)

func newFeishuSimulation(address string) (simulated, error) {
	server, err := feishutest.New(feishutest.Options{Listen: address, Redeliver: feishutest.RealRedelivery, ChatQPS: 5})
	if err != nil {
		return nil, err
	}
	s := &feishuSimulation{Server: server, names: map[string]string{}, kinds: map[string]feishutest.ChatKind{}}
	s.info = simulator.Info{Name: "Feishu", CanRecall: true, Faults: []simulator.Fault{
		{Name: faultDown, Label: "the platform is down"},
		{Name: faultSlow, Label: "answers take 3 s"},
		{Name: faultRate, Label: "sending is rate-limited"},
		{Name: faultLostAnswer, Label: "answers to sends are lost"},
	}}
	for _, u := range []feishutest.User{
		{OpenID: "ou_lin", UserID: "lin", Name: "Lin"}, {OpenID: "ou_wu", UserID: "wu", Name: "Wu"}, {OpenID: "ou_zhao", UserID: "zhao", Name: "Zhao"},
	} {
		server.AddUser(u)
		s.names[u.OpenID] = u.Name
		s.info.People = append(s.info.People, simulator.Person{ID: u.OpenID, Name: u.Name})
	}
	s.add("oc_lin", feishutest.P2P, "Lin and the bot", "ou_lin")
	s.add("oc_wu", feishutest.P2P, "Wu and the bot", "ou_wu")
	s.add("oc_ops", feishutest.Group, "Operations", "")
	s.add("oc_ideas", feishutest.TopicGroup, "Ideas", "")
	return s, nil
}

func (s *feishuSimulation) add(id string, kind feishutest.ChatKind, name, direct string) {
	s.AddChat(id, kind, name)
	s.kinds[id] = kind
	s.info.Chats = append(s.info.Chats, simulator.Chat{ID: id, Name: name, Direct: direct, Topics: kind == feishutest.TopicGroup})
}

// Config is the account of the simulated app.
func (s *feishuSimulation) Config() string {
	return fmt.Sprintf(`channels:
  feishu:
    - account: main
      appId: %s
      appSecret: %s
      baseUrl: %s
  api:
    - account: default
`, feishutest.DefaultAppID, feishutest.DefaultAppSecret, s.URL())
}

// Info describes the platform.
func (s *feishuSimulation) Info() simulator.Info { return s.info }

// Say writes as a member.
func (s *feishuSimulation) Say(said simulator.Said) error {
	kind, ok := s.kinds[said.ChatID]
	if !ok {
		return fmt.Errorf("there is no chat %q", said.ChatID)
	}
	s.Server.Say(feishutest.Said{
		ChatID: said.ChatID, Kind: kind, From: said.PersonID, Text: said.Text,
		Mention: said.Mention && kind != feishutest.P2P, ReplyTo: said.ReplyTo,
		InThread: said.ReplyTo != "" && kind == feishutest.TopicGroup,
	})
	return nil
}

// Messages returns what a chat shows.
func (s *feishuSimulation) Messages(chatID string) []simulator.Message {
	views := s.Server.Messages(chatID)
	out := make([]simulator.Message, len(views))
	for i, v := range views {
		m := simulator.Message{
			ID: v.ID, FromBot: v.FromBot, Sender: s.name(v.Sender), Kind: v.Type, Text: v.Text, Growing: v.Streaming,
			Recalled: v.Recalled, ThreadID: v.ThreadID, ReplyTo: v.ReplyTo, SentAt: v.CreatedAt,
		}
		if v.FromBot {
			m.Sender = feishutest.DefaultBotName
		}
		for _, b := range v.Buttons {
			m.Buttons = append(m.Buttons, b.Label)
		}
		for _, r := range v.Reactions {
			m.Signs = append(m.Signs, r.Emoji)
		}
		out[i] = m
	}
	return out
}

func (s *feishuSimulation) name(sender string) string {
	if name, ok := s.names[sender]; ok {
		return name
	}
	return sender
}

// Press presses a card's button.
func (s *feishuSimulation) Press(messageID, personID, label string) (string, error) {
	toast, err := s.Server.Press(messageID, personID, label)
	return toast.Content, err
}

// Recall takes a message back.
func (s *feishuSimulation) Recall(messageID string) error {
	s.Server.Recall(messageID)
	return nil
}

// SetFault turns a fault on or off; one of those that change answers at a time.
func (s *feishuSimulation) SetFault(name string, on bool) error {
	if name == faultDown {
		s.SetDown(on)
		return nil
	}
	faults := map[string]feishutest.Fault{
		faultSlow:       {Times: -1, Delay: 3 * time.Second},
		faultRate:       {Match: "/im/v1/messages", Times: -1, Code: 99991400, Status: 429, Header: map[string]string{"x-ogw-ratelimit-reset": "2"}},
		faultLostAnswer: {Match: "/im/v1/messages", Times: -1, DropAfter: true},
	}
	fault, ok := faults[name]
	if !ok {
		return fmt.Errorf("there is no fault %q", name)
	}
	s.Heal()
	if on {
		s.Inject(fault)
	}
	return nil
}

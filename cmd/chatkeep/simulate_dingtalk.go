package main

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/internal/simulator"
)

// dingtalkSimulation is a simulated DingTalk with a few chats and people in it.
type dingtalkSimulation struct {
	*dingtalktest.Server

	info  simulator.Info
	nicks map[string]string // of people, by staff id
}

// Faults of the simulated DingTalk, besides those of its kin.
const (
	faultDrop    = "drop-connections"
	faultExpired = "expire-webhooks"
	// repeatedFault is how many calls a fault spoils before it wears off.
	repeatedFault = 1000
)

func newDingTalkSimulation(address string) (simulated, error) {
	server, err := dingtalktest.New(dingtalktest.Options{Addr: address, RedeliverAfter: time.Minute, WebhooksPerMinute: 20, CardsPerSecond: 20})
	if err != nil {
		return nil, err
	}
	s := &dingtalkSimulation{Server: server, nicks: map[string]string{}}
	s.info = simulator.Info{Name: "DingTalk", Faults: []simulator.Fault{
		{Name: faultDown, Label: "sending is refused"},
		{Name: faultSlow, Label: "answers take 3 s"},
		{Name: faultRate, Label: "sending is rate-limited"},
		{Name: faultLostAnswer, Label: "answers to sends are lost"},
		{Name: faultExpired, Label: "session webhooks expire (now)"},
		{Name: faultDrop, Label: "connections drop (now)"},
	}}
	for _, p := range []simulator.Person{{ID: "emp0001", Name: "Lin"}, {ID: "emp0002", Name: "Wu"}, {ID: "emp0003", Name: "Zhao"}} {
		server.AddUser(p.ID, dingtalktest.User{StaffID: p.ID, Nick: p.Name})
		s.nicks[p.ID] = p.Name
		s.info.People = append(s.info.People, p)
	}
	s.add(dingtalktest.Chat{ID: "cidLin1==", User: "emp0001"}, "Lin and the robot")
	s.add(dingtalktest.Chat{ID: "cidWu2+/=", User: "emp0002"}, "Wu and the robot")
	s.add(dingtalktest.Chat{ID: "cidOps3==", Title: "Operations", Group: true}, "Operations")
	return s, nil
}

func (s *dingtalkSimulation) add(c dingtalktest.Chat, name string) {
	s.AddChat(c)
	s.info.Chats = append(s.info.Chats, simulator.Chat{ID: c.ID, Name: name, Direct: c.User})
}

// Config is the account of the simulated robot.
func (s *dingtalkSimulation) Config() string {
	return fmt.Sprintf(`channels:
  dingtalk:
    - account: main
      clientId: %s
      clientSecret: %s
      baseUrl: %s
      oapiBaseUrl: %s
  api:
    - account: default
`, s.ClientID(), s.ClientSecret(), s.URL(), s.URL())
}

// Info describes the platform.
func (s *dingtalkSimulation) Info() simulator.Info { return s.info }

// Say writes as a member.
func (s *dingtalkSimulation) Say(said simulator.Said) error {
	for _, c := range s.info.Chats {
		if c.ID == said.ChatID {
			s.Send(dingtalktest.Inbound{Chat: said.ChatID, User: said.PersonID, Text: said.Text, NotMentioned: !said.Mention})
			return nil
		}
	}
	return fmt.Errorf("there is no chat %q", said.ChatID)
}

// Messages returns what a chat shows.
func (s *dingtalkSimulation) Messages(chatID string) []simulator.Message {
	shown := s.Server.Messages(chatID)
	out := make([]simulator.Message, len(shown))
	for i, m := range shown {
		out[i] = simulator.Message{
			ID: m.ID, FromBot: m.User == "", Sender: s.nicks[m.User], Kind: m.Kind + " by " + string(m.Via), Text: m.Text,
			Growing: m.Card == "processing" || m.Card == "typing", Signs: m.Emotions, SentAt: m.SentAt,
		}
		if m.User == "" {
			out[i].Sender = "Robot"
		}
	}
	return out
}

// Press fails: the robot's cards have no buttons.
func (s *dingtalkSimulation) Press(string, string, string) (string, error) {
	return "", fmt.Errorf("the robot's cards have no buttons")
}

// Recall fails: the platform tells robots nothing of recalled messages.
func (s *dingtalkSimulation) Recall(string) error {
	return fmt.Errorf("the platform tells robots nothing of recalled messages")
}

// SetFault turns a fault on or off; one of those that change answers at a time.
func (s *dingtalkSimulation) SetFault(name string, on bool) error {
	switch name {
	case faultDrop:
		if on {
			s.DropConnections()
		}
		return nil
	case faultExpired:
		if on {
			s.ExpireWebhooks()
		}
		return nil
	}
	faults := map[string]dingtalktest.Fault{
		faultDown:       dingtalktest.Page(503),
		faultSlow:       {Delay: 3 * time.Second},
		faultRate:       dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"),
		faultLostAnswer: {Apply: true, Drop: true},
	}
	fault, ok := faults[name]
	if !ok {
		return fmt.Errorf("there is no fault %q", name)
	}
	s.Mend()
	if !on {
		return nil
	}
	many := make([]dingtalktest.Fault, repeatedFault)
	for i := range many {
		many[i] = fault
	}
	for _, op := range []dingtalktest.Op{dingtalktest.OpWebhook, dingtalktest.OpGroupSend, dingtalktest.OpDirectSend} {
		s.Fail(op, many...)
	}
	return nil
}

package dingtalktest

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxCardContent is above what a card goes blank, in characters.
const maxCardContent = 3000

// card is an AI card with the message that shows it.
type card struct {
	shown *Message
	guids map[string]bool
}

// States of a card.
const (
	cardProcessing = "processing"
	cardTyping     = "typing"
	cardDone       = "done"
	cardFailed     = "failed"
)

func (s *Server) cardCreate(r *request) {
	var in struct {
		CardTemplateID string `json:"cardTemplateId"`
		OutTrackID     string `json:"outTrackId"`
		CardData       struct {
			CardParamMap map[string]string `json:"cardParamMap"`
		} `json:"cardData"`
		OpenSpaceID  string    `json:"openSpaceId"`
		GroupSpace   *struct{} `json:"imGroupOpenSpaceModel"`
		GroupDeliver *struct {
			RobotCode string `json:"robotCode"`
		} `json:"imGroupOpenDeliverModel"`
		RobotSpace   *struct{} `json:"imRobotOpenSpaceModel"`
		RobotDeliver *struct {
			SpaceType string `json:"spaceType"`
			RobotCode string `json:"robotCode"`
		} `json:"imRobotOpenDeliverModel"`
	}
	if !r.decode(&in) {
		return
	}
	if in.CardTemplateID == "" || in.OutTrackID == "" {
		r.refuse(400, "param.cardTemplateId.empty", "template and outTrackId are required")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cards[in.OutTrackID] != nil {
		r.refuse(400, "param.outTrackId.duplicate", "the card exists")
		return
	}
	var c *chat
	if id, ok := strings.CutPrefix(in.OpenSpaceID, "dtv1.card//IM_GROUP."); ok && in.GroupSpace != nil && in.GroupDeliver != nil && in.GroupDeliver.RobotCode == s.opts.ClientID {
		if c = s.chats[id]; c != nil && !c.Group {
			c = nil
		}
	}
	if id, ok := strings.CutPrefix(in.OpenSpaceID, "dtv1.card//IM_ROBOT."); ok && in.RobotSpace != nil && in.RobotDeliver != nil && in.RobotDeliver.RobotCode == s.opts.ClientID {
		c = s.directChat(id)
	}
	type result struct {
		Success   bool   `json:"success"`
		ErrorMsg  string `json:"errorMsg"`
		CarrierID string `json:"carrierId"`
	}
	var out struct {
		Result struct {
			OutTrackID     string   `json:"outTrackId"`
			DeliverResults []result `json:"deliverResults"`
		} `json:"result"`
	}
	out.Result.OutTrackID = in.OutTrackID
	if c == nil {
		out.Result.DeliverResults = []result{{ErrorMsg: "spaces of card is empty"}}
		r.reply(200, out)
		return
	}
	m := s.show(c, Message{ID: fmt.Sprintf("pqk%d", s.next()), Via: ViaCard, Kind: "card", Card: cardProcessing})
	for _, text := range in.CardData.CardParamMap {
		m.Text = text
	}
	s.cards[in.OutTrackID] = &card{shown: m, guids: map[string]bool{}}
	out.Result.DeliverResults = []result{{Success: true, CarrierID: m.ID}}
	r.reply(200, out)
}

func (s *Server) cardStream(r *request) {
	var in struct {
		OutTrackID string `json:"outTrackId"`
		GUID       string `json:"guid"`
		Key        string `json:"key"`
		Content    string `json:"content"`
		IsFull     bool   `json:"isFull"`
		IsFinalize bool   `json:"isFinalize"`
		IsError    bool   `json:"isError"`
	}
	if !r.decode(&in) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cardsTooFast() {
		r.refuse(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", "too fast")
		return
	}
	c := s.cards[in.OutTrackID]
	switch {
	case c == nil:
		r.refuse(400, "param.outTrackId.notExist", "no such card")
		return
	case in.GUID == "" || in.Key == "" || !in.IsFull:
		r.refuse(400, "param.stream.invalid", "guid, key and isFull are required")
		return
	case c.guids[in.GUID]: // a repetition
	case c.shown.Card == cardDone || c.shown.Card == cardFailed:
		r.refuse(400, "card.streaming.finished", "the card is closed")
		return
	default:
		c.guids[in.GUID] = true
		c.shown.Text, c.shown.Card = in.Content, cardTyping
		if utf8.RuneCountInString(in.Content) > maxCardContent {
			c.shown.Text = ""
		}
		if in.IsFinalize {
			c.shown.Card = cardDone
		}
		if in.IsError {
			c.shown.Card = cardFailed
		}
		s.notify()
	}
	r.reply(200, struct {
		Success bool `json:"success"`
	}{true})
}

func (s *Server) cardsTooFast() bool {
	limit, now := s.opts.CardsPerSecond, s.clock.Now()
	if limit == 0 {
		return false
	}
	kept := s.cardCalls[:0]
	for _, t := range s.cardCalls {
		if now.Sub(t) < time.Second {
			kept = append(kept, t)
		}
	}
	s.cardCalls = kept
	if len(kept) >= limit {
		return true
	}
	s.cardCalls = append(s.cardCalls, now)
	return false
}

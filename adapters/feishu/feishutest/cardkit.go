package feishutest

import (
	"encoding/json"
	"net/http"
	"slices"
)

type cardRequest struct {
	Type string `json:"type"`
	Data string `json:"data"`
	Card struct {
		Type string `json:"type"`
		Data string `json:"data"`
	} `json:"card"`
	Content  string `json:"content"`
	Settings string `json:"settings"`
	Sequence int    `json:"sequence"`
}

func (s *Server) postCard(r *http.Request) reply {
	req := body[cardRequest](r)
	var doc cardDoc
	if req.Type != "card_json" || json.Unmarshal([]byte(req.Data), &doc) != nil {
		return refuse(200621, "parse card json err")
	}
	if refused := doc.check(req.Data); refused.Code != 0 {
		return refused
	}
	if doc.Config.UpdateMulti != nil && !*doc.Config.UpdateMulti {
		return refuse(300308, "update_multi must be true")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &cardEntity{id: s.id("card"), doc: doc, raw: req.Data, streaming: doc.Config.StreamingMode, openedAt: s.clock.Now()}
	s.cards[c.id] = c
	return reply{Data: map[string]any{"card_id": c.id}}
}

// operation finds the card of a request and checks its sequence; s.mu is held.
func (s *Server) operation(r *http.Request, sequence int) (*cardEntity, reply) {
	c := s.cards[r.PathValue("id")]
	if c == nil {
		return nil, refuse(300302, "card is not found")
	}
	if sequence <= c.sequence {
		return nil, refuse(300317, "sequence number compare failed")
	}
	c.sequence = sequence
	if c.streaming && s.clock.Now().Sub(c.openedAt) > streamLife {
		c.streaming = false
	}
	return c, reply{}
}

// changedCard notes a change that people see; s.mu is held.
func (s *Server) changedCard(c *cardEntity) {
	c.changes++
	if raw, err := json.Marshal(c.doc); err == nil {
		c.raw = string(raw)
	}
	s.touchLocked()
}

func (s *Server) putCard(r *http.Request) reply {
	req := body[cardRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.operation(r, req.Sequence)
	if c == nil {
		return refused
	}
	var doc cardDoc
	if req.Card.Type != "card_json" || json.Unmarshal([]byte(req.Card.Data), &doc) != nil {
		return refuse(200621, "parse card json err")
	}
	if refused := doc.check(req.Card.Data); refused.Code != 0 {
		return refused
	}
	c.doc, c.streaming = doc, doc.Config.StreamingMode
	s.changedCard(c)
	return reply{}
}

func (s *Server) patchCardSettings(r *http.Request) reply {
	req := body[cardRequest](r)
	var settings struct {
		Config struct {
			StreamingMode *bool `json:"streaming_mode"`
		} `json:"config"`
	}
	if json.Unmarshal([]byte(req.Settings), &settings) != nil {
		return refuse(300314, "settings is invalid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.operation(r, req.Sequence)
	if c == nil {
		return refused
	}
	if on := settings.Config.StreamingMode; on != nil {
		c.streaming = *on
		if *on {
			c.openedAt = s.clock.Now()
		}
	}
	s.touchLocked()
	return reply{}
}

func (s *Server) putElementContent(r *http.Request) reply {
	req := body[cardRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.operation(r, req.Sequence)
	if c == nil {
		return refused
	}
	if !c.streaming {
		return refuse(300309, "streaming mode is closed")
	}
	e := c.doc.element(r.PathValue("element"))
	if e == nil {
		return refuse(300313, "element is not found")
	}
	e.Content = req.Content
	s.changedCard(c)
	return reply{}
}

func (s *Server) deleteElement(r *http.Request) reply {
	req := body[cardRequest](r)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.operation(r, req.Sequence)
	if c == nil {
		return refused
	}
	before := len(c.doc.Body.Elements)
	c.doc.Body.Elements = slices.DeleteFunc(c.doc.Body.Elements, func(e cardElement) bool { return e.ElementID == r.PathValue("element") })
	if len(c.doc.Body.Elements) == before {
		return refuse(300313, "element is not found")
	}
	s.changedCard(c)
	return reply{}
}

// CardChanges counts the visible changes of the card that a message shows.
func (s *Server) CardChanges(messageID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.messages[messageID]; m != nil && m.cardID != "" {
		return s.cards[m.cardID].changes
	}
	return 0
}

package dingtalktest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// connection is one stream connection of a client.
type connection struct {
	ws       *websocket.Conn
	writing  sync.Mutex
	expiring bool // guarded by Server.mu: nothing new is delivered on it
	sent     map[string]string
}

// open gives out a ticket.
func (s *Server) open(r *request) {
	var in struct {
		ClientID      string `json:"clientId"`
		ClientSecret  string `json:"clientSecret"`
		Subscriptions []struct {
			Type, Topic string
		} `json:"subscriptions"`
	}
	if !r.decode(&in) {
		return
	}
	if in.ClientID != s.opts.ClientID || in.ClientSecret != s.opts.ClientSecret {
		r.refuse(401, "authFailed", "wrong clientId or clientSecret")
		return
	}
	if len(in.Subscriptions) == 0 {
		r.refuse(400, "InvalidParameter", "no subscriptions")
		return
	}
	s.mu.Lock()
	s.opened++
	// With characters that a client must escape.
	ticket := fmt.Sprintf("t+%d/=&", s.next())
	s.tickets[ticket] = s.clock.Now().Add(s.opts.TicketTTL)
	s.mu.Unlock()
	r.reply(200, struct {
		Endpoint string `json:"endpoint"`
		Ticket   string `json:"ticket"`
	}{"ws://" + r.r.Host + "/connect", ticket})
}

// connect upgrades the holder of a ticket, once.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	until, known := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !known || s.clock.Now().After(until) {
		http.Error(w, "the ticket is unknown, used or expired", http.StatusUnauthorized)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &connection{ws: ws, sent: map[string]string{}}
	ws.SetPingHandler(func(data string) error {
		s.mu.Lock()
		mute := s.mutePings
		s.mu.Unlock()
		if mute {
			return nil
		}
		return ws.WriteControl(websocket.PongMessage, []byte(data), c.deadline())
	})
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		_ = ws.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.work.Add(1)
	defer s.work.Done()
	waiting := s.waiting
	s.waiting = nil
	s.notify()
	s.mu.Unlock()
	for _, id := range waiting {
		s.deliver(id)
	}
	s.read(c)
	s.mu.Lock()
	delete(s.conns, c)
	s.notify()
	s.mu.Unlock()
	_ = ws.Close()
}

func (s *Server) read(c *connection) {
	for {
		kind, data, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var in struct {
			Code    int `json:"code"`
			Headers struct {
				MessageID string `json:"messageId"`
			} `json:"headers"`
			Message string `json:"message"`
			Data    string `json:"data"`
		}
		s.mu.Lock()
		if kind != websocket.TextMessage || json.Unmarshal(data, &in) != nil || in.Headers.MessageID == "" {
			s.badFrames++
		} else if id, known := c.sent[in.Headers.MessageID]; known {
			s.acknowledge(id, Ack{Code: in.Code, Message: in.Message, Data: in.Data})
		} else {
			s.badFrames++
		}
		s.mu.Unlock()
	}
}

func (c *connection) deadline() time.Time { return clock.Real().Now().Add(5 * time.Second) }

func (c *connection) write(kind int, data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(c.deadline())
	return c.ws.WriteMessage(kind, data)
}

type frame struct {
	SpecVersion string            `json:"specVersion"`
	Type        string            `json:"type"`
	Headers     map[string]string `json:"headers"`
	Data        string            `json:"data"`
}

// frame builds a frame and notes that it is about to be sent. The caller holds mu.
func (s *Server) frame(c *connection, kind, topic, messageID string, data []byte) []byte {
	header := fmt.Sprintf("h%d_%d", s.next(), rand.IntN(1000))
	c.sent[header] = messageID
	out, _ := json.Marshal(frame{"1.0", kind, map[string]string{
		"appId": "sim", "connectionId": "c1", "contentType": "application/json", "messageId": header,
		"time": strconv.FormatInt(s.clock.Now().UnixMilli(), 10), "topic": topic,
	}, string(data)})
	return out
}

// stream sends a message over one connection, chosen at random as the platform
// does, or keeps it for the next connection.
func (s *Server) stream(d *delivery) {
	s.mu.Lock()
	c := s.pick()
	if c == nil {
		s.waiting = append(s.waiting, d.id)
		s.mu.Unlock()
		return
	}
	out := s.frame(c, "CALLBACK", "/v1.0/im/bot/messages/get", d.id, d.body)
	s.mu.Unlock()
	_ = c.write(websocket.TextMessage, out)
}

// pick chooses a connection that is not about to be closed. The caller holds mu.
func (s *Server) pick() *connection {
	var live []*connection
	for c := range s.conns {
		if !c.expiring {
			live = append(live, c)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return live[rand.IntN(len(live))]
}

// Connections counts the connections on which messages are delivered.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for c := range s.conns {
		if !c.expiring {
			n++
		}
	}
	return n
}

// Opened counts the tickets given out.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// BadFrames counts what came over streams and answered nothing.
func (s *Server) BadFrames() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.badFrames
}

// Rotate tells every connection to disconnect: nothing is delivered on it any
// more, and it is closed after a while.
func (s *Server) Rotate() {
	for _, c := range s.connections() {
		s.mu.Lock()
		c.expiring = true
		out := s.frame(c, "SYSTEM", "disconnect", "disconnect", []byte(`{"reason":"connection is expired"}`))
		s.mu.Unlock()
		_ = c.write(websocket.TextMessage, out)
		s.spawn(func() {
			_ = clock.Sleep(s.ctx, s.clock, s.opts.Linger)
			_ = c.ws.Close()
		})
	}
}

// AskToDisconnect sends the disconnect but goes on delivering on the connections.
func (s *Server) AskToDisconnect() {
	s.System("disconnect", `{"reason":"connection is expired"}`)
}

// System sends a frame of the gateway itself to every connection. The answers are
// in [Server.Acks] under the topic.
func (s *Server) System(topic, data string) {
	for _, c := range s.connections() {
		s.mu.Lock()
		out := s.frame(c, "SYSTEM", topic, topic, []byte(data))
		s.mu.Unlock()
		_ = c.write(websocket.TextMessage, out)
	}
}

// Callback sends a callback of any topic, as [Server.System] does.
func (s *Server) Callback(topic string, data []byte) {
	s.mu.Lock()
	c := s.pick()
	if c == nil {
		s.mu.Unlock()
		return
	}
	out := s.frame(c, "CALLBACK", topic, topic, data)
	s.mu.Unlock()
	_ = c.write(websocket.TextMessage, out)
}

// SendRaw sends bytes as a text frame to every connection, whatever they are.
func (s *Server) SendRaw(data []byte) {
	for _, c := range s.connections() {
		_ = c.write(websocket.TextMessage, data)
	}
}

// SendBinary sends bytes as a binary frame to every connection.
func (s *Server) SendBinary(data []byte) {
	for _, c := range s.connections() {
		_ = c.write(websocket.BinaryMessage, data)
	}
}

// SendPong sends a pong that nobody asked for.
func (s *Server) SendPong() {
	for _, c := range s.connections() {
		_ = c.ws.WriteControl(websocket.PongMessage, []byte("unsolicited"), c.deadline())
	}
}

// MutePings stops or resumes answering pings.
func (s *Server) MutePings(mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mutePings = mute
}

// DropConnections breaks all connections at once, as a network does.
func (s *Server) DropConnections() {
	for _, c := range s.connections() {
		s.mu.Lock()
		c.expiring = true
		s.mu.Unlock()
		_ = c.ws.Close()
	}
}

func (s *Server) connections() []*connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*connection
	for c := range s.conns {
		out = append(out, c)
	}
	return out
}

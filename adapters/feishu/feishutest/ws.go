package feishutest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// wsConn is one long connection of the app.
type wsConn struct {
	socket *websocket.Conn
	write  sync.Mutex
}

func (c *wsConn) send(f *larkws.Frame) error {
	data, err := f.Marshal()
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	return c.socket.WriteMessage(websocket.BinaryMessage, data)
}

// Codes of the endpoint of the long connection.
const badCredentials = 1000040345

// postEndpoint tells the app where to connect.
func (s *Server) postEndpoint(w http.ResponseWriter, r *http.Request) {
	if s.Down() {
		panic(http.ErrAbortHandler)
	}
	req := body[larkws.BootstrapRequest](r)
	resp := larkws.EndpointResp{Msg: "ok", Data: &larkws.Endpoint{
		Url: "ws" + s.URL()[len("http"):] + "/ws?device_id=1&service_id=1",
		// What the platform really hands out.
		ClientConfig: &larkws.ClientConfig{ReconnectCount: -1, ReconnectInterval: 120, ReconnectNonce: 30, PingInterval: 120},
	}}
	status := http.StatusOK
	if f := s.take("POST /callback/ws/endpoint"); f != nil {
		if f.DropBefore || f.DropAfter {
			panic(http.ErrAbortHandler)
		}
		if f.Status != 0 {
			status = f.Status
		}
		resp = larkws.EndpointResp{Code: f.Code, Msg: f.Msg}
	} else if req.AppID != s.opts.AppID || req.AppSecret != s.opts.AppSecret {
		resp = larkws.EndpointResp{Code: badCredentials, Msg: "app_id or app_secret is wrong"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(resp)
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// serveWS serves one long connection.
func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	if s.Down() {
		panic(http.ErrAbortHandler)
	}
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &wsConn{socket: socket}
	if !s.run(func() { s.readWS(c) }) {
		_ = socket.Close()
		return
	}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	var waiting []*pushed
	for _, id := range s.order {
		if p := s.events[id]; p.tries == 0 {
			waiting = append(waiting, p)
		}
	}
	s.touchLocked()
	s.mu.Unlock()
	for _, p := range waiting {
		s.push(p)
	}
}

func (s *Server) readWS(c *wsConn) {
	defer s.forget(c)
	for {
		_, data, err := c.socket.ReadMessage()
		if err != nil {
			return
		}
		var f larkws.Frame
		if f.Unmarshal(data) != nil {
			continue
		}
		headers := larkws.Headers(f.Headers)
		switch {
		case f.Method == int32(larkws.FrameTypeControl):
			pong := larkws.Headers{}
			pong.Add(larkws.HeaderType, string(larkws.MessageTypePong))
			if c.send(&larkws.Frame{Service: f.Service, Headers: pong}) != nil {
				return
			}
		case f.Method == int32(larkws.FrameTypeData):
			s.answered(headers.GetString(larkws.HeaderMessageID), f.Payload)
		}
	}
}

// answered notes the acknowledgement of an event.
func (s *Server) answered(eventID string, payload []byte) {
	var resp larkws.Response
	if json.Unmarshal(payload, &resp) != nil {
		return
	}
	s.mu.Lock()
	p := s.events[eventID]
	s.mu.Unlock()
	if p != nil {
		s.settle(p, resp.StatusCode == http.StatusOK, resp.Data)
	}
}

func (s *Server) forget(c *wsConn) {
	_ = c.socket.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(x *wsConn) bool { return x == c })
	s.touchLocked()
}

// Connections counts the long connections of the app.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// DropConnections breaks every long connection.
func (s *Server) DropConnections() {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.socket.Close()
	}
}

// pushWS sends an event over one connection of the app, chosen at random as the
// platform does. Without any the event waits for the next.
func (s *Server) pushWS(p *pushed) {
	s.mu.Lock()
	var c *wsConn
	if len(s.conns) > 0 {
		c = s.conns[rand.N(len(s.conns))]
	} else {
		p.tries = 0
	}
	size := s.opts.FragmentSize
	s.mu.Unlock()
	if c == nil {
		return
	}
	parts := fragments(p.payload, size)
	for i, part := range parts {
		if c.send(eventFrame(p.id, len(parts), i, part)) != nil {
			s.forget(c)
			return
		}
	}
}

func fragments(payload []byte, size int) [][]byte {
	if size <= 0 || len(payload) <= size {
		return [][]byte{payload}
	}
	return slices.Collect(slices.Chunk(payload, size))
}

func eventFrame(id string, sum, seq int, part []byte) *larkws.Frame {
	h := larkws.Headers{}
	h.Add(larkws.HeaderType, string(larkws.MessageTypeEvent))
	h.Add(larkws.HeaderMessageID, id)
	h.Add(larkws.HeaderSum, strconv.Itoa(sum))
	h.Add(larkws.HeaderSeq, strconv.Itoa(seq))
	h.Add(larkws.HeaderTraceID, fmt.Sprintf("trace-%s", id))
	return &larkws.Frame{Service: 1, Method: int32(larkws.FrameTypeData), Headers: h, Payload: part}
}

package dingtalk

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// writeTimeout is how long the peer may take to accept an answer.
	writeTimeout = 5 * time.Second
	// maxFrame is the longest frame that is read, in bytes. Texts are below 20 kB.
	maxFrame = 4 << 20
)

// conn is one connection to the gateway: one goroutine reads it, whoever has an
// answer writes it, one at a time.
type conn struct {
	ws     *websocket.Conn
	timing Timing
	log    *slog.Logger
	// wall is the real clock, whatever drives the adapter: deadlines of sockets
	// know no other.
	wall clock.Clock

	writing sync.Mutex
	// pending counts the frames taken off the connection and not answered yet.
	pending sync.WaitGroup

	healthy  atomic.Bool // something other than a disconnect came
	expiring chan struct{}
	expire   sync.Once
	retired  chan struct{}
	retire   sync.Once
	done     chan struct{} // closed when nothing is read any more
}

func newConn(ws *websocket.Conn, timing Timing, log *slog.Logger) *conn {
	return &conn{
		ws: ws, timing: timing, log: log, wall: clock.Real(),
		expiring: make(chan struct{}), retired: make(chan struct{}), done: make(chan struct{}),
	}
}

// serve reads frames and hands them to take until the connection or ctx ends, or
// for a while after the connection is retired. It returns when all are answered.
func (c *conn) serve(ctx context.Context, take func(*conn, *frame)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.ws.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var helpers sync.WaitGroup
	helpers.Go(func() { c.keepAlive(ctx) })
	helpers.Go(func() { c.endWhenRetired(ctx, cancel) })
	func() {
		defer recovered(c.log, "reading a stream connection")
		c.read(ctx, take)
	}()
	close(c.done)
	cancel()
	c.pending.Wait()
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), c.deadline(time.Second))
	_ = c.ws.Close()
	helpers.Wait()
}

func (c *conn) read(ctx context.Context, take func(*conn, *frame)) {
	c.ws.SetReadLimit(maxFrame)
	// A pong proves life whether or not it was asked for, and nobody waits for one.
	c.ws.SetPongHandler(func(string) error { return c.alive(ctx) })
	c.ws.SetPingHandler(func(data string) error {
		_ = c.ws.WriteControl(websocket.PongMessage, []byte(data), c.deadline(writeTimeout))
		return c.alive(ctx)
	})
	for c.extend(ctx) == nil {
		kind, data, err := c.ws.ReadMessage()
		if err != nil {
			if ctx.Err() == nil {
				c.log.Info("stream connection ended", "error", err)
			}
			return
		}
		if kind != websocket.TextMessage {
			continue
		}
		f := new(frame)
		if err := json.Unmarshal(data, f); err != nil {
			c.log.Warn("dropped a frame that is no JSON", "bytes", len(data))
			continue
		}
		if f.Headers.Topic != topicDisconnect {
			c.healthy.Store(true)
		}
		take(c, f)
	}
}

// extend gives the connection another while to show life.
func (c *conn) extend(ctx context.Context) error {
	_ = c.ws.SetReadDeadline(c.deadline(c.timing.Silence))
	return ctx.Err() // checked after: the end of ctx sets a deadline too
}

func (c *conn) alive(ctx context.Context) error {
	c.healthy.Store(true)
	return c.extend(ctx)
}

func (c *conn) deadline(d time.Duration) time.Time { return c.wall.Now().Add(d) }

// keepAlive pings, at once for the first time: the pong shows that the connection works.
func (c *conn) keepAlive(ctx context.Context) {
	for {
		if err := c.ws.WriteControl(websocket.PingMessage, nil, c.deadline(writeTimeout)); err != nil {
			_ = c.ws.SetReadDeadline(time.Unix(1, 0)) // the reader need not wait for silence
			return
		}
		if clock.Sleep(ctx, c.wall, c.timing.Ping) != nil {
			return
		}
	}
}

func (c *conn) endWhenRetired(ctx context.Context, end context.CancelFunc) {
	select {
	case <-c.retired:
	case <-ctx.Done():
		return
	}
	if clock.Sleep(ctx, c.wall, c.timing.Retire) == nil {
		end()
	}
}

// answer writes an acknowledgement. A failure ends the connection: what is left of
// the frame would spoil the next one.
func (c *conn) answer(a ack) {
	data, err := encode(a)
	if err != nil {
		c.log.Error("an acknowledgement cannot be encoded", "error", err)
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(c.deadline(writeTimeout))
	if err := c.ws.WriteMessage(websocket.TextMessage, data); err != nil {
		c.log.Info("an acknowledgement was not written", "error", err)
		_ = c.ws.Close()
	}
}

// markExpiring tells that the platform will close the connection.
func (c *conn) markExpiring() { c.expire.Do(func() { close(c.expiring) }) }

// markRetired lets the connection end: another one has taken over.
func (c *conn) markRetired() { c.retire.Do(func() { close(c.retired) }) }

// dialer opens WebSocket connections by the same proxy and certificates as other calls.
func dialer(h *http.Client, timeout time.Duration) *websocket.Dialer {
	d := &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: timeout}
	if t, ok := h.Transport.(*http.Transport); ok {
		d.Proxy = t.Proxy
		if t.TLSClientConfig != nil {
			d.TLSClientConfig = t.TLSClientConfig.Clone()
			d.TLSClientConfig.NextProtos = nil // HTTP/2 has no upgrade
		}
	}
	return d
}

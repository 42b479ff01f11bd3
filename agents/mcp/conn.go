package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// connectTimeout bounds a start: the process, the handshake, and the list of tools.
	connectTimeout = 15 * time.Second
	// closeTimeout is what a server gets to end by itself.
	closeTimeout = 2 * time.Second
	// deafTimeout is how long a call may block after its time is up.
	deafTimeout = 5 * time.Second
	// A server that answers no ping for so many intervals, and for longer than a tool may
	// take, since some answer nothing while they work, is started again.
	pingInterval = 30 * time.Second
	minLostPings = 4
	// maxMessage bounds one message of a server, in bytes.
	maxMessage = 8 << 20
)

// conn is one connection to a server.
type conn struct {
	session *mcp.ClientSession
	wire    wire
	clock   clock.Clock
	// life ends with the connection, and all calls with it.
	life    context.Context //nolint:containedctx // the lifetime of what it owns, not of a call
	end     context.CancelFunc
	changed chan struct{} // the server has other tools than before
	ended   chan struct{} // closed when the connection is gone
	err     error         // why, once ended is closed
}

// wire is what carries a connection.
type wire interface {
	mcp.Transport
	// kill ends it at once, whatever the server does.
	kill()
}

func (l *link) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	w, err := l.dial()
	if err != nil {
		return nil, err
	}
	c := &conn{wire: w, clock: l.clock, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: "chatkeep", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // we answer no questions of servers
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		},
		KeepAlive:                 pingInterval,
		KeepAliveFailureThreshold: max(minLostPings, int(l.server.Timeout/pingInterval)+2),
	})
	opening := &opening{Transport: w}
	stop := context.AfterFunc(ctx, w.kill) // a handshake may block in a write
	c.session, err = client.Connect(ctx, opening, nil)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		opening.close()
		w.kill()
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(c.ended)
		defer c.end()
		if c.err = c.session.Wait(); c.err == nil {
			c.err = errEnded
		}
	}()
	return c, nil
}

var errEnded = errors.New("the server ended the connection")

// opening remembers the connection that a handshake runs on, since a handshake
// that fails may leave it open.
type opening struct {
	mcp.Transport

	conn mcp.Connection
}

// Connect opens the connection.
func (o *opening) Connect(ctx context.Context) (c mcp.Connection, err error) {
	o.conn, err = o.Transport.Connect(ctx)
	return o.conn, err
}

func (o *opening) close() {
	if o.conn != nil {
		_ = o.conn.Close()
	}
}

// close ends the connection in an orderly way if the server plays along, and then
// by force.
func (c *conn) close() {
	c.end()
	var closing sync.WaitGroup
	done := make(chan struct{})
	closing.Go(func() {
		defer close(done)
		_ = c.session.Close()
	})
	timer := c.clock.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	c.wire.kill()
	closing.Wait()
	<-c.ended
}

// killUnless ends the connection by force if a call whose time is up does not
// return soon: it blocks in a write that nobody reads.
func (c *conn) killUnless(returned <-chan struct{}) {
	timer := c.clock.NewTimer(deafTimeout)
	defer timer.Stop()
	select {
	case <-returned:
	case <-timer.C:
		c.wire.kill()
	}
}

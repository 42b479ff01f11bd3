package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// A server that ended is started again after a pause that doubles. One that
// worked for the longest pause starts afresh.
const (
	minPause = time.Second
	maxPause = 30 * time.Second
)

// link is one server with its connection, if there is one.
type link struct {
	server Server
	client *http.Client
	clock  clock.Clock
	log    *slog.Logger
	run    func() // starts supervise once

	mu sync.Mutex
	// settled is closed while no attempt to connect runs.
	settled chan struct{}
	conn    *conn // nil: not connected
	offered []*tool
}

func newLink(s Server, client *http.Client, c clock.Clock, log *slog.Logger) *link {
	return &link{server: s, client: client, clock: c, log: log, settled: make(chan struct{})}
}

// supervise keeps the server connected until ctx ends.
func (l *link) supervise(ctx context.Context) {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		began := l.clock.Now()
		err := l.serve(ctx)
		l.settle(nil, nil)
		if ctx.Err() != nil {
			return
		}
		if l.clock.Now().Sub(began) > maxPause {
			pause = minPause
		}
		// Up to a fifth more, so that replicas do not come back all at once.
		wait := pause + rand.N(pause/5)
		l.log.Warn("MCP server is not there; its tools are left out", "error", l.scrub(err), "nextAttempt", wait.Round(time.Millisecond))
		if clock.Sleep(ctx, l.clock, wait) != nil {
			return
		}
		l.unsettle()
	}
}

// serve connects and returns when the connection has ended, or ctx has.
func (l *link) serve(ctx context.Context) error {
	c, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	tools, err := l.list(ctx, c)
	if err != nil {
		return err
	}
	l.log.Info("MCP server connected", "tools", len(tools))
	l.settle(c, tools)
	defer l.settle(nil, nil)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return c.err
		case <-c.changed:
			fresh, err := l.list(ctx, c)
			if err != nil {
				l.log.Warn("MCP server does not list its changed tools; the old list stays", "error", l.scrub(err))
				continue
			}
			l.log.Info("MCP server changed its tools", "tools", len(fresh))
			l.settle(c, fresh)
		}
	}
}

// settle makes the outcome of an attempt visible to those who wait for it.
func (l *link) settle(c *conn, tools []*tool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.offered = c, tools
	select {
	case <-l.settled:
	default:
		close(l.settled)
	}
}

func (l *link) unsettle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = make(chan struct{})
}

// current waits for a running attempt and returns what came of it.
func (l *link) current(ctx context.Context) (*conn, []*tool) {
	l.mu.Lock()
	settled := l.settled
	l.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.offered
}

// tools are those the server has now; none while it is not connected.
func (l *link) tools(ctx context.Context) []*tool {
	c, tools := l.current(ctx)
	if c == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		l.log.Warn("MCP server is slow to start; a turn goes without its tools")
	}
	return tools
}

// scrub writes an error without the server's URL, which may hold a token.
func (l *link) scrub(err error) string {
	text := fmt.Sprint(err)
	for _, address := range l.spellings() {
		text = strings.ReplaceAll(text, address, l.server.Name)
		if base, _, cut := strings.Cut(address, "?"); cut {
			text = strings.ReplaceAll(text, base, l.server.Name)
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// spellings are the ways in which the server's URL is written: as it is configured, and
// as the HTTP client does, with and without its password.
func (l *link) spellings() []string {
	u, err := url.Parse(l.server.URL)
	if err != nil || l.server.URL == "" {
		return nil // no request is ever sent there
	}
	whole := u.String()
	out := []string{l.server.URL, whole}
	if u.User != nil {
		out = append(out, strings.Replace(whole, u.User.String()+"@", u.User.Username()+":***@", 1))
	}
	return out
}

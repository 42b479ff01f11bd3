package dingtalk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	pathOpen  = "/v1.0/gateway/connections/open"
	userAgent = "chatkeep/1 dingtalk-stream"
)

// stream keeps one connection to the gateway. A connection that the platform is
// about to close is replaced first and read on while the new one already works;
// between them nothing is lost.
type stream struct {
	cfg   Config
	clock clock.Clock
	log   *slog.Logger
	api   *client
	lanes *lanes
	state *state
	// prompt allows to replace a connection that worked at once. It is far above
	// what the platform's rotations need and ends a loop that does not.
	prompt *rate.Limiter
}

func newStream(cfg Config, c clock.Clock, log *slog.Logger, api *client, in *intake, st *state) *stream {
	return &stream{
		cfg: cfg, clock: c, log: log, api: api, lanes: newLanes(in, log), state: st,
		prompt: rate.NewLimiter(rate.Every(30*time.Second), 120),
	}
}

// run connects and reconnects until ctx ends, then lets what was taken be stored
// and answered.
func (s *stream) run(ctx context.Context) {
	var connections sync.WaitGroup
	s.lanes.start(ctx)
	defer s.lanes.stop()
	defer connections.Wait()
	wait := backoff{least: s.cfg.Timing.ReconnectMin, most: s.cfg.Timing.ReconnectMax}
	var current *conn
	for ctx.Err() == nil {
		next, err := s.open(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.state.failed(err)
				s.log.WarnContext(ctx, "cannot connect", "error", err)
			}
			_ = clock.Sleep(ctx, s.clock, wait.next())
			continue
		}
		s.state.connected(s.clock.Now())
		connections.Go(func() {
			defer s.state.disconnected()
			next.serve(ctx, s.lanes.take)
		})
		if current != nil {
			current.markRetired()
		}
		current = next
		select {
		case <-ctx.Done():
		case <-current.expiring:
		case <-current.done:
		}
		_ = clock.Sleep(ctx, s.clock, s.pause(current, &wait))
	}
}

// pause is how long to wait before a connection is replaced.
func (s *stream) pause(c *conn, wait *backoff) time.Duration {
	if !c.healthy.Load() || !s.prompt.AllowN(s.clock.Now(), 1) {
		return wait.next()
	}
	wait.reset()
	return 0
}

// open asks for a ticket, which works once and for 90 s, and connects with it.
func (s *stream) open(ctx context.Context) (*conn, error) {
	endpoint, ticket, err := s.register(ctx)
	if err != nil {
		return nil, err
	}
	address, err := connectURL(endpoint, ticket, s.cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timing.Request)
	defer cancel()
	ws, resp, err := dialer(s.api.http, s.cfg.Timing.Request).DialContext(ctx, address, nil)
	if resp != nil {
		defer resp.Body.Close()
	}
	switch {
	case err != nil && resp != nil:
		return nil, fmt.Errorf("connect: HTTP %d", resp.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("connect: %w", withoutURL(err))
	}
	return newConn(ws, s.cfg.Timing, s.log), nil
}

type subscription struct {
	Type  string `json:"type"`
	Topic string `json:"topic"`
}

func (s *stream) register(ctx context.Context) (endpoint, ticket string, err error) {
	const op = "register connection"
	in := struct {
		ClientID      string         `json:"clientId"`
		ClientSecret  string         `json:"clientSecret"`
		Subscriptions []subscription `json:"subscriptions"`
		UA            string         `json:"ua"`
		LocalIP       string         `json:"localIp"`
	}{
		ClientID: s.cfg.ClientID, ClientSecret: s.cfg.ClientSecret, UA: userAgent, LocalIP: localIP(),
		Subscriptions: []subscription{{frameCallback, topicMessage}},
	}
	if s.cfg.streams() {
		in.Subscriptions = append(in.Subscriptions, subscription{frameCallback, topicCard})
	}
	status, data, err := s.api.exchange(ctx, op, http.MethodPost, s.cfg.BaseURL+pathOpen, nil, in)
	if err == nil {
		err = refusal(op, status, data, false)
	}
	if err != nil {
		return "", "", err
	}
	var out struct {
		Endpoint string `json:"endpoint"`
		Ticket   string `json:"ticket"`
	}
	if json.Unmarshal(data, &out) != nil || out.Endpoint == "" || out.Ticket == "" {
		return "", "", fmt.Errorf("%s: the answer has no endpoint or ticket", op)
	}
	return out.Endpoint, out.Ticket, nil
}

// connectURL puts the ticket into the endpoint. Plain text is accepted only where
// the API itself is spoken to in plain text.
func connectURL(endpoint, ticket, baseURL string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "wss" && (u.Scheme != "ws" || strings.HasPrefix(baseURL, "https:")) {
		return "", fmt.Errorf("connect: the endpoint is no wss address")
	}
	q := u.Query()
	q.Set("ticket", ticket)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// localIP names this machine in the platform's list of connections; empty if unknown.
func localIP() string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return ""
}

// backoff doubles a jittered wait.
type backoff struct {
	least, most time.Duration
	tries       int
}

func (b *backoff) next() time.Duration {
	d := b.least << min(b.tries, 20)
	if d > b.most || d <= 0 {
		d = b.most
	}
	b.tries++
	return d/2 + rand.N(d/2+1)
}

func (b *backoff) reset() { b.tries = 0 }

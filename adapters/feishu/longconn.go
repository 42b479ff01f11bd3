package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// How the long connection is kept. Together a failed attempt and the wait after it
// stay below 10 s.
const (
	dialTimeout      = 5 * time.Second
	firstRetry       = time.Second
	lastRetry        = 4 * time.Second
	maxReconnect     = 4  // seconds; the platform's own default is 120
	maxReconnectSkew = 2  // seconds; the platform's own default is 30
	maxPing          = 30 // seconds; a dead connection is noticed after twice that
	// How long to wait after the platform refused the app itself, from and to.
	refusedRetry    = 5 * time.Second
	refusedRetryMax = time.Minute
)

// longConn supervises the SDK's client of the long connection. The SDK reconnects
// after a drop, but at the platform's leisurely pace, not at all before the first
// success, and never again after a refusal.
type longConn struct {
	adapter *Adapter
	events  *dispatcher.EventDispatcher
	// wasReady is set once the present client was connected: the SDK cannot start
	// such a client again.
	wasReady atomic.Bool
}

func newLongConn(a *Adapter) *longConn {
	l := &longConn{adapter: a, events: dispatcher.NewEventDispatcher("", "")}
	l.events.InitConfig(larkevent.WithLogger(sdkLog{a.log}))
	take := func(ctx context.Context, req *larkevent.EventReq) error {
		_, err := a.handle(ctx, req.Body)
		return err
	}
	for _, list := range [][]string{handledEvents, ignoredEvents} {
		for _, eventType := range list {
			l.events.OnCustomizedEvent(eventType, take)
		}
	}
	l.events.OnP2CardActionTrigger(func(ctx context.Context, e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		return a.handle(ctx, e.Body)
	})
	return l
}

// run keeps the connection until ctx ends.
func (l *longConn) run(ctx context.Context) {
	a := l.adapter
	client := l.newClient()
	for wait := refusedRetry; ; wait = min(2*wait, refusedRetryMax) {
		err := client.Start(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("the long connection ended")
		}
		a.disconnected(fmt.Errorf("long connection: %w", err))
		if l.wasReady.Load() {
			wait = refusedRetry
		}
		a.log.ErrorContext(ctx, "the long connection is refused; trying again", "error", err, "in", wait)
		if clock.Sleep(ctx, a.clock, wait/2+rand.N(wait/2)) != nil {
			return
		}
		// Every client costs a goroutine that the SDK never ends, so one that was never
		// connected is used again.
		if l.wasReady.Load() {
			client = l.newClient()
		}
	}
}

func (l *longConn) newClient() *larkws.Client {
	a := l.adapter
	l.wasReady.Store(false)
	ready := func() {
		l.wasReady.Store(true)
		a.connected()
		a.log.Info("the long connection is up")
	}
	return larkws.NewClient(a.cfg.AppID, a.cfg.AppSecret,
		larkws.WithDomain(a.cfg.BaseURL),
		larkws.WithEventHandler(l.events),
		larkws.WithLogger(sdkLog{a.log}),
		larkws.WithHttpClient(&bootstrap{adapter: a}),
		larkws.WithWebSocketDialer(&websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialTimeout}),
		larkws.WithOnReady(ready),
		larkws.WithOnReconnected(ready),
		larkws.WithOnDisconnected(func() { a.disconnected(errors.New("long connection: lost")) }),
		larkws.WithOnError(func(err error) { a.disconnected(fmt.Errorf("long connection: %w", err)) }),
	)
}

// bootstrap is the HTTP client by which the SDK asks where to connect. It asks
// until it gets an answer, and corrects the intervals in it.
type bootstrap struct{ adapter *Adapter }

func (b *bootstrap) Do(req *http.Request) (*http.Response, error) {
	ctx, a := req.Context(), b.adapter
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		resp, err := b.ask(req)
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.disconnected(fmt.Errorf("long connection: %w", err))
		a.log.WarnContext(ctx, "the platform cannot be reached; trying again", "error", err)
		if err := clock.Sleep(ctx, a.clock, wait/2+rand.N(wait/2)); err != nil {
			return nil, err
		}
	}
}

// ask asks once. Trouble that may pass is an error; a refusal is an answer.
func (b *bootstrap) ask(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), dialTimeout)
	defer cancel()
	attempt := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	resp, err := b.adapter.http.Do(attempt)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var endpoint larkws.EndpointResp
	if resp.StatusCode != http.StatusOK || json.Unmarshal(data, &endpoint) != nil {
		return nil, fmt.Errorf("HTTP %d from the endpoint of the long connection", resp.StatusCode)
	}
	switch {
	case endpoint.Code == larkws.SystemBusy || endpoint.Code == larkws.InternalError:
		return nil, fmt.Errorf("code %d from the endpoint of the long connection: %s", endpoint.Code, clip(endpoint.Msg, 100))
	case endpoint.Code == larkws.OK && (endpoint.Data == nil || endpoint.Data.Url == ""):
		return nil, errors.New("the endpoint of the long connection names no address")
	case endpoint.Code == larkws.OK:
		endpoint.Data.ClientConfig = intervals(endpoint.Data.ClientConfig)
		if data, err = json.Marshal(endpoint); err != nil {
			return nil, err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	return resp, nil
}

// intervals returns what the SDK shall use. It takes a missing figure for zero:
// no reconnect at all, or a busy loop of pings.
func intervals(given *larkws.ClientConfig) *larkws.ClientConfig {
	if given == nil {
		given = &larkws.ClientConfig{}
	}
	atMost := func(n, most int) int {
		if n <= 0 || n > most {
			return most
		}
		return n
	}
	return &larkws.ClientConfig{
		ReconnectCount:    -1,
		ReconnectInterval: atMost(given.ReconnectInterval, maxReconnect),
		ReconnectNonce:    atMost(given.ReconnectNonce, maxReconnectSkew),
		PingInterval:      atMost(given.PingInterval, maxPing),
	}
}

package dingtalk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Limits on what is asked of the platform and read from it.
const (
	// callsPerSecond stays below the 20 calls per second that an app has per API.
	callsPerSecond = 18
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 1 << 20
)

// client makes the calls to the platform.
type client struct {
	cfg    Config
	clock  clock.Clock
	http   *http.Client
	tokens *tokens
	quota  *quota

	mu    sync.Mutex
	paces map[string]*rate.Limiter // by operation
}

func newClient(cfg Config, c clock.Clock, h *http.Client) *client {
	noRedirect := *h
	noRedirect.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cl := &client{cfg: cfg, clock: c, http: &noRedirect, quota: newQuota(c), paces: map[string]*rate.Limiter{}}
	cl.tokens = newTokens(c, cl.fetchToken)
	return cl
}

// call makes one OpenAPI call with the app's token. A refused token is replaced
// and the call repeated once. out may be nil.
func (c *client) call(ctx context.Context, op, method, path string, in, out any) error {
	if err := c.quota.check(); err != nil {
		return err
	}
	if err := c.wait(ctx, op); err != nil {
		return &networkError{op: op, err: err}
	}
	data, err := c.authorised(ctx, op, method, path, in)
	if err != nil {
		c.quota.note(err)
		return err
	}
	c.quota.note(nil)
	if out == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &networkError{op: op, sent: true, err: errors.New("the answer is no JSON")}
	}
	return nil
}

func (c *client) authorised(ctx context.Context, op, method, path string, in any) ([]byte, error) {
	for attempt := 0; ; attempt++ {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		header := http.Header{"X-Acs-Dingtalk-Access-Token": {token}}
		status, data, err := c.exchange(ctx, op, method, c.cfg.BaseURL+path, header, in)
		if err == nil {
			err = refusal(op, status, data, false)
		}
		if err == nil {
			return data, nil
		}
		if classOf(err) != classToken || attempt > 0 {
			return nil, err
		}
		c.tokens.evict(ctx, token)
	}
}

// wait keeps the pace of the app's calls of one operation.
func (c *client) wait(ctx context.Context, op string) error {
	c.mu.Lock()
	pace := c.paces[op]
	if pace == nil {
		pace = rate.NewLimiter(callsPerSecond, callsPerSecond)
		c.paces[op] = pace
	}
	c.mu.Unlock()
	now := c.clock.Now()
	return clock.Sleep(ctx, c.clock, pace.ReserveN(now, 1).DelayFrom(now))
}

// exchange sends JSON and returns the answer's status and body.
func (c *client) exchange(ctx context.Context, op, method, address string, header http.Header, in any) (int, []byte, error) {
	body, err := encode(in)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timing.Request)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, &networkError{op: op, err: withoutURL(err)}
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json") // else some endpoints answer XML
	return c.roundTrip(op, req)
}

func (c *client) roundTrip(op string, req *http.Request) (int, []byte, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	resp, err := c.http.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return 0, nil, &networkError{op: op, sent: sent.Load(), err: withoutURL(err)}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, &networkError{op: op, sent: true, err: withoutURL(err)}
	}
	return resp.StatusCode, data, nil
}

// encode writes JSON as the platform's limits count it: without escaping HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// withoutURL removes the URL from a client's error: session webhooks, tickets and
// tokens are part of URLs.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", strings.ToUpper(e.Op), e.Err)
	}
	return err
}

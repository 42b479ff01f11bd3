package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// renewBefore is how long before its end a token is renewed, as the official SDK does.
	renewBefore = 5 * time.Minute
	// refusedFor is how long refused credentials are not tried again: the endpoint
	// throttles, and every send would ask.
	refusedFor = 10 * time.Second
)

// tokens keeps the app's access token. One caller at a time fetches it.
type tokens struct {
	clock clock.Clock
	fetch func(context.Context) (token string, valid time.Duration, err error)
	turn  chan struct{} // holds one element while somebody looks or fetches

	token     string
	renewAt   time.Time
	refused   error
	refusedAt time.Time
}

func newTokens(c clock.Clock, fetch func(context.Context) (string, time.Duration, error)) *tokens {
	return &tokens{clock: c, fetch: fetch, turn: make(chan struct{}, 1)}
}

func (t *tokens) lock(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &networkError{op: "access token", err: context.Cause(ctx)}
	}
}

func (t *tokens) unlock() { <-t.turn }

// get returns a valid token.
func (t *tokens) get(ctx context.Context) (string, error) {
	if err := t.lock(ctx); err != nil {
		return "", err
	}
	defer t.unlock()
	now := t.clock.Now()
	if t.token != "" && now.Before(t.renewAt) {
		return t.token, nil
	}
	if t.refused != nil && now.Sub(t.refusedAt) < refusedFor {
		return "", t.refused
	}
	token, valid, err := t.fetch(ctx)
	if err != nil {
		if classOf(err) == classSetup {
			t.refused, t.refusedAt = err, now
		}
		return "", err
	}
	t.token, t.renewAt, t.refused = token, now.Add(max(valid-renewBefore, valid/2)), nil
	return token, nil
}

// evict forgets a token that the platform refused, unless it was replaced already.
func (t *tokens) evict(ctx context.Context, token string) {
	if t.lock(ctx) != nil {
		return
	}
	defer t.unlock()
	if t.token == token {
		t.token = ""
	}
}

// fetchToken asks for a token. The endpoint repeats the current one and extends it.
func (c *client) fetchToken(ctx context.Context) (string, time.Duration, error) {
	const op = "access token"
	body := struct {
		AppKey    string `json:"appKey"`
		AppSecret string `json:"appSecret"`
	}{c.cfg.ClientID, c.cfg.ClientSecret}
	status, data, err := c.exchange(ctx, op, http.MethodPost, c.cfg.BaseURL+"/v1.0/oauth2/accessToken", nil, body)
	if err == nil {
		err = refusal(op, status, data, false)
	}
	if err != nil {
		return "", 0, beforeSending(err)
	}
	var a struct {
		AccessToken string `json:"accessToken"`
		ExpireIn    number `json:"expireIn"`
	}
	if json.Unmarshal(data, &a) != nil || a.AccessToken == "" {
		return "", 0, &networkError{op: op, err: fmt.Errorf("HTTP %d without a token", status)}
	}
	return a.AccessToken, time.Duration(a.ExpireIn) * time.Second, nil
}

// beforeSending marks a failure that came before the message itself went out: it
// leaves nothing unclear.
func beforeSending(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok {
		clone := *e
		switch e.class {
		case classUnclear:
			clone.class, clone.wait = classBusy, waitBusy
		case classOther, classToken, classPermission:
			clone.class = classSetup
		}
		return &clone
	}
	if e, ok := errors.AsType[*networkError](err); ok {
		return &networkError{op: e.op, err: e.err}
	}
	return err
}

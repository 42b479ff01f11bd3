package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// How long one call of the platform may take.
const (
	requestTimeout = 10 * time.Second
	uploadTimeout  = 60 * time.Second
)

// api makes the calls of one app. Its methods fail with an *apiError where the
// platform answered, and with other errors where nothing is known.
type api struct {
	sdk              *services
	http             *http.Client
	baseURL          string
	appID, appSecret string
	tokens           *tokenSource
	limits           *limiter
	// exhausted is told when the platform says that the quota is used up.
	exhausted func()
}

func newAPI(cfg Config, c clock.Clock, client *http.Client, log *slog.Logger) *api {
	a := &api{
		sdk:     newServices(cfg, jsonOnly{client}, log),
		http:    client,
		baseURL: cfg.BaseURL,
		appID:   cfg.AppID, appSecret: cfg.AppSecret,
		limits: newLimiter(c),
	}
	a.tokens = &tokenSource{clock: c, fetch: a.fetchToken}
	return a
}

// jsonOnly turns answers that are not the API's into an error that keeps their
// status, which the SDK would lose.
type jsonOnly struct{ client *http.Client }

func (j jsonOnly) Do(req *http.Request) (*http.Response, error) {
	resp, err := j.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 && !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		_ = resp.Body.Close()
		return nil, &httpError{status: resp.StatusCode, reset: resetAfter(resp.Header)}
	}
	return resp, nil
}

// answer is the common part of the SDK's typed answers.
type answer struct {
	resp *larkcore.ApiResp
	code larkcore.CodeError
}

// request is one typed call of the SDK.
type request func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error)

// call makes one call. A refused token is replaced once.
func (a *api) call(ctx context.Context, op string, do request) error {
	return a.callWithin(ctx, requestTimeout, op, do)
}

func (a *api) callWithin(ctx context.Context, limit time.Duration, op string, do request) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	for range 2 {
		var token string
		if token, err = a.tokens.get(ctx); err != nil {
			return fmt.Errorf("%s: %w: %w", op, errNoToken, err)
		}
		var got answer
		got, err = do(ctx, larkcore.WithTenantAccessToken(token))
		if err == nil {
			err = apiErrorOf(op, got.resp, got.code)
		} else {
			err = wrap(op, err)
		}
		if classOf(err) != classToken {
			break
		}
		a.tokens.evict(token)
	}
	if classOf(err) == classQuota && a.limits.exhausted() {
		a.exhausted()
	}
	return err
}

// wrap names the operation of a failure without an answer. Decoding errors of the
// SDK quote the whole answer and are cut.
func wrap(op string, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || strings.HasPrefix(err.Error(), "response content-type not json") {
		return fmt.Errorf("%s: the answer is not JSON", op)
	}
	return fmt.Errorf("%s: %w", op, err)
}

func (a *api) fetchToken(ctx context.Context) (string, time.Duration, error) {
	const op = "fetch token"
	resp, err := a.sdk.token(ctx, a.appID, a.appSecret)
	if err != nil {
		return "", 0, wrap(op, err)
	}
	if err := apiErrorOf(op, resp.ApiResp, resp.CodeError); err != nil {
		return "", 0, err
	}
	return resp.TenantAccessToken, time.Duration(resp.Expire) * time.Second, nil
}

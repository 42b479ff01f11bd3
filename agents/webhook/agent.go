package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/signature"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
)

// Agent asks a service of the user's. It is safe for concurrent use.
type Agent struct {
	cfg     Config
	client  *http.Client
	clock   clock.Clock
	breaker *provider.Breaker
}

var _ agents.Agent = (*Agent)(nil)

// New returns an agent that reaches the service through client, whose own timeout
// should be zero. Redirects are not followed, so that a signed turn goes nowhere
// but to the URL it is meant for.
func New(cfg Config, client *http.Client, c clock.Clock) (*Agent, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Agent{cfg: cfg.withDefaults(), client: &own, clock: c, breaker: provider.NewCallBreaker(c)}, nil
}

// Respond posts the turn. A call that failed in passing is made again; what it had
// shown by then is taken back first.
func (a *Agent) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
	defer cancel()
	body, err := encode(req)
	if err != nil {
		return nil, &agents.Error{Kind: agents.Permanent, Err: fmt.Errorf("webhook: encode: %w", err)}
	}
	screen := provider.NewScreen(emit, req.Stream)
	var answer response
	err = provider.NewRetrier(a.clock, a.breaker, a.cfg.RetryBudget).Do(ctx, func() error {
		screen.Void()
		var err error
		answer, err = a.call(ctx, body, screen)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &agents.Response{
		Messages: []*models.SessionMessage{{
			Role:       models.RoleAssistant,
			Content:    *answer.Content,
			TokenCount: answer.Usage.CompletionTokens,
		}},
		Usage:         answer.Usage,
		ContextTokens: answer.Usage.PromptTokens,
		FinishReason:  answer.FinishReason,
	}, nil
}

// call makes one request.
func (a *Agent) call(ctx context.Context, body []byte, screen *provider.Screen) (response, error) {
	ctx, span := tracing.Call(ctx, "model")
	defer span.End()
	answer, err := a.post(ctx, body, screen)
	if err != nil {
		span.Fail(string(agents.KindOf(err)))
	}
	span.Count("chatkeep.tokens.prompt", answer.Usage.PromptTokens)
	span.Count("chatkeep.tokens.completion", answer.Usage.CompletionTokens)
	return answer, err
}

func (a *Agent) post(ctx context.Context, body []byte, screen *provider.Screen) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return response{}, &agents.Error{Kind: agents.Permanent, Err: fmt.Errorf("webhook: %w", err)}
	}
	a.setHeaders(req.Header, body)
	tracing.Inject(ctx, req.Header)
	res, err := a.client.Do(req)
	if err != nil {
		return response{}, fail(ctx, fmt.Errorf("webhook: %w", err))
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return response{}, a.refusal(res)
	}
	answer, err := a.read(res, screen)
	if err != nil {
		return response{}, fail(ctx, fmt.Errorf("webhook: %w", err))
	}
	return answer, nil
}

func (a *Agent) setHeaders(h http.Header, body []byte) {
	for name, value := range a.cfg.Headers {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	signature.Set(h, a.cfg.Secret, a.clock.Now(), body)
}

func (a *Agent) read(res *http.Response, screen *provider.Screen) (response, error) {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	var answer response
	var err error
	if media == "text/event-stream" {
		answer, err = a.readStream(res.Body, screen)
	} else {
		answer, err = a.readWhole(res.Body, screen)
	}
	if err != nil {
		return response{}, err
	}
	if answer.Content == nil || strings.TrimSpace(*answer.Content) == "" {
		return response{}, &agents.Error{Kind: agents.Permanent, Err: errors.New("empty answer")}
	}
	if answer.FinishReason == "" {
		answer.FinishReason = "stop"
	}
	return answer, nil
}

// refusal is the failure that a status tells of. The body may quote the conversation.
func (a *Agent) refusal(res *http.Response) error {
	return &agents.Error{
		Kind:       provider.KindOfStatus(res.StatusCode),
		RetryAfter: provider.RetryAfter(res.Header, a.clock.Now()),
		Err:        fmt.Errorf("webhook: status %d", res.StatusCode),
	}
}

// fail classifies what is not classified yet.
func fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return provider.ContextError(ctx)
	}
	if known, ok := errors.AsType[*agents.Error](err); ok {
		return known
	}
	return provider.ConnectionError(err)
}

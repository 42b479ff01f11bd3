package openai

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/agents/toolloop"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// Agent answers with a model. It is safe for concurrent use.
type Agent struct {
	cfg     Config
	clock   clock.Clock
	chat    openai.ChatCompletionService
	models  openai.ModelService
	breaker *provider.Breaker
	quirks  atomic.Uint32
}

var (
	_ agents.Agent  = (*Agent)(nil)
	_ agents.Prober = (*Agent)(nil)
)

// New returns an agent that reaches its provider through client, whose own timeout
// should be zero.
func New(cfg Config, client *http.Client, c clock.Clock) (*Agent, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	a := &Agent{cfg: cfg, clock: c, breaker: provider.NewCallBreaker(c)}
	// The services are made one by one because the client's constructor would take
	// keys meant for another provider from the environment.
	options := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0), // retries are decided in one place, package provider
		option.WithMiddleware(a.refuseFailures),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	for name, value := range cfg.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	a.chat = openai.NewChatCompletionService(options...)
	a.models = openai.NewModelService(options...)
	return a, nil
}

// Respond runs the turn, tools included.
func (a *Agent) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
	defer cancel()
	turn := &turn{
		agent:   a,
		req:     req,
		screen:  provider.NewScreen(emit, req.Stream),
		retrier: provider.NewRetrier(a.clock, a.breaker, a.cfg.RetryBudget),
	}
	loop := toolloop.Config{
		MaxRounds:      a.cfg.MaxToolRounds,
		ToolTimeout:    a.cfg.ToolTimeout,
		MaxResultBytes: a.cfg.MaxToolResultBytes,
	}
	return toolloop.Run(ctx, loop, a.clock, req, turn.ask, emit)
}

// Probe lists the provider's models. A provider that has no such list counts as
// reachable.
func (a *Agent) Probe(ctx context.Context) error {
	var res *http.Response
	_, err := a.models.List(ctx, option.WithResponseBodyInto(&res))
	if err == nil {
		return res.Body.Close()
	}
	var refused *statusError
	if errors.As(err, &refused) && (refused.status == http.StatusNotFound || refused.status == http.StatusMethodNotAllowed) {
		return nil
	}
	return a.classify(ctx, err)
}

// turn is one run of Respond.
type turn struct {
	agent   *Agent
	req     *agents.Request
	screen  *provider.Screen
	retrier *provider.Retrier
	// empty counts answers without any text, which are asked for once more.
	empty int
}

// ask is the toolloop.Model of the turn: one call, made again while that helps.
func (t *turn) ask(ctx context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*toolloop.Completion, error) {
	var completion *toolloop.Completion
	var spent models.Usage // on answers that were empty
	err := t.retrier.Do(ctx, func() error {
		t.screen.Void()
		var err error
		completion, err = t.agent.call(ctx, t, messages, tools)
		spent = spent.Add(agents.UsageOf(err))
		if errors.Is(err, errEmpty) {
			if t.empty++; t.empty > 1 {
				return &agents.Error{Kind: agents.Permanent, Err: errEmpty}
			}
		}
		return err
	})
	if err != nil {
		return nil, agents.WithUsage(err, spent)
	}
	return completion, nil
}

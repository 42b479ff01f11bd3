package toolloop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
)

// Model asks a model once. messages is the whole conversation so far; without
// tools the model must answer in words. It returns an [*agents.Error] for failures.
type Model func(ctx context.Context, messages []*models.SessionMessage, tools []agents.ToolSpec) (*Completion, error)

// Completion is what a model gave back.
type Completion struct {
	// Message is the assistant's message. Its tool calls are run if there are any.
	Message *models.SessionMessage
	Usage   models.Usage
	// FinishReason is "stop", "length" or "content_filter".
	FinishReason string
}

// Config bounds the loop. The zero value of a field means its default.
type Config struct {
	// MaxRounds is how many times calls are run before the model must answer without
	// tools. Default 10.
	MaxRounds int
	// ToolTimeout bounds a single call of a tool that says nothing about it. Default 60 s.
	ToolTimeout time.Duration
	// MaxResultBytes bounds the text of a single result. Default 64 KiB.
	MaxResultBytes int
	// MaxParallel bounds how many calls of a round run at once. Default 8.
	MaxParallel int
}

func (c Config) withDefaults() Config {
	if c.MaxRounds <= 0 {
		c.MaxRounds = 10
	}
	if c.ToolTimeout <= 0 {
		c.ToolTimeout = time.Minute
	}
	if c.MaxResultBytes <= 0 {
		c.MaxResultBytes = 64 << 10
	}
	if c.MaxParallel <= 0 {
		c.MaxParallel = 8
	}
	return c
}

// FinishToolLimit is the finish reason of an answer that was asked for because
// the rounds were used up.
const FinishToolLimit = "tool_limit"

// errNoAnswer is a model that wants tools where there are none to be had.
var errNoAnswer = errors.New("toolloop: the model gave no answer in words")

// Run answers req. Without a Toolset it is a single call of the model. Tool events
// are emitted from the calling goroutine.
//
// It returns when ctx ends, whatever the tools do; a tool that ignores its context
// is left behind, about twice MaxParallel of them in a turn at most.
func Run(ctx context.Context, cfg Config, c clock.Clock, req *agents.Request, model Model, emit func(agents.Event)) (*agents.Response, error) {
	cfg = cfg.withDefaults()
	if req.SessionKey != "" {
		// Tools know whose turn it is from here alone.
		ctx = agents.WithInboundID(chatctx.WithSessionKey(ctx, req.SessionKey), req.InboundID)
	}
	tools, err := load(ctx, req.Tools)
	if err != nil {
		return nil, err
	}
	l := &loop{
		runner: runner{
			cfg: cfg, clock: c, tools: tools, emit: emit, keys: newKeys(req.InboundID), keep: req.Keep,
			origins: map[*models.SessionMessage]*origin{},
		},
		ids:      newIDs(req.InboundID, req.Messages),
		model:    model,
		messages: slices.Clone(req.Messages),
		question: len(req.Messages) - 1,
		window:   req.Window,
		response: &agents.Response{},
	}
	if err := l.run(ctx, req.Decided); err != nil {
		return nil, agents.WithUsage(err, l.response.Usage.Add(agents.UsageOf(err)))
	}
	return l.response, nil
}

type loop struct {
	runner   runner
	ids      *ids
	model    Model
	messages []*models.SessionMessage // as they are sent
	question int                      // where among them the turn begins
	window   int                      // in tokens; zero: not known
	over     int                      // how many tokens of them are beyond the window
	response *agents.Response
}

func (l *loop) run(ctx context.Context, decided *agents.DecidedCall) error {
	if decided != nil {
		if err := l.resume(ctx, decided); err != nil {
			return err
		}
	}
	for range l.runner.cfg.MaxRounds {
		if done, err := l.round(ctx); done || err != nil {
			return err
		}
	}
	return l.conclude(ctx)
}

// round asks the model and runs what it calls. It reports whether that was the answer.
func (l *loop) round(ctx context.Context) (bool, error) {
	completion, err := l.ask(ctx, l.runner.tools.specs)
	if err != nil {
		return false, err
	}
	message := completion.Message
	if len(l.runner.tools.specs) == 0 || len(message.ToolCalls) == 0 {
		return true, l.finish(message, completion.FinishReason)
	}
	l.ids.repair(message.ToolCalls)
	l.add(message)
	results, err := l.runner.run(ctx, message)
	if err != nil {
		return false, err
	}
	l.add(results...)
	return false, nil
}

// conclude asks for an answer without tools.
func (l *loop) conclude(ctx context.Context) error {
	completion, err := l.ask(ctx, nil)
	if err != nil {
		return err
	}
	return l.finish(completion.Message, FinishToolLimit)
}

// finish takes the final answer, which must be in words: calls that a model makes
// though it has no tools are dropped.
func (l *loop) finish(message *models.SessionMessage, reason string) error {
	message.ToolCalls = nil
	if strings.TrimSpace(message.Content) == "" {
		return &agents.Error{Kind: agents.Permanent, Err: errNoAnswer}
	}
	l.add(message)
	l.response.FinishReason, l.response.Held = reason, l.runner.held
	return nil
}

// minResult is how short results get before an overflow is the turn's failure, in bytes.
const minResult = 256

// ask calls the model. Where the turn's own results have outgrown the window they
// are shortened, each time to a quarter, rather than the whole turn lost.
func (l *loop) ask(ctx context.Context, tools []agents.ToolSpec) (*Completion, error) {
	l.fit(ctx, tools)
	completion, err := l.call(ctx, tools)
	for limit := l.runner.cfg.MaxResultBytes / 4; err != nil && agents.KindOf(err) == agents.Overflow && limit >= minResult; limit /= 4 {
		if l.shorten(ctx, limit) {
			completion, err = l.call(ctx, tools)
		}
	}
	if err != nil {
		return nil, err
	}
	l.response.Usage = l.response.Usage.Add(completion.Usage)
	l.response.ContextTokens = completion.Usage.PromptTokens
	repair(completion.Message)
	return completion, nil
}

// call makes one call of the model.
func (l *loop) call(ctx context.Context, tools []agents.ToolSpec) (*Completion, error) {
	ctx, span := tracing.Call(ctx, "model")
	defer span.End()
	completion, err := l.model(ctx, l.messages, tools)
	if err != nil {
		span.Fail(string(agents.KindOf(err)))
		return nil, err
	}
	span.Count("chatkeep.tokens.prompt", completion.Usage.PromptTokens)
	span.Count("chatkeep.tokens.completion", completion.Usage.CompletionTokens)
	span.Count("chatkeep.tool_calls", len(completion.Message.ToolCalls))
	return completion, nil
}

// shorten caps the turn's results once more and reports whether that changed any.
func (l *loop) shorten(ctx context.Context, limit int) bool {
	changed := false
	for _, m := range l.response.Messages {
		if m.Role == models.RoleTool && len(m.Content) > limit {
			changed = l.runner.shorten(ctx, m, limit) || changed
		}
	}
	return changed
}

// repair makes what a model wrote fit for being stored.
func repair(m *models.SessionMessage) {
	m.Content = storable(m.Content)
	if m.Reasoning != nil {
		reasoning := storable(*m.Reasoning)
		m.Reasoning = &reasoning
	}
	for i := range m.ToolCalls {
		m.ToolCalls[i].Arguments = storable(m.ToolCalls[i].Arguments)
	}
}

func (l *loop) add(messages ...*models.SessionMessage) {
	l.messages = append(l.messages, messages...)
	l.response.Messages = append(l.response.Messages, messages...)
}

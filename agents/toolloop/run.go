package toolloop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
)

// runner runs the calls of a round.
type runner struct {
	cfg   Config
	clock clock.Clock
	tools toolbox
	emit  func(agents.Event)
	keys  *keys
	// keep stores a whole result; nil: nothing does.
	keep    func(ctx context.Context, tool, text string) (string, error)
	origins map[*models.SessionMessage]*origin
	// held are the calls that wait for a person.
	held []agents.HeldCall
	// deaf counts calls that still run long after their time was up.
	deaf atomic.Int64
}

// deafAfter is when a call that was told to end counts as deaf.
const deafAfter = time.Second

// errDeaf is what a model learns when its calls pile up.
var errDeaf = errors.New("too many earlier calls have not ended yet; the tool was not run")

// outcome is the end of one call, at its place in the round.
type outcome struct {
	index  int
	result agents.ToolResult
}

// job is a call that may run.
type job struct {
	index     int
	tool      agents.Tool
	name      string
	arguments json.RawMessage
	key       string
	timeout   time.Duration
}

// run runs the calls of a message side by side and returns their results in the
// order of the calls. Every call gets a result; the only error is the end of ctx.
func (r *runner) run(ctx context.Context, message *models.SessionMessage) ([]*models.SessionMessage, error) {
	calls := message.ToolCalls
	results := make([]*models.SessionMessage, len(calls))
	var jobs []job
	for i, call := range calls {
		j, err := r.prepare(call)
		if err == nil && r.deaf.Load() >= int64(r.cfg.MaxParallel) {
			err = errDeaf
		}
		switch {
		case err != nil:
			results[i] = r.message(ctx, call, refusal(err))
		case r.tools.held[call.Name]:
			results[i] = r.message(ctx, call, r.hold(j, message.Reasoning))
		default:
			j.index = i
			jobs = append(jobs, j)
		}
	}
	return r.runJobs(ctx, calls, jobs, results)
}

// runJobs runs jobs and puts what comes of them among the results.
func (r *runner) runJobs(ctx context.Context, calls []models.ToolCall, jobs []job, results []*models.SessionMessage) ([]*models.SessionMessage, error) {
	// Buffered for all, so that a call that outlives the round can still end.
	outcomes := make(chan outcome, len(jobs))
	started, running := 0, 0
	for started < len(jobs) || running > 0 {
		for started < len(jobs) && running < r.cfg.MaxParallel {
			r.emit(agents.Event{Tool: &agents.ToolEvent{Name: jobs[started].name, Phase: agents.ToolStarted}})
			go r.call(ctx, jobs[started], outcomes)
			started++
			running++
		}
		select {
		case <-ctx.Done():
			return nil, provider.ContextError(ctx)
		case end := <-outcomes:
			if ctx.Err() != nil {
				return nil, provider.ContextError(ctx)
			}
			running--
			call := calls[end.index]
			results[end.index] = r.message(ctx, call, end.result)
			phase := agents.ToolDone
			if end.result.IsError {
				phase = agents.ToolFailed
			}
			r.emit(agents.Event{Tool: &agents.ToolEvent{Name: call.Name, Phase: phase}})
		}
	}
	return results, nil
}

// prepare checks a call. Its error is written for the model.
func (r *runner) prepare(call models.ToolCall) (job, error) {
	tool, ok := r.tools.byName[call.Name]
	if !ok {
		return job{}, fmt.Errorf("there is no tool %q; the tools are: %s", call.Name, r.tools.names())
	}
	arguments, err := parseArguments(call.Name, call.Arguments)
	if err != nil {
		return job{}, notRun(err)
	}
	if err := checkArguments(r.tools.schemas[call.Name], arguments); err != nil {
		return job{}, notRun(err)
	}
	return job{
		tool: tool, name: call.Name, arguments: arguments, key: r.keys.next(call.Name, arguments), timeout: r.timeout(tool),
	}, nil
}

func (r *runner) timeout(tool agents.Tool) time.Duration {
	return cmp.Or(tool.Spec().Timeout, r.cfg.ToolTimeout)
}

func notRun(err error) error {
	return fmt.Errorf("%w; the tool was not run, call it again with valid arguments", err)
}

// call runs one job and reports its end, at the latest when its time is up. A tool
// that does not hear its context end is left behind, as nothing in Go can end it:
// its goroutine lasts until the tool returns, and its result is dropped. A turn
// leaves few of them, see errDeaf.
func (r *runner) call(ctx context.Context, j job, outcomes chan<- outcome) {
	ctx, span := tracing.Child(ctx, "tool")
	span.Note("chatkeep.tool", j.name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := func(result agents.ToolResult) {
		if result.IsError {
			span.Fail("failed")
		}
		span.End() // before the turn's own span
		outcomes <- outcome{j.index, result}
	}
	returned := make(chan agents.ToolResult, 1)
	var left atomic.Bool
	go func() {
		returned <- invoke(ctx, j)
		if !left.CompareAndSwap(false, true) {
			r.deaf.Add(-1)
		}
	}()

	timer := r.clock.NewTimer(j.timeout)
	defer timer.Stop()
	select {
	case result := <-returned:
		end(result)
	case <-timer.C:
		cancel()
		end(refusal(fmt.Errorf("the tool did not answer within %s", j.timeout)))
		r.watch(returned, &left)
	case <-ctx.Done():
		end(refusal(ctx.Err()))
	}
}

// watch counts a call that was told to end until it does.
func (r *runner) watch(returned <-chan agents.ToolResult, left *atomic.Bool) {
	timer := r.clock.NewTimer(deafAfter)
	defer timer.Stop()
	select {
	case <-returned:
	case <-timer.C:
		if left.CompareAndSwap(false, true) {
			r.deaf.Add(1)
		}
	}
}

// errPanic is what a model learns of a tool that panicked.
var errPanic = errors.New("the tool failed with an internal error")

// invoke calls the tool and contains its panic.
func invoke(ctx context.Context, j job) (result agents.ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "tool panicked", "tool", j.name, "panic", panics.Value(p))
			result = refusal(errPanic)
		}
	}()
	result, err := j.tool.Call(ctx, j.arguments, j.key)
	if err != nil {
		return refusal(err)
	}
	return result
}

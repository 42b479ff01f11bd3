package agenttest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// agentFunc is an agent that is a function.
type agentFunc func(context.Context, *agents.Request, func(agents.Event)) (*agents.Response, error)

func (f agentFunc) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	return f(ctx, req, emit)
}

func answer(text string) *agents.Response {
	return &agents.Response{Messages: []*models.SessionMessage{{Role: models.RoleAssistant, Content: text}}, FinishReason: "stop"}
}

// right breaks no rule.
func right(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	emit(agents.Event{Delta: "a"})
	return answer("a"), nil
}

// wrong are agents that each break one rule, and what the suite says of them.
var wrong = map[string]struct {
	behaviour agenttest.Behaviour
	says      string
	agent     agentFunc
}{
	"shows something else": {agenttest.Answers, `shown "a", answered "b"`, func(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		emit(agents.Event{Delta: "a"})
		return answer("b"), context.Cause(ctx)
	}},
	"changes the request": {agenttest.Answers, "messages were changed", func(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		req.Messages[0].Content = "x"
		emit(agents.Event{Delta: "a"})
		return answer("a"), context.Cause(ctx)
	}},
	"ignores a context that is over": {agenttest.Answers, "want the cause of the cancellation", func(_ context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		emit(agents.Event{Delta: "a"})
		return answer("a"), nil
	}},
	"shows two things in one event": {agenttest.Answers, "exactly one of", func(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		emit(agents.Event{Delta: "a", Restart: true})
		return answer("a"), context.Cause(ctx)
	}},
	"leaks": {agenttest.Answers, "found unexpected goroutines", func(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		go func() { select {} }()
		emit(agents.Event{Delta: "a"})
		return answer("a"), context.Cause(ctx)
	}},
	"emits late": {agenttest.Answers, "after Respond had returned", func(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
		emit(agents.Event{Delta: "a"})
		context.AfterFunc(ctx, func() { emit(agents.Event{Delta: "b"}) })
		return answer("a"), context.Cause(ctx)
	}},
	"hangs on": {agenttest.Hangs, "still runs", func(context.Context, *agents.Request, func(agents.Event)) (*agents.Response, error) {
		select {}
	}},
	"does not classify": {agenttest.Fails, "want an *agents.Error", func(context.Context, *agents.Request, func(agents.Event)) (*agents.Response, error) {
		return nil, errors.New("oops")
	}},
	"classifies wrongly": {agenttest.Overflows, `want "overflow"`, func(context.Context, *agents.Request, func(agents.Event)) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errors.New("oops")}
	}},
}

// wrongEnv names the agent that a child process is to test.
const wrongEnv = "AGENTTEST_WRONG"

// TestWrongAgent runs only as a child of the next test, where it must fail.
func TestWrongAgent(t *testing.T) {
	bad, ok := wrong[os.Getenv(wrongEnv)]
	if !ok {
		return
	}
	agenttest.TestAgent(t, agenttest.Suite{
		Behaviours: []agenttest.Behaviour{agenttest.Answers, bad.behaviour},
		New: func(_ *testing.T, b agenttest.Behaviour) (agents.Agent, func()) {
			if b != bad.behaviour {
				return agentFunc(right), func() {}
			}
			return bad.agent, func() {}
		},
	})
}

func TestSuiteCatchesWrongAgents(t *testing.T) {
	for name, bad := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWrongAgent$", "-test.timeout=30s")
			child.Env = append(os.Environ(), wrongEnv+"="+name)
			out, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(out), bad.says) {
				t.Errorf("error %v, output without %q:\n%s", err, bad.says, out)
			}
		})
	}
}

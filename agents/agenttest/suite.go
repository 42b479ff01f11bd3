package agenttest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
)

// Behaviour is what the service behind an agent does in a test.
type Behaviour string

// The behaviours. Every agent can answer; the others are for agents with a service
// that can do so.
const (
	// Answers gives a text of at least two pieces.
	Answers Behaviour = "answers"
	// Hangs takes the turn and says nothing.
	Hangs Behaviour = "hangs"
	// HangsMidway shows a piece and says no more.
	HangsMidway Behaviour = "hangs midway"
	// Recovers shows a piece, fails, and answers when asked again.
	Recovers Behaviour = "recovers"
	// Fails is out of order, for longer than the agent retries.
	Fails Behaviour = "fails"
	// Refuses rejects the request for good.
	Refuses Behaviour = "refuses"
	// Unauthorized rejects the credentials.
	Unauthorized Behaviour = "unauthorized"
	// Overflows finds the context too long.
	Overflows Behaviour = "overflows"
)

// Suite makes agents for [TestAgent].
type Suite struct {
	// Behaviours are those that the agent's service can have. [Answers] is a must.
	Behaviours []Behaviour
	// New returns an agent whose service behaves so, and what closes all it holds
	// open, idle connections included. Its retries must be over within seconds.
	New func(t *testing.T, b Behaviour) (agent agents.Agent, done func())
}

// prompt is how soon an agent must end once its context has, on a busy machine.
const prompt = 5 * time.Second

// TestAgent checks everything that the contract of [agents.Agent] promises.
func TestAgent(t *testing.T, suite Suite) {
	if !slices.Contains(suite.Behaviours, Answers) {
		t.Fatal("every agent must be able to answer")
	}
	tests := []struct {
		name  string
		needs Behaviour
		run   func(*testing.T, *run)
	}{
		{"answers streamed", Answers, testAnswer(true)},
		{"answers whole", Answers, testAnswer(false)},
		{"leaves the request alone", Answers, testRequestUntouched},
		{"serves many at once", Answers, testConcurrent},
		{"refuses a context that is over", Answers, testDeadContext},
		{"ends when cancelled", Hangs, testCancelled},
		{"ends when cancelled midway", HangsMidway, testCancelledMidway},
		{"ends at the deadline", Hangs, testDeadline},
		{"takes back what a failed try showed", Recovers, testAnswer(true)},
		{"tells a failure that may pass", Fails, testKind(agents.Transient)},
		{"tells a refusal", Refuses, testKind(agents.Permanent)},
		{"tells bad credentials", Unauthorized, testKind(agents.Auth)},
		{"tells an overflow", Overflows, testKind(agents.Overflow)},
	}
	for _, test := range tests {
		if !slices.Contains(suite.Behaviours, test.needs) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			agent, done := suite.New(t, test.needs)
			r := &run{agent: agent}
			test.run(t, r)
			done()
			goleak.VerifyNone(t, before)
			r.verify(t)
		})
	}
}

// NewRequest returns a turn with a system prompt, some history and a question.
func NewRequest(stream bool) *agents.Request {
	return &agents.Request{
		InboundID:  "inb_1",
		SessionKey: "agent:a:channel:api:scope:per_peer:u",
		Slot:       models.DefaultSlot,
		AgentID:    "a",
		Channel:    "api",
		Account:    "default",
		Chat:       agents.Chat{ID: "c", Type: "direct"},
		Sender:     agents.Sender{ID: "u", Name: "Lin"},
		Messages: []*models.SessionMessage{
			{Role: models.RoleSystem, Content: "You are helpful."},
			{Role: models.RoleUser, Content: "Hi."},
			{Role: models.RoleAssistant, Content: "Hello."},
			{Role: models.RoleUser, Content: "Say something of some length, 谢谢 👋."},
		},
		Stream: stream,
	}
}

// run is one agent under test and the ways in which its events broke the rules.
type run struct {
	agent agents.Agent

	overlapping, late, malformed atomic.Bool
}

// respond runs a turn and returns what the user sees in the end.
func (r *run) respond(ctx context.Context, req *agents.Request, seen func(agents.Event)) (*agents.Response, string, error) {
	var shown []byte
	var busy, over atomic.Bool
	response, err := r.agent.Respond(ctx, req, func(e agents.Event) {
		if over.Load() {
			r.late.Store(true)
			return
		}
		if !busy.CompareAndSwap(false, true) {
			r.overlapping.Store(true)
			return
		}
		defer busy.Store(false)
		switch {
		case e.Restart && e.Delta == "" && e.Tool == nil:
			shown = nil
		case e.Tool != nil && e.Delta == "" && !e.Restart, e.Delta != "" && e.Tool == nil && !e.Restart:
			shown = append(shown, e.Delta...)
		default:
			r.malformed.Store(true)
		}
		if seen != nil {
			seen(e)
		}
	})
	over.Store(true)
	return response, string(shown), err
}

// verify reports broken rules, after everything of the agent has ended.
func (r *run) verify(t *testing.T) {
	t.Helper()
	if r.overlapping.Load() {
		t.Error("emit was called from two goroutines at a time")
	}
	if r.late.Load() {
		t.Error("emit was called after Respond had returned")
	}
	if r.malformed.Load() {
		t.Error("an event was not exactly one of delta, tool and restart")
	}
}

func checkAnswer(t *testing.T, response *agents.Response, shown string, err error, stream bool) {
	t.Helper()
	if err != nil {
		t.Errorf("Respond: %v", err)
		return
	}
	if len(response.Messages) == 0 {
		t.Error("no messages")
		return
	}
	final := response.Final()
	if final.Role != models.RoleAssistant || final.Content == "" || len(final.ToolCalls) != 0 {
		t.Errorf("final message is %+v, want an assistant's text", final)
	}
	if (stream || shown != "") && shown != final.Content {
		t.Errorf("shown %q, answered %q", shown, final.Content)
	}
	reasons := []string{"stop", "length", "content_filter", "tool_limit"}
	if !slices.Contains(reasons, response.FinishReason) {
		t.Errorf("finish reason %q, want one of %q", response.FinishReason, reasons)
	}
}

func testAnswer(stream bool) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		response, shown, err := r.respond(t.Context(), NewRequest(stream), nil)
		checkAnswer(t, response, shown, err, stream)
	}
}

func testRequestUntouched(t *testing.T, r *run) {
	req := NewRequest(true)
	want := models.CloneMessages(req.Messages)
	_, _, err := r.respond(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(req.Messages, want) {
		t.Error("the request's messages were changed")
	}
}

func testConcurrent(t *testing.T, r *run) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			response, shown, err := r.respond(t.Context(), NewRequest(true), nil)
			checkAnswer(t, response, shown, err, true)
		})
	}
	group.Wait()
}

// errStopped is the cause of a cancellation; it must come back.
var errStopped = errors.New("stopped by the test")

func testDeadContext(t *testing.T, r *run) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	_, _, err := r.respond(ctx, NewRequest(true), nil)
	checkStopped(t, err)
}

func checkStopped(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errStopped) {
		t.Errorf("error is %v, want the cause of the cancellation", err)
	}
}

func testCancelled(t *testing.T, r *run) {
	// Not knowing when the service has the turn, the test cancels at several moments.
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(after, func() { cancel(errStopped) })
		checkStopped(t, r.endsSoon(t, ctx, nil))
		timer.Stop()
	}
}

func testCancelledMidway(t *testing.T, r *run) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	checkStopped(t, r.endsSoon(t, ctx, func(agents.Event) { cancel(errStopped) }))
}

// endsSoon runs a turn that must end shortly after ctx does.
func (r *run) endsSoon(t *testing.T, ctx context.Context, seen func(agents.Event)) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, _, err := r.respond(ctx, NewRequest(true), seen)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	overdue := time.NewTimer(prompt)
	defer overdue.Stop()
	select {
	case err := <-ended:
		return err
	case <-overdue.C:
		t.Fatalf("Respond still runs %s after its context ended", prompt)
		return nil
	}
}

func testDeadline(t *testing.T, r *run) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	checkKind(t, r.endsSoon(t, ctx, nil), agents.Timeout)
}

func testKind(want agents.ErrorKind) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		for _, stream := range []bool{true, false} {
			_, _, err := r.respond(t.Context(), NewRequest(stream), nil)
			checkKind(t, err, want)
		}
	}
}

func checkKind(t *testing.T, err error, want agents.ErrorKind) {
	t.Helper()
	var failure *agents.Error
	if !errors.As(err, &failure) {
		t.Errorf("error is %v, want an *agents.Error", err)
		return
	}
	if failure.Kind != want || failure.Err == nil {
		t.Errorf("error is of kind %q (%v), want %q with a cause", failure.Kind, err, want)
	}
}

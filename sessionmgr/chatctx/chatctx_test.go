package chatctx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

func manager(t testing.TB, opts ...Option) *ContextManager {
	t.Helper()
	m := NewContextManager(opts...)
	for _, id := range []string{"assistant", "other"} {
		if err := m.RegisterAgent(&AgentContext{AgentID: id, Name: "Name of " + id}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestRunInFullContext(t *testing.T) {
	m := manager(t)
	request := &RequestContext{UserID: "ou_1", TraceID: "trace"}
	var inside context.Context
	err := m.RunInFullContext(t.Context(), request, "key", "assistant", func(ctx context.Context) error {
		inside = ctx
		r, ok := RequestFromContext(ctx)
		if !ok || r != request || r.RequestID == "" || r.Timeout != DefaultTimeout || r.StartTime.IsZero() {
			t.Errorf("request = %+v", r)
		}
		if key, ok := SessionKeyFromContext(ctx); !ok || key != "key" {
			t.Errorf("session key = %q", key)
		}
		if a, ok := AgentFromContext(ctx); !ok || a.Name != "Name of assistant" {
			t.Errorf("agent = %+v", a)
		}
		if deadline, ok := ctx.Deadline(); !ok || deadline.Sub(clock.Real().Now()) > DefaultTimeout {
			t.Errorf("deadline = %v, %v", deadline, ok)
		}
		if got := m.Stats(); got != (Stats{1, 1, 1}) {
			t.Errorf("Stats = %+v", got)
		}
		// The package's function finds the manager in the context.
		return RunInFullContext(ctx, nil, "key2", "other", func(context.Context) error {
			if got := m.Stats(); got != (Stats{2, 2, 2}) {
				t.Errorf("Stats = %+v", got)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Stats(); got != (Stats{}) || len(m.List()) != 0 {
		t.Errorf("left behind: %+v", got)
	}
	if inside.Err() == nil {
		t.Error("the context outlives its request")
	}
}

func TestRunInFullContextRefuses(t *testing.T) {
	m := manager(t)
	never := func(context.Context) error { t.Error("fn ran"); return nil }
	if err := m.RunInFullContext(t.Context(), nil, "key", "nobody", never); !errors.Is(err, ErrUnknownAgent) {
		t.Errorf("unknown agent: %v", err)
	}
	if err := RunInFullContext(t.Context(), nil, "key", "assistant", never); !errors.Is(err, ErrNoContextManager) {
		t.Errorf("no manager: %v", err)
	}
	m.UnregisterAgent("other")
	if err := m.RunInFullContext(t.Context(), nil, "key", "other", never); !errors.Is(err, ErrUnknownAgent) {
		t.Errorf("unregistered agent: %v", err)
	}
	if err := m.RegisterAgent(nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("nil agent: %v", err)
	}
	request := &RequestContext{}
	err := m.RunInFullContext(t.Context(), request, "key", "assistant", func(ctx context.Context) error {
		if err := m.RunInFullContext(ctx, request, "key", "assistant", never); !errors.Is(err, ErrInvalid) {
			t.Errorf("running request: %v", err)
		}
		return ctx.Err()
	})
	if err != nil {
		t.Errorf("refusing the second run hurt the first: %v", err)
	}
}

func TestFnErrorAndPanicLeaveNothing(t *testing.T) {
	m := manager(t)
	failure := errors.New("failed")
	if err := m.RunInFullContext(t.Context(), nil, "key", "assistant", func(context.Context) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error = %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = m.RunInFullContext(t.Context(), nil, "key", "assistant", func(context.Context) error { panic("x") })
	}()
	if got := m.Stats(); got != (Stats{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager(t)
		request := &RequestContext{Timeout: time.Minute}
		err := m.RunInFullContext(t.Context(), request, "key", "assistant", func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cause = %v", err)
		}
		if !request.IsTimeout() || request.Elapsed() != time.Minute {
			t.Errorf("IsTimeout = %v, Elapsed = %v", request.IsTimeout(), request.Elapsed())
		}
	})
}

func TestStartTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := &RequestContext{Timeout: time.Minute, StartTime: clock.Real().Now().Add(-2 * time.Minute)}
		ctx := WithRequest(t.Context(), request)
		defer request.Cancel(nil)
		if !request.IsTimeout() || ctx.Err() == nil {
			t.Errorf("a request that began too long ago goes on: %v", ctx.Err())
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.NewFake(time.Unix(1000, 0))
		m := manager(t, WithClock(now))
		cause := errors.New("stopped")
		causes := make([]error, 3)
		var wg sync.WaitGroup
		for i, session := range []string{"a", "b", "b"} {
			wg.Go(func() {
				causes[i] = m.RunInFullContext(t.Context(), &RequestContext{RequestID: fmt.Sprint("r", i)}, session, "assistant", func(ctx context.Context) error {
					<-ctx.Done()
					return context.Cause(ctx)
				})
			})
		}
		synctest.Wait()
		now.Advance(time.Second)
		list := m.List()
		if len(list) != 3 || list[0].RequestID != "r0" || list[0].Age != time.Second || list[2].SessionKey != "b" {
			t.Errorf("List = %+v", list)
		}
		if m.Cancel("absent", cause) {
			t.Error("cancelled what is not there")
		}
		if !m.Cancel("r0", cause) || m.CancelSession("b", nil) != 2 {
			t.Error("not all cancelled")
		}
		wg.Wait()
		if !errors.Is(causes[0], cause) || !errors.Is(causes[1], ErrCancelled) || !errors.Is(causes[2], ErrCancelled) {
			t.Errorf("causes = %v", causes)
		}
		if got := m.Stats(); got != (Stats{}) {
			t.Errorf("left behind: %+v", got)
		}
	})
}

func TestCancelBeforeStart(t *testing.T) {
	request := &RequestContext{}
	cause := errors.New("too late")
	request.Cancel(cause)
	request.Cancel(errors.New("second"))
	if ctx := WithRequest(t.Context(), request); !errors.Is(context.Cause(ctx), cause) {
		t.Errorf("cause = %v", context.Cause(ctx))
	}
}

func TestEmptyContext(t *testing.T) {
	ctx := t.Context()
	if _, ok := RequestFromContext(ctx); ok {
		t.Error("request")
	}
	if _, ok := AgentFromContext(WithAgent(ctx, nil)); ok {
		t.Error("agent")
	}
	if _, ok := SessionKeyFromContext(WithSessionKey(ctx, "")); ok {
		t.Error("session key")
	}
	var r RequestContext
	if r.Elapsed() != 0 || r.IsTimeout() {
		t.Error("a request that has not begun has used time")
	}
	again := WithRequest(ctx, nil)
	r2, ok := RequestFromContext(again)
	if !ok {
		t.Fatal("nil request has no defaults")
	}
	r2.Cancel(nil)
}

func TestAgentTools(t *testing.T) {
	a := &AgentContext{AgentID: "a", CustomData: map[string]json.RawMessage{"k": json.RawMessage("1")}}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := a.RegisterTool(Tool{Name: fmt.Sprint("tool", i)}); err != nil {
				t.Error(err)
			}
			a.GetTool("tool0")
			a.GetAllTools()
		})
	}
	wg.Wait()
	if err := a.RegisterTool(Tool{Name: "tool3"}); !errors.Is(err, ErrToolExists) {
		t.Errorf("second of a name: %v", err)
	}
	if err := a.RegisterTool(Tool{Name: " "}); !errors.Is(err, ErrInvalid) {
		t.Errorf("blank name: %v", err)
	}
	if tool, ok := a.GetTool("tool7"); !ok || tool.Name != "tool7" {
		t.Errorf("GetTool = %+v, %v", tool, ok)
	}
	if _, ok := a.GetTool("absent"); ok {
		t.Error("found an absent tool")
	}
	if n := len(a.GetAllTools()); n != 20 {
		t.Errorf("%d tools", n)
	}
}

func TestRunsDoNotShareTools(t *testing.T) {
	m := manager(t)
	for range 2 {
		err := m.RunInFullContext(t.Context(), nil, "key", "assistant", func(ctx context.Context) error {
			a, _ := AgentFromContext(ctx)
			return a.RegisterTool(Tool{Name: "of this request"})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(NewLogHandler(slog.NewJSONHandler(&out, nil))).With("fixed", 1)
	m := manager(t)
	err := m.RunInFullContext(t.Context(), &RequestContext{RequestID: "r1", TraceID: "t1"}, "k1", "assistant", func(ctx context.Context) error {
		log.InfoContext(ctx, "inside")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"request_id":"r1"`, `"trace_id":"t1"`, `"session":"k1"`, `"agent":"assistant"`, `"fixed":1`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
	out.Reset()
	log.WithGroup("g").Info("outside")
	if strings.Contains(out.String(), LogRequestID) {
		t.Errorf("ids from nowhere: %s", out.String())
	}
}

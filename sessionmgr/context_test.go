package sessionmgr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

func TestNewSessionContext(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			ctx, err := sessionmgr.NewSessionContext(t.Context(), mgr, request("ou_1"))
			check(t, err)
			session, ok := sessionmgr.SessionFromContext(ctx)
			if key, _ := sessionmgr.SessionKeyFromContext(ctx); !ok || key != session.Key {
				t.Errorf("session %+v, key %s", session, key)
			}
			if got, ok := sessionmgr.SessionManagerFromContext(ctx); !ok || got != mgr {
				t.Error("no manager")
			}
			if _, err := sessionmgr.NewSessionContext(t.Context(), nil, request("ou_1")); !errors.Is(err, sessionmgr.ErrInvalid) {
				t.Errorf("nil manager: %v", err)
			}
			if _, err := sessionmgr.NewSessionContext(t.Context(), mgr, request("")); !errors.Is(err, sessionmgr.ErrInvalid) {
				t.Errorf("no peer: %v", err)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			in := func(user string) context.Context {
				ctx, err := sessionmgr.NewSessionContext(t.Context(), mgr, request(user))
				check(t, err)
				return ctx
			}
			ctx := in("ou_1")
			check(t, sessionmgr.SetVariable(ctx, "lang", "zh"))
			check(t, sessionmgr.SetVariable(ctx, "n", 3))
			check(t, sessionmgr.SetVariable(ctx, "list", []string{"a", "b"}))

			again := in("ou_1") // a later turn of the same session
			if got := sessionmgr.GetVariable(again, "lang", "en"); got != "zh" {
				t.Errorf("lang = %q", got)
			}
			if got := sessionmgr.GetVariable(again, "n", 0); got != 3 {
				t.Errorf("n = %d", got)
			}
			if got := sessionmgr.GetVariable(again, "list", []string(nil)); len(got) != 2 {
				t.Errorf("list = %v", got)
			}
			if got := sessionmgr.GetVariable(again, "lang", 7); got != 7 {
				t.Errorf("lang as a number = %d", got)
			}
			if got := sessionmgr.GetVariable(in("ou_2"), "lang", "none"); got != "none" {
				t.Errorf("another session sees %q", got)
			}

			all, err := sessionmgr.Variables(again)
			check(t, err)
			if len(all) != 3 || string(all["lang"]) != `"zh"` {
				t.Errorf("all = %s", all)
			}
			all["lang"][1] = 'X'
			if got := sessionmgr.GetVariable(ctx, "lang", ""); got != "zh" {
				t.Errorf("a reader changed it to %q", got)
			}

			check(t, sessionmgr.DeleteVariable(ctx, "n"))
			check(t, sessionmgr.DeleteVariable(ctx, "n"))
			if got := sessionmgr.GetVariable(again, "n", -1); got != -1 {
				t.Errorf("deleted n = %d", got)
			}

			key, _ := sessionmgr.SessionKeyFromContext(ctx)
			check(t, mgr.Delete(ctx, key))
			if err := sessionmgr.SetVariable(ctx, "x", 1); !errors.Is(err, sessionmgr.ErrSessionNotFound) {
				t.Errorf("set after delete: %v", err)
			}
			if got := sessionmgr.GetVariable(in("ou_1"), "lang", "none"); got != "none" {
				t.Errorf("a new session remembers %q", got)
			}
		})
	}
}

func TestVariablesRefused(t *testing.T) {
	mgr := sessionmgr.New(sessionmgr.NewMemoryStorage(), sessionmgr.Config{})
	ctx, err := sessionmgr.NewSessionContext(t.Context(), mgr, request("ou_1"))
	check(t, err)
	for name, err := range map[string]error{
		"no name":   sessionmgr.SetVariable(ctx, "", 1),
		"newline":   sessionmgr.SetVariable(ctx, "a\nb", 1),
		"long name": sessionmgr.SetVariable(ctx, strings.Repeat("x", 257), 1),
		"no JSON":   sessionmgr.SetVariable(ctx, "a", func() {}),
		"raw":       sessionmgr.SetVariable(ctx, "a", json.RawMessage("{")),
	} {
		if !errors.Is(err, sessionmgr.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sessionmgr.SetVariable(ctx, "a", strings.Repeat("x", sessionmgr.MaxVariable)); !errors.Is(err, sessionmgr.ErrTooLarge) {
		t.Errorf("large: %v", err)
	}
	for name, ctx := range map[string]context.Context{
		"empty":      t.Context(),
		"no manager": sessionmgr.WithSessionKey(t.Context(), "key"),
		"hidden":     sessionmgr.WithSession(ctx, nil),
	} {
		if err := sessionmgr.SetVariable(ctx, "a", 1); !errors.Is(err, sessionmgr.ErrNoSession) {
			t.Errorf("%s: %v", name, err)
		}
		if got := sessionmgr.GetVariable(ctx, "a", "def"); got != "def" {
			t.Errorf("%s: %q", name, got)
		}
		if err := sessionmgr.DeleteVariable(ctx, "a"); !errors.Is(err, sessionmgr.ErrNoSession) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunInFullContext(t *testing.T) {
	mgr := sessionmgr.New(sessionmgr.NewMemoryStorage(), sessionmgr.Config{})
	contexts := sessionmgr.NewContextManager()
	check(t, contexts.RegisterAgent(&sessionmgr.AgentContext{AgentID: "assistant"}))
	session := open(t, mgr, "ou_1")
	ctx := sessionmgr.WithContextManager(sessionmgr.WithSessionManager(t.Context(), mgr), contexts)

	ran := 0
	check(t, sessionmgr.RunInFullContext(ctx, &sessionmgr.RequestContext{UserID: "ou_1"}, session.Key, "assistant", func(ctx context.Context) error {
		ran++
		if s, ok := sessionmgr.SessionFromContext(ctx); !ok || s.Key != session.Key {
			t.Errorf("session %+v", s)
		}
		if r, ok := sessionmgr.RequestFromContext(ctx); !ok || r.UserID != "ou_1" {
			t.Errorf("request %+v", r)
		}
		if a, ok := sessionmgr.AgentFromContext(ctx); !ok || a.AgentID != "assistant" {
			t.Errorf("agent %+v", a)
		}
		return sessionmgr.SetVariable(ctx, "seen", true)
	}))
	check(t, sessionmgr.RunInFullContext(ctx, nil, "agent:a:channel:any:scope:main:main", "assistant", func(ctx context.Context) error {
		ran++
		if s, ok := sessionmgr.SessionFromContext(ctx); ok {
			t.Errorf("a session from nowhere: %+v", s)
		}
		return nil
	}))
	if ran != 2 {
		t.Errorf("ran %d times", ran)
	}
	err := sessionmgr.RunInFullContext(ctx, nil, session.Key, "nobody", func(context.Context) error { t.Error("ran"); return nil })
	if !errors.Is(err, sessionmgr.ErrUnknownAgent) {
		t.Errorf("unknown agent: %v", err)
	}
	if got := contexts.Stats(); got != (sessionmgr.ContextStats{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func ExampleNewSessionContext() {
	mgr := sessionmgr.New(sessionmgr.NewMemoryStorage(), sessionmgr.DefaultConfig())
	ctx, err := sessionmgr.NewSessionContext(context.Background(), mgr, sessionmgr.SessionRequest{
		AgentID: "assistant", Channel: "feishu", Account: "main", Scope: models.ScopePerPeer, UserID: "ou_1",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := sessionmgr.SetVariable(ctx, "language", "zh"); err != nil {
		fmt.Println(err)
		return
	}
	key, _ := sessionmgr.SessionKeyFromContext(ctx)
	fmt.Println(key)
	fmt.Println(sessionmgr.GetVariable(ctx, "language", "en"))
	// Output:
	// agent:assistant:channel:any:scope:per_peer:feishu/main/ou_1
	// zh
}

func ExampleRunInFullContext() {
	contexts := sessionmgr.NewContextManager()
	agent := &sessionmgr.AgentContext{AgentID: "assistant", Name: "Assistant", Skills: []string{"search"}}
	if err := contexts.RegisterAgent(agent); err != nil {
		fmt.Println(err)
		return
	}
	ctx := sessionmgr.WithContextManager(context.Background(), contexts)
	request := &sessionmgr.RequestContext{RequestID: "req-1", UserID: "ou_1"}
	err := sessionmgr.RunInFullContext(ctx, request, "agent:assistant:channel:any:scope:main:main", "assistant", func(ctx context.Context) error {
		agent, _ := sessionmgr.AgentFromContext(ctx)
		fmt.Println(agent.Name, contexts.Stats())
		return nil
	})
	fmt.Println(err, contexts.Stats())
	err = sessionmgr.RunInFullContext(ctx, nil, "", "nobody", func(context.Context) error { return nil })
	fmt.Println(errors.Is(err, sessionmgr.ErrUnknownAgent))
	// Output:
	// Assistant {1 1 1}
	// <nil> {0 0 0}
	// true
}

package sessionmgr_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a manager whose time a test moves.
type fixture struct {
	sessionmgr.SessionManager
	now *clock.Fake
}

// managers returns one over the storage of the package and one over a minimal one.
func managers(cfg sessionmgr.Config) map[string]fixture {
	all := map[string]fixture{}
	for name, storage := range map[string]sessionmgr.SessionStorage{"memory": sessionmgr.NewMemoryStorage(), "third party": newJSONStorage()} {
		now := clock.NewFake(start)
		all[name] = fixture{sessionmgr.New(storage, cfg, sessionmgr.WithClock(now)), now}
	}
	return all
}

func request(user string) sessionmgr.SessionRequest {
	return sessionmgr.SessionRequest{AgentID: "assistant", Channel: "feishu", Account: "main", Scope: models.ScopePerPeer, UserID: user}
}

func open(t *testing.T, mgr sessionmgr.SessionManager, user string) *models.Session {
	t.Helper()
	session, err := mgr.GetOrCreate(t.Context(), request(user))
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func say(role models.Role, text string) *models.SessionMessage {
	return &models.SessionMessage{Role: role, Content: text}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func texts(messages []*models.SessionMessage) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return strings.Join(all, " ")
}

func TestGetOrCreate(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr, now := m.SessionManager, m.now
			session := open(t, mgr, "ou_1")
			want := models.Session{
				Key: "agent:assistant:channel:any:scope:per_peer:feishu/main/ou_1", AgentID: "assistant", Channel: "feishu", Account: "main",
				Scope: models.ScopePerPeer, ScopeID: "feishu/main/ou_1", State: models.SessionActive, CurrentSlot: "default",
				CreatedAt: start, LastActivityAt: start, UpdatedAt: start,
			}
			session.Messages = nil
			if fmt.Sprintf("%+v", *session) != fmt.Sprintf("%+v", want) {
				t.Errorf("created\n%+v, want\n%+v", *session, want)
			}
			now.Advance(time.Hour)
			check(t, mgr.AddMessage(t.Context(), session.Key, say(models.RoleUser, "hi")))
			again := open(t, mgr, "ou_1")
			if again.Key != session.Key || !again.CreatedAt.Equal(start) || texts(again.Messages) != "hi" {
				t.Errorf("found %+v", again)
			}
			for name, req := range map[string]sessionmgr.SessionRequest{"empty": {}, "no peer": request(""), "bad scope": {AgentID: "a", Scope: "x", ScopeID: "y"}} {
				if _, err := mgr.GetOrCreate(t.Context(), req); !errors.Is(err, sessionmgr.ErrInvalid) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestRacingCreatorsGetOneSession(t *testing.T) {
	storage := newJSONStorage()
	// Two managers are two processes: their locks do not know each other.
	managers := []sessionmgr.SessionManager{sessionmgr.New(storage, sessionmgr.Config{}), sessionmgr.New(storage, sessionmgr.Config{})}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			session, err := managers[i%2].GetOrCreate(t.Context(), request("ou_1"))
			if err != nil || session.ScopeID != "feishu/main/ou_1" {
				t.Errorf("%+v, %v", session, err)
			}
		})
	}
	wg.Wait()
	if sessions, err := managers[0].List(t.Context(), sessionmgr.SessionQuery{}); err != nil || len(sessions) != 1 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}

func TestUnknownSession(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			ctx := t.Context()
			for _, key := range []string{"", "nonsense", "agent:a:channel:any:scope:main:main", strings.Repeat("x", 10_000)} {
				_, get := mgr.Get(ctx, key)
				_, history := mgr.GetHistory(ctx, key, 1)
				_, compact := mgr.CompactIfNeeded(ctx, key)
				for name, err := range map[string]error{
					"Get": get, "GetHistory": history, "CompactIfNeeded": compact, "Delete": mgr.Delete(ctx, key),
					"Update": mgr.Update(ctx, &models.Session{Key: key}), "AddMessage": mgr.AddMessage(ctx, key, say(models.RoleUser, "x")),
				} {
					if !errors.Is(err, sessionmgr.ErrSessionNotFound) {
						t.Errorf("%s of %.20q: %v", name, key, err)
					}
				}
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr, now := m.SessionManager, m.now
			ctx := t.Context()
			stale := open(t, mgr, "ou_1")
			now.Advance(time.Minute)
			check(t, mgr.AddMessage(ctx, stale.Key, say(models.RoleUser, "hi")))
			now.Advance(time.Minute)

			stale.Title, stale.Pinned, stale.Messages = "旅行", true, []*models.SessionMessage{say(models.RoleUser, "smuggled")}
			stale.AgentID, stale.MessageCount, stale.State, stale.CurrentSlot = "other", 99, "", ""
			check(t, mgr.Update(ctx, stale))
			got, err := mgr.Get(ctx, stale.Key)
			check(t, err)
			if got.Title != "旅行" || !got.Pinned || !got.UpdatedAt.Equal(start.Add(2*time.Minute)) {
				t.Errorf("not updated: %+v", got)
			}
			if got.AgentID != "assistant" || got.MessageCount != 1 || got.TotalTokenCount == 0 || !got.LastActivityAt.Equal(start.Add(time.Minute)) || got.State != models.SessionActive || got.CurrentSlot != "default" {
				t.Errorf("a stale copy undid what happened: %+v", got)
			}
			if texts(got.Messages) != "hi" {
				t.Errorf("messages are %s", texts(got.Messages))
			}
			for name, c := range map[string]struct {
				s    *models.Session
				want error
			}{
				"nil":        {nil, sessionmgr.ErrInvalid},
				"state":      {&models.Session{Key: stale.Key, State: "asleep"}, sessionmgr.ErrInvalid},
				"slot":       {&models.Session{Key: stale.Key, CurrentSlot: "a b"}, sessionmgr.ErrInvalid},
				"not UTF-8":  {&models.Session{Key: stale.Key, Title: "\xff"}, sessionmgr.ErrInvalid},
				"long title": {&models.Session{Key: stale.Key, Title: strings.Repeat("x", models.MaxTitle+1)}, sessionmgr.ErrTooLarge},
			} {
				if err := mgr.Update(ctx, c.s); !errors.Is(err, c.want) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestCurrentSlot(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{MaxMessages: 2}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			ctx := t.Context()
			session := open(t, mgr, "ou_1")
			add := func(text string) {
				m := say(models.RoleUser, text)
				m.Slot = "of no account"
				check(t, mgr.AddMessage(ctx, session.Key, m))
			}
			switchTo := func(slot string) {
				session.CurrentSlot = slot
				check(t, mgr.Update(ctx, session))
			}
			for i := range 3 {
				add(fmt.Sprint("d", i))
			}
			switchTo("side")
			for i := range 5 {
				add(fmt.Sprint("s", i))
			}
			got, err := mgr.Get(ctx, session.Key)
			check(t, err)
			if texts(got.Messages) != "s3 s4" {
				t.Errorf("side shows %s", texts(got.Messages))
			}
			switchTo("default")
			got, err = mgr.Get(ctx, session.Key)
			check(t, err)
			if texts(got.Messages) != "d1 d2" || got.MessageCount != 8 {
				t.Errorf("default shows %s of %d", texts(got.Messages), got.MessageCount)
			}
			if all, err := mgr.GetHistory(ctx, session.Key, 100); err != nil || texts(all) != "d0 d1 d2" {
				t.Errorf("all of default: %s, %v", texts(all), err)
			}
		})
	}
}

func TestListAndDelete(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			ctx := t.Context()
			a, b := open(t, mgr, "a"), open(t, mgr, "b")
			check(t, mgr.AddMessage(ctx, a.Key, say(models.RoleUser, "hi")))
			sessions, err := mgr.List(ctx, sessionmgr.SessionQuery{Scope: models.ScopePerPeer, Limit: -1, Offset: -1})
			check(t, err)
			if len(sessions) != 2 || sessions[0].Messages != nil || sessions[1].Messages != nil {
				t.Errorf("listed %+v", sessions)
			}
			check(t, mgr.Delete(ctx, a.Key))
			if sessions, err = mgr.List(ctx, sessionmgr.SessionQuery{}); err != nil || len(sessions) != 1 || sessions[0].Key != b.Key {
				t.Errorf("left %+v, %v", sessions, err)
			}
			if again := open(t, mgr, "a"); again.MessageCount != 0 || len(again.Messages) != 0 {
				t.Errorf("a new session remembers %+v", again)
			}
		})
	}
}

func TestNewRefusesNil(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New(nil) returned")
		}
	}()
	sessionmgr.New(nil, sessionmgr.Config{})
}

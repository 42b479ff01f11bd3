package sessionmgr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

func TestAddMessage(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{MaxMessages: 3}) {
		t.Run(name, func(t *testing.T) {
			mgr, now := m.SessionManager, m.now
			key := open(t, mgr, "ou_1").Key
			for i := range 5 {
				now.Advance(time.Second)
				given := say(models.RoleAssistant, fmt.Sprint("m", i))
				check(t, mgr.AddMessage(t.Context(), key, given))
				if given.ID != "" || given.Seq != 0 {
					t.Error("the caller's message was changed")
				}
			}
			session, err := mgr.Get(t.Context(), key)
			check(t, err)
			if got := texts(session.Messages); got != "m2 m3 m4" {
				t.Errorf("Get has %s", got)
			}
			last := session.Messages[2]
			if last.Seq != 5 || last.Slot != "default" || !last.CreatedAt.Equal(start.Add(5*time.Second)) || last.TokenCount <= 0 || !strings.HasPrefix(last.ID, "msg_") {
				t.Errorf("last message is %+v", last)
			}
			if session.MessageCount != 5 || session.TotalTokenCount != 5*last.TokenCount || !session.LastActivityAt.Equal(start.Add(5*time.Second)) {
				t.Errorf("counted %d messages, %d tokens, active %v", session.MessageCount, session.TotalTokenCount, session.LastActivityAt)
			}
			for limit, want := range map[int]string{1: "m4", 4: "m1 m2 m3 m4", 99: "m0 m1 m2 m3 m4", 0: "m0 m1 m2 m3 m4"} {
				if got, err := mgr.GetHistory(t.Context(), key, limit); err != nil || texts(got) != want {
					t.Errorf("GetHistory(%d) = %s, %v", limit, texts(got), err)
				}
			}
			whole := &models.SessionMessage{ID: "msg_x", Role: models.RoleUser, Content: "kept", TokenCount: 77, CreatedAt: start.Add(-time.Hour), SenderID: "ou_1"}
			check(t, mgr.AddMessage(t.Context(), key, whole))
			got, err := mgr.GetHistory(t.Context(), key, 1)
			check(t, err)
			if got[0].ID != "msg_x" || got[0].TokenCount != 77 || !got[0].CreatedAt.Equal(start.Add(-time.Hour)) {
				t.Errorf("what was given was changed: %+v", got[0])
			}
		})
	}
}

func TestMessagesAreChecked(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			key := open(t, mgr, "ou_1").Key
			bad := map[string]struct {
				m    *models.SessionMessage
				want error
			}{
				"nil":           {nil, sessionmgr.ErrInvalid},
				"no role":       {say("", "x"), sessionmgr.ErrInvalid},
				"other role":    {say("developer", "x"), sessionmgr.ErrInvalid},
				"not UTF-8":     {say(models.RoleUser, "\xff"), sessionmgr.ErrInvalid},
				"NUL":           {say(models.RoleUser, "a\x00b"), sessionmgr.ErrInvalid},
				"NUL in a name": {&models.SessionMessage{Role: models.RoleUser, SenderName: "\x00"}, sessionmgr.ErrInvalid},
				"bad arguments": {&models.SessionMessage{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{Arguments: "\xff"}}}, sessionmgr.ErrInvalid},
				"negative":      {&models.SessionMessage{Role: models.RoleUser, TokenCount: -1}, sessionmgr.ErrInvalid},
				"too large":     {say(models.RoleUser, strings.Repeat("x", models.MaxContent+1)), sessionmgr.ErrTooLarge},
				"large image":   {&models.SessionMessage{Role: models.RoleUser, Images: []string{strings.Repeat("x", models.MaxContent+1)}}, sessionmgr.ErrTooLarge},
			}
			for name, c := range bad {
				if err := mgr.AddMessage(t.Context(), key, c.m); !errors.Is(err, c.want) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := mgr.AddMessage(t.Context(), key, say(models.RoleUser, strings.Repeat("x", models.MaxContent))); err != nil {
				t.Errorf("the largest: %v", err)
			}
			if session, err := mgr.Get(t.Context(), key); err != nil || session.MessageCount != 1 {
				t.Errorf("%d messages, %v", session.MessageCount, err)
			}
		})
	}
}

func TestOnlyPeopleWakeASession(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			ctx := t.Context()
			session := open(t, mgr, "ou_1")
			state := func() models.SessionState {
				s, err := mgr.Get(ctx, session.Key)
				check(t, err)
				return s.State
			}
			session.State = models.SessionArchived
			check(t, mgr.Update(ctx, session))
			check(t, mgr.AddMessage(ctx, session.Key, say(models.RoleAssistant, "pushed")))
			check(t, mgr.AddMessage(ctx, session.Key, &models.SessionMessage{Role: models.RoleUser, Content: "overheard", Observed: true}))
			if got := state(); got != models.SessionArchived {
				t.Errorf("bookkeeping made it %s", got)
			}
			check(t, mgr.AddMessage(ctx, session.Key, say(models.RoleUser, "hi")))
			if got := state(); got != models.SessionActive {
				t.Errorf("a user left it %s", got)
			}
		})
	}
}

func TestConcurrentAppendsAreCounted(t *testing.T) {
	for name, m := range managers(sessionmgr.Config{}) {
		t.Run(name, func(t *testing.T) {
			mgr := m.SessionManager
			key := open(t, mgr, "ou_1").Key
			shared := say(models.RoleUser, "x")
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 10 {
						if err := mgr.AddMessage(t.Context(), key, shared); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			session, err := mgr.Get(t.Context(), key)
			check(t, err)
			if session.MessageCount != 80 || len(session.Messages) != 80 {
				t.Errorf("counted %d, hold %d", session.MessageCount, len(session.Messages))
			}
			for i, m := range session.Messages {
				if m.Seq != int64(i+1) {
					t.Fatalf("message %d has seq %d", i, m.Seq)
				}
			}
		})
	}
}

func TestAppendTurn(t *testing.T) {
	ctx := t.Context()
	turn := []*models.SessionMessage{say(models.RoleUser, "u"), say(models.RoleAssistant, "a")}

	third := sessionmgr.New(newJSONStorage(), sessionmgr.Config{})
	key := open(t, third, "ou_1").Key
	if err := third.AppendTurn(ctx, key, turn); !errors.Is(err, sessionmgr.ErrTurnsUnsupported) {
		t.Errorf("over a storage without turns: %v", err)
	}
	if got, err := third.GetHistory(ctx, key, 0); err != nil || len(got) != 0 {
		t.Errorf("half a turn: %s, %v", texts(got), err)
	}

	mgr := sessionmgr.New(sessionmgr.NewMemoryStorage(), sessionmgr.Config{})
	open(t, mgr, "ou_1")
	check(t, mgr.AppendTurn(ctx, key, turn))
	check(t, mgr.AppendTurn(ctx, key, nil))
	if err := mgr.AppendTurn(ctx, key, []*models.SessionMessage{say(models.RoleUser, "u"), nil}); !errors.Is(err, sessionmgr.ErrInvalid) {
		t.Errorf("a nil in it: %v", err)
	}
	if err := mgr.AppendTurn(ctx, key, []*models.SessionMessage{say(models.RoleUser, "u"), say("x", "a")}); !errors.Is(err, sessionmgr.ErrInvalid) {
		t.Errorf("a bad one in it: %v", err)
	}
	if err := mgr.AppendTurn(ctx, "absent", turn); !errors.Is(err, sessionmgr.ErrSessionNotFound) {
		t.Errorf("to nothing: %v", err)
	}
	session, err := mgr.Get(ctx, key)
	check(t, err)
	if texts(session.Messages) != "u a" || session.MessageCount != 2 || session.Messages[1].Seq != 2 {
		t.Errorf("%s, counted %d", texts(session.Messages), session.MessageCount)
	}
}

func TestFailedAppendCountsNothing(t *testing.T) {
	storage := newJSONStorage()
	mgr := sessionmgr.New(storage, sessionmgr.Config{})
	key := open(t, mgr, "ou_1").Key
	storage.failAdd = errors.New("disk full")
	if err := mgr.AddMessage(t.Context(), key, say(models.RoleUser, "x")); err == nil {
		t.Fatal("no error")
	}
	session, err := mgr.Get(t.Context(), key)
	check(t, err)
	if session.MessageCount != 0 || session.TotalTokenCount != 0 || len(session.Messages) != 0 {
		t.Errorf("counted %d messages, %d tokens", session.MessageCount, session.TotalTokenCount)
	}
}

// countingStorage keeps counters itself: the manager must leave them alone.
type countingStorage struct{ *sessionmgr.MemoryStorage }

func (countingStorage) KeepsCounters() {}

func TestCounterStorage(t *testing.T) {
	mgr := sessionmgr.New(countingStorage{sessionmgr.NewMemoryStorage()}, sessionmgr.Config{})
	key := open(t, mgr, "ou_1").Key
	check(t, mgr.AddMessage(t.Context(), key, say(models.RoleUser, "x")))
	session, err := mgr.Get(t.Context(), key)
	check(t, err)
	if session.MessageCount != 0 || len(session.Messages) != 1 || session.Messages[0].Seq != 0 {
		t.Errorf("the manager counted %d, gave seq %d", session.MessageCount, session.Messages[0].Seq)
	}
}

func TestWaitingForASessionEnds(t *testing.T) {
	blocked := &blockingStorage{jsonStorage: newJSONStorage(), entered: make(chan struct{}), release: make(chan struct{})}
	mgr := sessionmgr.New(blocked, sessionmgr.Config{})
	key := open(t, mgr, "ou_1").Key
	done := make(chan error)
	go func() { done <- mgr.AddMessage(t.Context(), key, say(models.RoleUser, "x")) }()
	<-blocked.entered
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("gone away")
	cancel(cause)
	if err := mgr.AddMessage(ctx, key, say(models.RoleUser, "y")); !errors.Is(err, cause) {
		t.Errorf("waiting ended with %v", err)
	}
	close(blocked.release)
	check(t, <-done)
}

type blockingStorage struct {
	*jsonStorage
	entered, release chan struct{}
}

func (s *blockingStorage) AddMessage(ctx context.Context, key string, m *models.SessionMessage) error {
	close(s.entered)
	<-s.release
	return s.jsonStorage.AddMessage(ctx, key, m)
}

package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// Factory returns an empty storage. What has to be closed is the test's cleanup.
type Factory func(t *testing.T) sessionmgr.SessionStorage

// Run tests a storage. A storage that is a sessionmgr.TurnStorage is tested as one.
func Run(t *testing.T, newStorage Factory) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, sessionmgr.SessionStorage)
	}{
		{"RoundTrip", testRoundTrip},
		{"Sentinels", testSentinels},
		{"Update", testUpdate},
		{"DeepCopies", testDeepCopies},
		{"NewestMessages", testNewestMessages},
		{"Unicode", testUnicode},
		{"LargeMessage", testLargeMessage},
		{"ByteExactKeys", testByteExactKeys},
		{"DeleteAndCreateAgain", testDeleteAndCreateAgain},
		{"List", testList},
		{"ListPages", testListPages},
		{"ListIsCopied", testListIsCopied},
		{"ConcurrentCreators", testConcurrentCreators},
		{"ConcurrentAppends", testConcurrentAppends},
		{"ConcurrentSessions", testConcurrentSessions},
		{"Turns", testTurns},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStorage(t)) })
	}
}

// base is the time from which the suite counts: whole milliseconds, as any
// database keeps them.
var base = time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)

func newSession(t *testing.T, user string) *models.Session {
	t.Helper()
	k, err := key.Derive(key.Request{AgentID: "assistant", Channel: "feishu", Account: "main", Direct: true, UserID: user})
	if err != nil {
		t.Fatal(err)
	}
	return &models.Session{
		Key: k.String(), AgentID: k.AgentID, Channel: "feishu", Account: "main", Scope: k.Scope, ScopeID: k.ScopeID,
		State: models.SessionActive, CurrentSlot: models.DefaultSlot,
		CreatedAt: base, LastActivityAt: base, UpdatedAt: base,
	}
}

// create stores a session for the user and returns it.
func create(t *testing.T, s sessionmgr.SessionStorage, user string) *models.Session {
	t.Helper()
	session := newSession(t, user)
	must(t, s.Create(t.Context(), session))
	return session
}

func message(n int) *models.SessionMessage {
	return &models.SessionMessage{
		ID: fmt.Sprintf("msg_%04d", n), Seq: int64(n + 1), Slot: models.DefaultSlot, Role: models.RoleUser,
		Content: fmt.Sprint("text ", n), TokenCount: 3, CreatedAt: base.Add(time.Duration(n) * time.Millisecond),
	}
}

func add(t *testing.T, s sessionmgr.SessionStorage, key string, messages ...*models.SessionMessage) {
	t.Helper()
	for _, m := range messages {
		must(t, s.AddMessage(t.Context(), key, m))
	}
}

func history(t *testing.T, s sessionmgr.SessionStorage, key string, limit int) []*models.SessionMessage {
	t.Helper()
	messages, err := s.GetHistory(t.Context(), key, limit)
	must(t, err)
	return messages
}

// contents joins what messages say, for comparing in one line.
func contents(messages []*models.SessionMessage) string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.Content
	}
	return strings.Join(all, "|")
}

func get(t *testing.T, s sessionmgr.SessionStorage, key string) *models.Session {
	t.Helper()
	session, err := s.Get(t.Context(), key)
	must(t, err)
	return session
}

func list(ctx context.Context, t *testing.T, s sessionmgr.SessionStorage, q sessionmgr.SessionQuery) []string {
	t.Helper()
	sessions, err := s.List(ctx, q)
	must(t, err)
	keys := make([]string, len(sessions))
	for i, session := range sessions {
		keys[i] = session.Key
	}
	return keys
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error is %v, want %v", what, err, want)
	}
}

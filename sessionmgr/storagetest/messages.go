package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

func testRoundTrip(t *testing.T, s sessionmgr.SessionStorage) {
	session := newSession(t, "u")
	session.Title, session.Model, session.SystemPrompt, session.Pinned = "title", "model", "prompt", true
	session.MessageCount, session.TotalTokenCount, session.CompactionCount = 3, 400, 1
	session.CompactedSummary = "what was said"
	session.LastActivityAt, session.UpdatedAt = base.Add(time.Second), base.Add(2*time.Second)
	must(t, s.Create(t.Context(), session))
	compareSessions(t, s, get(t, s, session.Key), session)

	whole := &models.SessionMessage{
		ID: "msg_1", Seq: 1, Slot: models.DefaultSlot, Role: models.RoleAssistant, Content: "answer",
		Images:     []string{"https://example.com/a.png", "data:image/png;base64,AAAA"},
		ToolCalls:  []models.ToolCall{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls"}`}, {ID: "call_2", Name: "x", Arguments: "{not json"}},
		TokenCount: 42, IsCompacted: true, SenderID: "ou_1", SenderName: "Lin", PlatformMessageID: "om_1", CreatedAt: base,
	}
	result := &models.SessionMessage{ID: "msg_2", Seq: 2, Slot: models.DefaultSlot, Role: models.RoleTool, ToolCallID: "call_1", CreatedAt: base}
	add(t, s, session.Key, whole, result)
	got := history(t, s, session.Key, 10)
	if len(got) != 2 {
		t.Fatalf("%d messages, want 2", len(got))
	}
	compareMessages(t, got[0], whole)
	compareMessages(t, got[1], result)
}

func testDeepCopies(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	session := newSession(t, "u")
	must(t, s.Create(ctx, session))
	session.Title = "changed by the creator"
	if get(t, s, session.Key).Title != "" {
		t.Error("Create keeps the caller's session")
	}
	read := get(t, s, session.Key)
	read.Title = "changed by a reader"
	if get(t, s, session.Key).Title != "" {
		t.Error("Get gives the kept session away")
	}
	must(t, s.Update(ctx, read))
	read.Title = "changed by the updater"
	if get(t, s, session.Key).Title != "changed by a reader" {
		t.Error("Update keeps the caller's session")
	}

	m := message(0)
	m.Images = []string{"image"}
	m.ToolCalls = []models.ToolCall{{ID: "call", Name: "tool", Arguments: "{}"}}
	want := m.Clone()
	add(t, s, session.Key, m)
	spoil(m)
	compareMessages(t, history(t, s, session.Key, 1)[0], want)
	spoil(history(t, s, session.Key, 1)[0])
	compareMessages(t, history(t, s, session.Key, 1)[0], want)
	_ = append(history(t, s, session.Key, 1)[:0], message(7))
	compareMessages(t, history(t, s, session.Key, 1)[0], want)
}

// spoil changes all that is reachable from a message.
func spoil(m *models.SessionMessage) {
	m.Content = "spoiled"
	m.Images[0] = "spoiled"
	m.ToolCalls[0].Arguments = "spoiled"
}

func testListIsCopied(t *testing.T, s sessionmgr.SessionStorage) {
	session := create(t, s, "u")
	add(t, s, session.Key, message(0))
	sessions, err := s.List(t.Context(), sessionmgr.SessionQuery{})
	must(t, err)
	if len(sessions) != 1 {
		t.Fatalf("%d sessions, want 1", len(sessions))
	}
	if sessions[0].Messages != nil {
		t.Error("List fills Messages")
	}
	sessions[0].Title = "changed by a reader"
	again, err := s.List(t.Context(), sessionmgr.SessionQuery{})
	must(t, err)
	if get(t, s, session.Key).Title != "" || again[0].Title != "" {
		t.Error("List gives the kept session away")
	}
}

func testNewestMessages(t *testing.T, s sessionmgr.SessionStorage) {
	session, other := create(t, s, "u"), create(t, s, "other")
	if got := history(t, s, session.Key, 10); len(got) != 0 {
		t.Errorf("a new session has %s", contents(got))
	}
	const n = 12
	all := make([]*models.SessionMessage, n)
	for i := range n {
		all[i] = message(i)
		// Times run backwards: the order is that of appending.
		all[i].CreatedAt = base.Add(-time.Duration(i) * time.Hour)
		add(t, s, session.Key, all[i])
		add(t, s, other.Key, message(100+i))
	}
	for _, limit := range []int{1, 2, n - 1, n, n + 1, 0, -1} {
		want := all
		if limit > 0 && limit < n {
			want = all[n-limit:]
		}
		if got := history(t, s, session.Key, limit); contents(got) != contents(want) {
			t.Errorf("the newest %d are %s, want %s", limit, contents(got), contents(want))
		}
	}
}

func testUnicode(t *testing.T, s sessionmgr.SessionStorage) {
	session := create(t, s, "u")
	for i, text := range []string{"😀𠮷👨‍👩‍👧", "trailing blank ", " \n\t", "'; DROP TABLE sessions; --", `back\slash "quote" %s %d`, "\u2028\u200b\ufeff", "", "\x01\x1b[0m"} {
		m := message(i)
		m.Content, m.SenderName = text, text
		add(t, s, session.Key, m)
		compareMessages(t, history(t, s, session.Key, 1)[0], m)
	}
}

func testLargeMessage(t *testing.T, s sessionmgr.SessionStorage) {
	session := create(t, s, "u")
	m := message(0)
	m.Content = strings.Repeat("汉字 and more. ", 130_000) // 2.2 MB
	add(t, s, session.Key, m)
	if got := history(t, s, session.Key, 1)[0].Content; got != m.Content {
		t.Errorf("%d bytes came back of %d", len(got), len(m.Content))
	}
}

func testTurns(t *testing.T, s sessionmgr.SessionStorage) {
	turns, ok := s.(sessionmgr.TurnStorage)
	if !ok {
		t.Skip("the storage is no TurnStorage")
	}
	ctx := t.Context()
	wantError(t, "AppendTurn to nothing", turns.AppendTurn(ctx, newSession(t, "nobody").Key, []*models.SessionMessage{message(0)}), sessionmgr.ErrSessionNotFound)
	session := create(t, s, "u")
	turn := []*models.SessionMessage{message(0), message(1), message(2)}
	turn[1].Images = []string{"image"}
	turn[1].ToolCalls = []models.ToolCall{{ID: "call", Name: "tool", Arguments: "{}"}}
	want := models.CloneMessages(turn)
	must(t, turns.AppendTurn(ctx, session.Key, turn))
	spoil(turn[1])
	got := history(t, s, session.Key, 0)
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for i := range want {
		compareMessages(t, got[i], want[i])
	}
}

// compareSessions compares all that a session says of itself, less what a
// CounterStorage keeps by itself.
func compareSessions(t *testing.T, s sessionmgr.SessionStorage, got, want *models.Session) {
	t.Helper()
	g, w := *got, *want
	if _, counts := s.(sessionmgr.CounterStorage); counts {
		w.MessageCount, w.TotalTokenCount = g.MessageCount, g.TotalTokenCount
		w.CompactionCount, w.CompactedSummary = g.CompactionCount, g.CompactedSummary
		w.LastActivityAt, w.UpdatedAt = g.LastActivityAt, g.UpdatedAt
	}
	g.Messages, w.Messages = nil, nil
	for _, at := range []struct {
		name      string
		got, want *time.Time
	}{{"CreatedAt", &g.CreatedAt, &w.CreatedAt}, {"LastActivityAt", &g.LastActivityAt, &w.LastActivityAt}, {"UpdatedAt", &g.UpdatedAt, &w.UpdatedAt}} {
		if !at.got.Equal(*at.want) {
			t.Errorf("%s is %v, want %v", at.name, at.got, at.want)
		}
		*at.got, *at.want = time.Time{}, time.Time{}
	}
	g.LastUserAt, w.LastUserAt = time.Time{}, time.Time{}
	if gs, ws := fmt.Sprintf("%+v", g), fmt.Sprintf("%+v", w); gs != ws {
		t.Errorf("session is\n%s, want\n%s", gs, ws)
	}
}

// compareMessages compares all that a message says but Seq, which a storage may
// give anew. An empty list is as good as none.
func compareMessages(t *testing.T, got, want *models.SessionMessage) {
	t.Helper()
	if !got.CreatedAt.Equal(want.CreatedAt) {
		t.Errorf("CreatedAt is %v, want %v", got.CreatedAt, want.CreatedAt)
	}
	if !slices.Equal(got.Images, want.Images) {
		t.Errorf("images are %q, want %q", got.Images, want.Images)
	}
	if !slices.Equal(got.ToolCalls, want.ToolCalls) {
		t.Errorf("tool calls are %+v, want %+v", got.ToolCalls, want.ToolCalls)
	}
	type plain struct {
		id, slot, content, callID, senderID, senderName, platformID string
		role                                                        models.Role
		tokens                                                      int
		compacted                                                   bool
	}
	of := func(m *models.SessionMessage) plain {
		return plain{m.ID, m.Slot, m.Content, m.ToolCallID, m.SenderID, m.SenderName, m.PlatformMessageID, m.Role, m.TokenCount, m.IsCompacted}
	}
	if of(got) != of(want) {
		t.Errorf("message is %+v, want %+v", of(got), of(want))
	}
}

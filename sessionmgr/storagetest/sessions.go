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

func testSentinels(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	absent := newSession(t, "nobody")
	_, err := s.Get(ctx, absent.Key)
	wantError(t, "Get of nothing", err, sessionmgr.ErrSessionNotFound)
	wantError(t, "Update of nothing", s.Update(ctx, absent), sessionmgr.ErrSessionNotFound)
	wantError(t, "Delete of nothing", s.Delete(ctx, absent.Key), sessionmgr.ErrSessionNotFound)
	wantError(t, "AddMessage to nothing", s.AddMessage(ctx, absent.Key, message(0)), sessionmgr.ErrSessionNotFound)
	_, err = s.GetHistory(ctx, absent.Key, 1)
	wantError(t, "GetHistory of nothing", err, sessionmgr.ErrSessionNotFound)
	_, err = s.Get(ctx, "")
	wantError(t, "Get of the empty key", err, sessionmgr.ErrSessionNotFound)

	session := create(t, s, "u")
	add(t, s, session.Key, message(0))
	second := newSession(t, "u")
	second.Title = "second"
	wantError(t, "second Create", s.Create(ctx, second), sessionmgr.ErrSessionExists)
	if got := get(t, s, session.Key); got.Title != "" {
		t.Error("a refused Create changed the session")
	}
	if got := contents(history(t, s, session.Key, 0)); got != "text 0" {
		t.Errorf("a refused Create changed the messages: %s", got)
	}
}

func testUpdate(t *testing.T, s sessionmgr.SessionStorage) {
	session := create(t, s, "u")
	add(t, s, session.Key, message(0), message(1))
	change := get(t, s, session.Key)
	change.State, change.Title, change.Pinned, change.Model = models.SessionArchived, "旅行 😀", true, "m"
	change.SystemPrompt, change.CompactedSummary, change.CompactionCount = "be brief", "summary", 2
	change.UpdatedAt = base.Add(time.Hour)
	change.Messages = []*models.SessionMessage{message(9)}
	must(t, s.Update(t.Context(), change))
	compareSessions(t, s, get(t, s, session.Key), change)
	if got := contents(history(t, s, session.Key, 0)); got != "text 0|text 1" {
		t.Errorf("Update touched the messages: %s", got)
	}
}

func testByteExactKeys(t *testing.T, s sessionmgr.SessionStorage) {
	users := []string{"ou_Ab", "ou_ab", "OU_AB", "a", "a ", " a", "a\t", "a:b", "a/b", "a%2Fb", "é", "e\u0301", "ß", "ss", "$:LWCP_v1:$aB+/=", "$:LWCP_v1:$ab+/=", "😀", "😁", "ａ"}
	for _, user := range users {
		session := create(t, s, user)
		m := message(0)
		m.Content = user
		add(t, s, session.Key, m)
	}
	for _, user := range users {
		key := newSession(t, user).Key
		if got := get(t, s, key); got.Key != key {
			t.Errorf("Get(%q) returned %q", key, got.Key)
		}
		if got := contents(history(t, s, key, 0)); got != user {
			t.Errorf("messages of %q are %q", user, got)
		}
	}
	long := newSession(t, strings.Repeat("/", models.MaxForeignID))
	must(t, s.Create(t.Context(), long))
	if got := get(t, s, long.Key); got.Key != long.Key || got.ScopeID != long.ScopeID {
		t.Errorf("a key of %d bytes came back with %d", len(long.Key), len(got.Key))
	}
}

func testDeleteAndCreateAgain(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	session, other := create(t, s, "u"), create(t, s, "other")
	add(t, s, session.Key, message(0), message(1))
	add(t, s, other.Key, message(2))
	must(t, s.Delete(ctx, session.Key))
	_, err := s.Get(ctx, session.Key)
	wantError(t, "Get of a deleted session", err, sessionmgr.ErrSessionNotFound)
	_, err = s.GetHistory(ctx, session.Key, 10)
	wantError(t, "GetHistory of a deleted session", err, sessionmgr.ErrSessionNotFound)
	wantError(t, "second Delete", s.Delete(ctx, session.Key), sessionmgr.ErrSessionNotFound)

	create(t, s, "u")
	if got := history(t, s, session.Key, 0); len(got) != 0 {
		t.Errorf("a session created again begins with %s", contents(got))
	}
	add(t, s, session.Key, message(3))
	if got := contents(history(t, s, session.Key, 0)); got != "text 3" {
		t.Errorf("messages = %s", got)
	}
	if got := contents(history(t, s, other.Key, 0)); got != "text 2" {
		t.Errorf("Delete reached another session: %s", got)
	}
}

func testList(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	if got := list(ctx, t, s, sessionmgr.SessionQuery{}); len(got) != 0 {
		t.Errorf("an empty storage lists %v", got)
	}
	keyOf := map[string]string{}
	for _, c := range []struct {
		user, agent, channel string
		scope                models.Scope
		state                models.SessionState
	}{
		{"a", "assistant", "feishu", models.ScopePerPeer, models.SessionActive},
		{"b", "assistant", "dingtalk", models.ScopeThread, models.SessionIdle},
		{"c", "other", "feishu", models.ScopeThread, models.SessionActive},
		{"d", "Other", "feishu", models.ScopeTask, models.SessionArchived},
	} {
		session := newSession(t, c.user)
		session.AgentID, session.Channel, session.Scope, session.State = c.agent, c.channel, c.scope, c.state
		must(t, s.Create(ctx, session))
		keyOf[c.user] = session.Key
	}
	for _, c := range []struct {
		query sessionmgr.SessionQuery
		want  string
	}{
		{sessionmgr.SessionQuery{}, "abcd"},
		{sessionmgr.SessionQuery{AgentID: "assistant"}, "ab"},
		{sessionmgr.SessionQuery{AgentID: "other"}, "c"},
		{sessionmgr.SessionQuery{Channel: "feishu"}, "acd"},
		{sessionmgr.SessionQuery{Scope: models.ScopeThread}, "bc"},
		{sessionmgr.SessionQuery{State: models.SessionActive}, "ac"},
		{sessionmgr.SessionQuery{Channel: "feishu", State: models.SessionActive, Scope: models.ScopeThread}, "c"},
		{sessionmgr.SessionQuery{AgentID: "nobody"}, ""},
	} {
		var want []string
		for _, user := range c.want {
			want = append(want, keyOf[string(user)])
		}
		got := list(ctx, t, s, c.query)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("List(%+v) = %v, want %v", c.query, got, want)
		}
	}
}

func testListPages(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	const n = 23
	for i := range n {
		create(t, s, fmt.Sprint("u", i))
	}
	all := list(ctx, t, s, sessionmgr.SessionQuery{})
	if len(all) != n {
		t.Fatalf("%d sessions listed, want %d", len(all), n)
	}
	if again := list(ctx, t, s, sessionmgr.SessionQuery{}); !slices.Equal(all, again) {
		t.Error("the order changes by itself")
	}
	for _, size := range []int{1, 5, n, n + 1} {
		var pages []string
		for offset := 0; len(pages) <= n; offset += size {
			page := list(ctx, t, s, sessionmgr.SessionQuery{Channel: "feishu", Limit: size, Offset: offset})
			if len(page) > size {
				t.Fatalf("%d sessions on a page of %d", len(page), size)
			}
			if len(page) == 0 {
				break
			}
			pages = append(pages, page...)
		}
		if !slices.Equal(pages, all) {
			t.Errorf("pages of %d do not add up to the whole list", size)
		}
	}
	if got := list(ctx, t, s, sessionmgr.SessionQuery{Offset: n - 2}); !slices.Equal(got, all[n-2:]) {
		t.Errorf("an offset without a limit gives %v", got)
	}
}

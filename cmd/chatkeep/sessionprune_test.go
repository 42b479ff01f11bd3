package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

func TestSessionPrune(t *testing.T) {
	p := newPlace(t, "session: {maxMessages: 4, pruning: {enabled: true, mode: hard, keepRecentCount: 2}}\n")
	p.ask("one")
	k := p.sessions()[0].Key
	st, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.SQLite, DSN: filepath.Join(p.dir, "data", "chatkeep.db")})
	if err != nil {
		t.Fatal(err)
	}
	err = st.AppendMessages(context.Background(), k, []*models.SessionMessage{
		{ID: "m1", Role: models.RoleUser, Content: "look"},
		{ID: "m2", Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}},
		{ID: "m3", Role: models.RoleTool, ToolCallID: "c", Content: strings.Repeat("found ", 500)},
		{ID: "m4", Role: models.RoleAssistant, Content: "seen"},
		{ID: "m5", Role: models.RoleUser, Content: "thanks"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	prune := func(args ...string) gateway.Pruning {
		t.Helper()
		return decode[gateway.Pruning](t, p.must(append([]string{"session", "prune", "--json", k}, args...)...))
	}
	if dry := prune("--dry-run"); dry.Changed != 4 || dry.Deleted != 3 || len(dry.Items) != 1 || !dry.DryRun {
		t.Errorf("dry run: %+v", dry)
	}
	p.command("", "session", "prune", "--dry-run", k).wants(t, exitDone,
		"SEQ  ROLE  PRUNED  WHY         CHARACTERS  NOW\n5    tool  hard    old_result  3000        25\ndry run: messages shortened: 1, deleted: 3\n", "")
	if n := len(p.history()); n != 7 {
		t.Errorf("%d messages after the dry run", n)
	}
	if done := prune(); done.Changed != 4 || done.DryRun {
		t.Errorf("%+v", done)
	}
	if n := len(p.history()); n != 4 {
		t.Errorf("%d messages are left", n)
	}
	p.command("", "session", "prune", k).wants(t, exitDone, "nothing changed: nothing to prune\n", "")
	p.command("", "session", "prune", "--slot", "nowhere", k).wants(t, exitFailed, "", `no slot "nowhere"`)
	p.command("", "session", "prune", aKey).wants(t, exitFailed, "", "there is no session")
	p.command("", "session", "prune", "x").wants(t, exitUsage, "", "session list shows the keys")
}

package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/sessionmgr/durable"
	"github.com/chatkeep/chatkeep/store/memstore"
)

// A Go program with a model of its own has its sessions compacted when they are due.
func TestCompactIfNeeded(t *testing.T) {
	ctx := t.Context()
	st := memstore.New()
	t.Cleanup(func() { _ = st.Close() })
	cfg := sessionmgr.DefaultConfig()
	cfg.Compaction = sessionmgr.CompactionConfig{Enabled: true, MaxTokenCount: 500, TriggerThreshold: 0.8, KeepRecentCount: 2, MinMessagesToCompact: 4}
	failure := error(nil)
	model := func(context.Context, compact.Ask) (compact.Answer, error) {
		return compact.Answer{Text: "what was said"}, failure
	}
	mgr := sessionmgr.New(durable.New(st, clock.Real()), cfg, sessionmgr.WithCompactor(durable.NewCompactor(st, nil, cfg, model, 0)))
	session, err := mgr.GetOrCreate(ctx, sessionmgr.SessionRequest{AgentID: "assistant", Channel: "api", Account: "default", UserID: "u"})
	if err != nil {
		t.Fatal(err)
	}
	turn := func() {
		t.Helper()
		said := strings.Repeat("and so on ", 20)
		err := mgr.AppendTurn(ctx, session.Key, []*models.SessionMessage{{Role: models.RoleUser, Content: said}, {Role: models.RoleAssistant, Content: said}})
		if err != nil {
			t.Fatal(err)
		}
	}
	turn()
	turn()
	if did, err := mgr.CompactIfNeeded(ctx, session.Key); did || err != nil {
		t.Errorf("not due: %v, %v", did, err)
	}
	for range 3 {
		turn()
	}
	failure = errors.New("model failed")
	if did, err := mgr.CompactIfNeeded(ctx, session.Key); did || !errors.Is(err, failure) {
		t.Errorf("failed: %v, %v", did, err)
	}
	failure = nil
	if did, err := mgr.CompactIfNeeded(ctx, session.Key); !did || err != nil {
		t.Errorf("due: %v, %v", did, err)
	}
	got, err := mgr.Get(ctx, session.Key)
	if err != nil || got.CompactionCount != 1 || !strings.HasPrefix(got.CompactedSummary, "what was said") || len(got.Messages) != 11 {
		t.Errorf("%+v, %v", got, err)
	}
	if did, err := mgr.CompactIfNeeded(ctx, session.Key); did || err != nil {
		t.Errorf("just compacted: %v, %v", did, err)
	}
}

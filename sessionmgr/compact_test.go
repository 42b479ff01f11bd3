package sessionmgr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

type compactor struct {
	keys []string
	err  error
}

func (c *compactor) Compact(_ context.Context, key string) (bool, error) {
	c.keys = append(c.keys, key)
	return c.err == nil, c.err
}

func TestCompactIfNeeded(t *testing.T) {
	ctx := t.Context()
	cfg := sessionmgr.DefaultConfig()
	cfg.Compaction = sessionmgr.CompactionConfig{Enabled: true, MaxTokenCount: 100, TriggerThreshold: 0.5, MinMessagesToCompact: 3}
	c := &compactor{}
	with := func(cfg sessionmgr.Config, opts ...sessionmgr.Option) (sessionmgr.SessionManager, string) {
		mgr := sessionmgr.New(newJSONStorage(), cfg, opts...)
		key := open(t, mgr, "ou_1").Key
		for range 2 {
			check(t, mgr.AddMessage(ctx, key, &models.SessionMessage{Role: models.RoleUser, Content: "x", TokenCount: 25}))
		}
		return mgr, key
	}
	mgr, key := with(cfg, sessionmgr.WithCompactor(c))
	if did, err := mgr.CompactIfNeeded(ctx, key); did || err != nil {
		t.Errorf("too few messages: %v, %v", did, err)
	}
	check(t, mgr.AddMessage(ctx, key, &models.SessionMessage{Role: models.RoleAssistant, Content: "x", TokenCount: 1}))
	if did, err := mgr.CompactIfNeeded(ctx, key); !did || err != nil || len(c.keys) != 1 || c.keys[0] != key {
		t.Errorf("due: %v, %v, %v", did, err, c.keys)
	}
	c.err = errors.New("model failed")
	if did, err := mgr.CompactIfNeeded(ctx, key); did || !errors.Is(err, c.err) {
		t.Errorf("failed: %v, %v", did, err)
	}
	check(t, mgr.AddMessage(ctx, key, &models.SessionMessage{Role: models.RoleSystem, Content: "summary", TokenCount: 5, IsCompacted: true}))
	if did, err := mgr.CompactIfNeeded(ctx, key); did || err != nil {
		t.Errorf("just compacted: %v, %v", did, err)
	}

	cfg.Compaction.MinMessagesToCompact = 2
	mgr, key = with(cfg)
	if did, err := mgr.CompactIfNeeded(ctx, key); did || !errors.Is(err, sessionmgr.ErrNoCompactor) {
		t.Errorf("nobody can: %v, %v", did, err)
	}
	cfg.Compaction.Enabled = false
	mgr, key = with(cfg)
	if did, err := mgr.CompactIfNeeded(ctx, key); did || err != nil {
		t.Errorf("off: %v, %v", did, err)
	}
}

package sessionmgr_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/sessionmgr"
)

// document is the one that the contract promises to accept unchanged.
const document = `{"session":{"maxMessages":100,"maxTokenCount":128000,"pruning":{"enabled":true,"mode":"soft","keepRecentCount":10,"maxToolResultSize":2000,"saveToolCalls":true,"keepToolCallsCount":5},"compaction":{"enabled":true,"triggerThreshold":0.8,"keepRecentCount":10,"minMessagesToCompact":20}}}`

func TestConfigDocument(t *testing.T) {
	file := struct {
		Session sessionmgr.Config `json:"session"`
	}{sessionmgr.DefaultConfig()}
	check(t, json.Unmarshal([]byte(document), &file))
	want := sessionmgr.DefaultConfig()
	want.Pruning.Enabled, want.Compaction.Enabled = true, true
	if file.Session != want {
		t.Errorf("decoded %+v, want %+v", file.Session, want)
	}
	check(t, file.Session.Validate())
	if got := sessionmgr.New(sessionmgr.NewMemoryStorage(), file.Session).GetConfig(); got != want {
		t.Errorf("GetConfig = %+v", got)
	}
}

func TestConfigDurations(t *testing.T) {
	cfg := sessionmgr.DefaultConfig()
	check(t, json.Unmarshal([]byte(`{"ttl":"48h","idleTimeout":"0s","pruning":{"cacheTtl":"1m30s"}}`), &cfg))
	if cfg.TTL != 48*time.Hour || cfg.IdleTimeout != 0 || cfg.ArchiveAfter != 720*time.Hour || cfg.Pruning.CacheTTL != 90*time.Second || cfg.Pruning.KeepRecentCount != 10 {
		t.Errorf("decoded %+v", cfg)
	}
	data, err := json.Marshal(cfg)
	check(t, err)
	for _, want := range []string{`"ttl":"48h0m0s"`, `"idleTimeout":"0s"`, `"cacheTtl":"1m30s"`, `"maxMessages":100`, `"mode":"soft"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	var back sessionmgr.Config
	check(t, json.Unmarshal(data, &back))
	if back != cfg {
		t.Errorf("came back as %+v", back)
	}
	if err := json.Unmarshal([]byte(`{"ttl":"soon"}`), &cfg); err == nil {
		t.Error("no error for a ttl of soon")
	}
}

func TestConfigDefaults(t *testing.T) {
	check(t, sessionmgr.DefaultConfig().Validate())
	got := sessionmgr.New(sessionmgr.NewMemoryStorage(), sessionmgr.Config{}).GetConfig()
	if got.MaxMessages != 100 || got.MaxTokenCount != 128000 || got.TTL != 0 || got.IdleTimeout != 0 || got.Pruning.Mode != sessionmgr.PruneSoft {
		t.Errorf("an empty configuration becomes %+v", got)
	}
}

func TestConfigValidateReportsAll(t *testing.T) {
	cfg := sessionmgr.Config{TTL: -1, Pruning: sessionmgr.PruningConfig{Mode: "gentle"}, Compaction: sessionmgr.CompactionConfig{TriggerThreshold: 1.5}}
	err := cfg.Validate()
	if !errors.Is(err, sessionmgr.ErrInvalid) {
		t.Fatal(err)
	}
	for _, want := range []string{"maxMessages", "maxTokenCount", "ttl", "pruning.mode", "pruning.maxToolResultSize", "compaction.maxTokenCount", "triggerThreshold"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not tell of %s", err, want)
		}
	}
}

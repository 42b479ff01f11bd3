package httpapi_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
)

func TestTasks(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) { s.CheckTaskURL = dial.New(dial.Policy{}).CheckURL }})
	body := map[string]any{
		"id": "standup", "schedule": "0 9 * * 1-5", "timezone": "Asia/Shanghai", "prompt": "Summarise yesterday.", "agent": "assistant",
		"deliver": map[string]any{"channel": "api", "account": "default", "chatId": "team"}, "grace": "30s",
	}
	made := w.admin(http.MethodPost, "/tasks", body)
	if made.status != http.StatusCreated || made.str("grace") != "30s" || made.str("timeout") != "10m0s" || made.str("owner") != "admin" {
		t.Fatalf("%d %s", made.status, made.body)
	}
	if next := made.get("nextRuns").([]any); len(next) != 5 || next[0].(string)[10:] != "T09:00:00+08:00" {
		t.Errorf("next runs %v", next)
	}
	for name, change := range map[string]map[string]any{
		"exists":       {},
		"two times":    {"id": "x", "at": "2030-01-01T00:00:00Z"},
		"no zone":      {"id": "x", "timezone": ""},
		"bad zone":     {"id": "x", "timezone": "Mars/Base"},
		"no agent":     {"id": "x", "agent": "nobody"},
		"bad spec":     {"id": "x", "schedule": "TZ=0"},
		"never":        {"id": "x", "schedule": "0 0 30 2 *"},
		"bad name":     {"id": "x y"},
		"bad target":   {"id": "x", "deliver": map[string]any{"channel": "feishu", "account": "main", "chatId": "oc"}},
		"two targets":  {"id": "x", "deliver": map[string]any{"channel": "api", "account": "default", "chatId": "a", "userId": "b"}},
		"file":         {"id": "x", "deliver": map[string]any{"url": "file:///etc/passwd"}},
		"bad key":      {"id": "x", "deliver": map[string]any{"url": "https://example.com", "sekret": "x"}},
		"no secret":    {"id": "x", "deliver": map[string]any{"url": "https://example.com", "secret": "[redacted]"}},
		"no url":       {"id": "x", "deliver": map[string]any{"channel": "api", "account": "default", "chatId": "a", "secret": "x"}},
		"retries":      {"id": "x", "retries": 11},
		"negative":     {"id": "x", "pauseAfter": -1},
		"too long":     {"id": "x", "timeout": "25h"},
		"no timeout":   {"id": "x", "timeout": "0s"},
		"bad timeout":  {"id": "x", "timeout": "-1s"},
		"descriptor":   {"id": "x", "schedule": "@daily"},
		"metadata":     {"id": "x", "deliver": map[string]any{"url": "http://169.254.169.254/latest"}},
		"private":      {"id": "x", "deliver": map[string]any{"url": "http://10.0.0.1/hook"}},
		"loopback":     {"id": "x", "deliver": map[string]any{"url": "http://[::ffff:127.0.0.1]:80/"}},
		"owner":        {"id": "x", "owner": "config"},
		"no person":    {"id": "x", "owner": "mail/main/lin"},
		"past":         {"id": "x", "schedule": "", "at": "2001-01-01T00:00:00Z"},
		"unknown":      {"id": "x", "sorry": true},
		"bad duration": {"id": "x", "grace": "soon"},
	} {
		bad := map[string]any{}
		maps.Copy(bad, body)
		maps.Copy(bad, change)
		want := http.StatusBadRequest
		if name == "exists" {
			want = http.StatusConflict
		}
		if a := w.admin(http.MethodPost, "/tasks", bad); a.status != want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := w.admin(http.MethodPatch, "/tasks/standup", map[string]any{"schedule": "0 10 * * *"}).ok(); a.get("nextRuns").([]any)[0].(string)[10:] != "T10:00:00+08:00" {
		t.Errorf("patched %s", a.body)
	}
	if a := w.admin(http.MethodPatch, "/tasks/standup", map[string]any{"deliver": map[string]any{"url": "http://192.168.0.1/"}}); a.status != http.StatusBadRequest {
		t.Errorf("patched to a private address: %d %s", a.status, a.body)
	}
	if a := w.admin(http.MethodPatch, "/tasks/standup", map[string]any{"at": "2001-01-01T00:00:00Z"}); a.status != http.StatusBadRequest {
		t.Errorf("patched into the past: %d %s", a.status, a.body)
	}
	a := w.admin(http.MethodPatch, "/tasks/standup", map[string]any{
		"retries": 0, "notifyAfter": 1, "pauseAfter": 2, "maxRuns": 7, "until": "2099-01-01T00:00:00Z", "owner": "api/default/lin",
	}).ok()
	if a.get("retries") != 0.0 || a.get("notifyAfter") != 1.0 || a.get("pauseAfter") != 2.0 || a.get("maxRuns") != 7.0 ||
		a.str("until") != "2099-01-01T00:00:00Z" || a.str("owner") != "api/default/lin" {
		t.Errorf("patched %s", a.body)
	}
	if a := w.admin(http.MethodPost, "/tasks/standup/pause", nil).ok(); a.get("paused") != true || a.get("nextRunAt") != nil {
		t.Errorf("paused %s", a.body)
	}
	if a := w.admin(http.MethodPost, "/tasks/standup/run", nil); a.status != http.StatusAccepted || a.str("state") != "scheduled" || a.get("startedAt") != nil {
		t.Errorf("run %d %s", a.status, a.body)
	}
	deadline := clock.Real().Now().Add(patience)
	for {
		a := w.admin(http.MethodGet, "/tasks/standup/runs", nil).ok()
		if a.str("items", 0, "state") == "done" && a.str("items", 0, "deliveryState") == "delivered" {
			break
		}
		if clock.Real().Now().After(deadline) {
			t.Fatalf("the run is not delivered: %s", a.body)
		}
		_ = clock.Sleep(t.Context(), clock.Real(), 20*time.Millisecond)
	}
	if a := w.admin(http.MethodPost, "/tasks/standup/resume", nil).ok(); a.get("paused") != false || a.str("lastRun", "state") != "done" {
		t.Errorf("resumed %s", a.body)
	}
	if a := w.admin(http.MethodGet, "/tasks", nil).ok(); a.str("items", 0, "id") != "standup" {
		t.Errorf("list %s", a.body)
	}
	if a := w.admin(http.MethodDelete, "/tasks/standup", nil); a.status != http.StatusNoContent {
		t.Errorf("delete %d", a.status)
	}
	if a := w.admin(http.MethodGet, "/tasks/standup", nil); a.status != http.StatusNotFound || a.str("error", "code") != "task_not_found" {
		t.Errorf("gone %d %s", a.status, a.body)
	}
}

// A task of the machine's zone shows the zone's name, or is refused where it has none.
func TestTaskOfTheMachinesZone(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{settings: func(s *gateway.Settings) { s.Location = shanghai }})
	want := schedule.ZoneName(time.Local) //nolint:gosmopolitan // it is what the test is about
	if want == "Local" {
		want = "Asia/Shanghai"
	}
	made := w.admin(http.MethodPost, "/tasks", map[string]any{"id": "here", "schedule": "0 9 * * *", "timezone": "Local", "prompt": "x", "agent": "assistant"})
	if made.status != http.StatusCreated || made.str("timezone") != want {
		t.Errorf("%d %s, not in %s", made.status, made.body, want)
	}
	if a := w.admin(http.MethodPatch, "/tasks/here", map[string]any{"timezone": "Local"}).ok(); a.str("timezone") != want {
		t.Errorf("patched %s, not in %s", a.body, want)
	}
}

// A secret is kept and never shown; a task that was read may be written as it was.
func TestTaskSecret(t *testing.T) {
	w := newWorld(t, options{})
	body := map[string]any{
		"id": "hook", "schedule": "@every 1h", "timezone": "UTC", "prompt": "x", "agent": "assistant",
		"deliver": map[string]any{"url": "https://example.com/in", "secret": "s3cret"},
	}
	made := w.admin(http.MethodPost, "/tasks", body)
	if made.status != http.StatusCreated || strings.Contains(string(made.body), "s3cret") || made.str("deliver", "secret") != "[redacted]" {
		t.Fatalf("%d %s", made.status, made.body)
	}
	secret := func() string {
		task, err := w.store.Task(t.Context(), "hook")
		if err != nil {
			t.Fatal(err)
		}
		return task.Deliver.Secret
	}
	w.admin(http.MethodPatch, "/tasks/hook", map[string]any{"deliver": made.get("deliver"), "prompt": "y"}).ok()
	if got := secret(); got != "s3cret" {
		t.Errorf("the secret became %q", got)
	}
	moved := w.admin(http.MethodPatch, "/tasks/hook", map[string]any{"deliver": map[string]any{"url": "https://example.net/in", "secret": "[redacted]"}})
	if moved.status != http.StatusBadRequest {
		t.Errorf("the secret went to another url: %d %s", moved.status, moved.body)
	}
	w.admin(http.MethodPatch, "/tasks/hook", map[string]any{"deliver": map[string]any{"url": "https://example.net/in"}}).ok()
	if got := secret(); got != "" {
		t.Errorf("the secret is still %q", got)
	}
}

package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
)

func TestJobs(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		s.Lifecycle = lifecycle.Settings{
			Schedules: map[string]string{lifecycle.Idle: "0 3 1 1 *", lifecycle.Archive: ""}, Location: time.UTC, IdleTimeout: time.Nanosecond,
		}
	}})
	eventually(t, "the job that never ran has run", func() bool {
		return w.admin(http.MethodGet, "/jobs", nil).ok().get("items", 2, "lastRun") != nil
	})
	list := w.admin(http.MethodGet, "/jobs", nil).ok()
	for i, name := range []string{"prune", "compact", "idle", "archive", "expire"} {
		if list.str("items", i, "name") != name {
			t.Fatalf("%s", list.body)
		}
	}
	if list.str("items", 2, "schedule") != "0 3 1 1 *" || !strings.HasSuffix(list.str("items", 2, "nextRunAt"), "-01-01T03:00:00Z") || list.str("items", 2, "off") != "" ||
		list.get("items", 4, "nextRunAt") != nil || list.str("items", 4, "off") != "session.ttl is 0s" || list.get("items", 4, "lastRun") != nil ||
		list.str("items", 0, "off") != "session.pruning.enabled is false" || list.str("items", 1, "off") != "session.compaction.enabled is false" {
		t.Errorf("%s", list.body)
	}

	key := w.chat(map[string]any{"userId": "ann", "text": "hello"}).ok().str("sessionKey")
	state := func() string {
		return w.admin(http.MethodGet, "/sessions/"+url.PathEscape(key), nil).ok().str("state")
	}
	dry := w.admin(http.MethodPost, "/jobs/idle/run?dryRun=true", nil).ok()
	if dry.get("dryRun") != true || num(dry, "changed") != 1 || dry.str("sessions", 0) != key || state() != "active" {
		t.Errorf("dry run %s", dry.body)
	}
	ran := w.admin(http.MethodPost, "/jobs/idle/run", nil).ok()
	if ran.get("dryRun") != false || num(ran, "considered") != 1 || num(ran, "changed") != 1 || num(ran, "skipped") != 0 || ran.str("error") != "" || state() != "idle" {
		t.Errorf("run %s", ran.body)
	}
	if last := w.admin(http.MethodGet, "/jobs", nil).ok(); num(last, "items", 2, "lastRun", "changed") != 1 || last.str("items", 2, "lastRun", "finishedAt") == "" {
		t.Errorf("%s", last.body)
	}
	if a := w.admin(http.MethodPost, "/jobs/expire/run", nil).ok(); num(a, "considered") != 0 || a.str("off") == "" {
		t.Errorf("%s", a.body)
	}
	if a := w.admin(http.MethodPost, "/jobs/sweep/run", nil); a.status != http.StatusNotFound || a.str("error", "code") != "not_found" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.admin(http.MethodPost, "/jobs/idle/run?dryRun=perhaps", nil); a.status != http.StatusBadRequest {
		t.Errorf("%d %s", a.status, a.body)
	}
	metrics := w.do(request{method: http.MethodGet, path: "/metrics", token: adminToken})
	for _, line := range []string{`chatkeep_job_runs_total{job="idle",result="ok"}`, `chatkeep_job_items_total{job="idle",result="changed"} 1`, `chatkeep_job_duration_seconds_count{job="expire"} 1`} {
		if !strings.Contains(string(metrics.body), line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestArchiveAndRestore(t *testing.T) {
	w := newWorld(t, options{})
	key := w.chat(map[string]any{"userId": "ann", "text": "hello"}).ok().str("sessionKey")
	path := "/sessions/" + url.PathEscape(key)
	change := func(action string, changed int, reason, state string) {
		t.Helper()
		a := w.admin(http.MethodPost, path+"/"+action, nil).ok()
		if num(a, "changed") != changed || num(a, "skipped") != 1-changed || reason != "" && a.str("reason") != reason {
			t.Errorf("%s: %s", action, a.body)
		}
		if got := w.admin(http.MethodGet, path, nil).ok().str("state"); got != state {
			t.Errorf("after %s it is %s, want %s", action, got, state)
		}
	}
	change("archive?dryRun=true", 1, "", "active")
	change("archive", 1, "", "archived")
	change("archive", 0, "archived already", "archived")
	change("restore", 1, "", "active")
	change("restore", 0, "active already", "active")
	w.admin(http.MethodPatch, path, map[string]any{"pinned": true}).ok()
	change("archive", 0, "pinned", "active")
	w.admin(http.MethodPatch, path, map[string]any{"pinned": false}).ok()
	change("archive", 1, "", "archived")
	if n := len(w.admin(http.MethodGet, "/sessions?state=archived", nil).ok().get("items").([]any)); n != 1 {
		t.Errorf("%d archived sessions", n)
	}
	if a := w.admin(http.MethodPost, "/sessions/"+url.PathEscape(key+"x")+"/archive", nil); a.status != http.StatusNotFound || a.str("error", "code") != "session_not_found" {
		t.Errorf("%d %s", a.status, a.body)
	}
	// The next message restores it, and its answer says so.
	a := w.chat(map[string]any{"userId": "ann", "text": "hello again"}).ok()
	if notice := a.str("reply", "notices", 0); !strings.Contains(notice, "archived") || a.str("reply", "content") != "hello again" {
		t.Errorf("%s", a.body)
	}
	if a := w.chat(map[string]any{"userId": "ann", "text": "and again"}).ok(); a.get("reply", "notices") != nil {
		t.Errorf("%s", a.body)
	}
	if got := w.admin(http.MethodGet, path, nil).ok().str("state"); got != "active" {
		t.Errorf("it is %s", got)
	}
}

// The slot that was reset last need not be the current one.
func TestRestoreOfTheLatestReset(t *testing.T) {
	w := newWorld(t, options{})
	say := func(text string) *answer { return w.chat(obj{"userId": "ann", "text": text}).ok() }
	path := say("one").session()
	for _, text := range []string{"/reset", "two", "/new side", "aside", "/reset", "/slot switch default"} {
		say(text)
	}
	w.admin(http.MethodPost, path+"/restore?reset=latest", nil).ok()
	same(t, "default", w.holds(path, "default"), "two", "two")
	same(t, "side", w.holds(path, "side"), "aside", "aside")
	w.admin(http.MethodDelete, path+"/slots/side", nil).ok()
	w.admin(http.MethodPost, path+"/restore?reset=latest", nil).ok()
	same(t, "default", w.holds(path, "default"), "one", "one")
}

func num(a *answer, path ...any) int {
	a.t.Helper()
	n, _ := a.get(path...).(float64)
	return int(n)
}

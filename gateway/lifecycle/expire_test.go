package lifecycle_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil || len(hidden) > 0 {
		t.Errorf("left behind: %v %v", hidden, err)
	}
	return found
}

// What expires is written down first, as a whole.
func TestExpireExports(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "old", "sessions")
	r.settings.TTL, r.settings.ExportDir = day, dir
	keys := map[string]bool{}
	for range 30 {
		key := r.key()
		r.says(key)
		keys[key] = true
	}
	r.clock.Advance(2 * day)
	young := r.used(time.Hour)
	runner := r.runner("one")
	dry, err := runner.RunNow(t.Context(), lifecycle.Expire, true)
	r.ok(err)
	if dry.Changed != 30 || len(files(t, dir)) != 0 {
		t.Errorf("dry run: %+v", dry)
	}
	report := r.now(runner, lifecycle.Expire)
	if report.Considered != 30 || report.Changed != 30 || report.Error != "" {
		t.Errorf("%+v", report)
	}
	r.wants(young, models.SessionActive)
	found := files(t, dir)
	if len(found) != 30 {
		t.Fatalf("%d files", len(found))
	}
	for _, name := range found {
		text, err := os.ReadFile(name)
		r.ok(err)
		lines := bufio.NewScanner(bytes.NewReader(text))
		messages, key := 0, ""
		for lines.Scan() {
			var line transfer.Record
			r.ok(json.Unmarshal(lines.Bytes(), &line))
			if line.Session != nil {
				key = line.Session.Key
			}
			if line.Message != nil {
				messages++
			}
		}
		if !keys[key] || messages != 2 || r.state(key) != "gone" {
			t.Errorf("%s: %q with %d messages, which is %s", name, key, messages, r.state(key))
		}
		delete(keys, key)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}

	// A new session under an old key has a file of its own.
	again := "agent:assistant:channel:any:scope:per_peer:api/default/peer-1"
	r.says(again)
	r.clock.Advance(2 * day)
	if report := r.now(runner, lifecycle.Expire); report.Changed != 2 || len(files(t, dir)) != 32 {
		t.Errorf("%+v, %d files", report, len(files(t, dir)))
	}
}

// What cannot be written down is not deleted.
func TestExpireKeepsWhatItCannotExport(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "file")
	r.ok(os.WriteFile(dir, []byte("no directory"), 0o600))
	r.settings.TTL, r.settings.ExportDir = day, dir
	for range 40 {
		r.used(2 * day)
	}
	runner := r.runner("one")
	report := r.now(runner, lifecycle.Expire)
	if report.Changed != 0 || report.Reasons["not exported"] < 5 || report.Reasons["not exported"] > 12 || !strings.Contains(report.Error, "not a directory") {
		t.Errorf("%+v", report)
	}
	r.ok(os.Remove(dir))
	if report := r.now(runner, lifecycle.Expire); report.Changed != 40 || report.Error != "" {
		t.Errorf("%+v", report)
	}
}

func TestVerify(t *testing.T) {
	r := newRig(t)
	key := r.key()
	r.says(key)
	var whole bytes.Buffer
	r.ok(transfer.Export(t.Context(), r.store, key, transfer.Options{Format: transfer.JSONL}, &whole))
	text := whole.String()
	r.ok(lifecycle.Verify(strings.NewReader(text), key))
	lines := strings.SplitAfter(text, "\n")
	without := func(part string) string {
		var kept strings.Builder
		gone := false
		for _, line := range lines {
			if !gone && strings.HasPrefix(line, `{"`+part) {
				gone = true
				continue
			}
			kept.WriteString(line)
		}
		if !gone {
			t.Fatalf("no %s in %s", part, text)
		}
		return kept.String()
	}
	for what, text := range map[string]string{
		"nothing": "", "half of it": text[:len(text)/2], "no end": without("end"), "a message less": without("message"),
		"no slot": without("slot"), "no session": without("session"), "more behind it": text + "x", "no JSON": "x" + text,
	} {
		if err := lifecycle.Verify(strings.NewReader(text), key); err == nil {
			t.Errorf("%s passes", what)
		}
	}
	if err := lifecycle.Verify(strings.NewReader(text), r.key()); err == nil {
		t.Error("another session passes")
	}
	if err := lifecycle.Verify(badReader{}, key); err == nil {
		t.Error("what cannot be read passes")
	}
}

type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, errors.New("bad sector") }

package filestore_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
)

// What cannot be read is never written over: it is kept beside, and named in the log.
func TestUnreadableIsSetAside(t *testing.T) {
	for name, spoil := range map[string]struct{ file, text string }{
		"meta":         {"meta.json", "{"},
		"other format": {"meta.json", `{"format":"another"}`},
		"messages":     {"messages.jsonl", "no message: private words\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, nil)
			everything(t, s, key)
			everything(t, s, key+"2")
			closeStore(t, s)
			backup := onlySessions(t, dir)
			at := dirOf(backup, key)
			must(t, os.WriteFile(filepath.Join(at, spoil.file), []byte(spoil.text), 0o600))
			before := tree(t, at)

			var log bytes.Buffer
			r, err := filestore.Open(t.Context(), filestore.Config{Dir: backup, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			must(t, err)
			defer closeStore(t, r)
			create(t, r, key)
			say(t, r, key, models.DefaultSlot, "new", "to new")
			sameSession(t, r, key, at)
			sameSession(t, r, key+"2", dirOf(backup, key+"2"))
			if after := tree(t, at+".unreadable-1"); after != before {
				t.Errorf("what was set aside is\n%s, was\n%s", after, before)
			}
			said := log.String()
			if strings.Count(said, filepath.Base(at)+".unreadable-1") != 1 || !strings.Contains(said, "level=ERROR") || strings.Contains(said, "private words") {
				t.Errorf("the log says\n%s", said)
			}
		})
	}
}

// A directory that is there for another reason is not written over either.
func TestUnknownDirectoryIsSetAside(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no meta":      {"messages.jsonl": `{"seq":7}` + "\n"},
		"meta is torn": {"meta.json": "{", "messages.jsonl": `{"seq":7}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, nil)
			defer closeStore(t, s)
			at := dirOf(dir, key)
			for range 2 {
				must(t, os.MkdirAll(at, 0o700))
				for file, text := range files {
					must(t, os.WriteFile(filepath.Join(at, file), []byte(text), 0o600))
				}
				before := tree(t, at)
				create(t, s, key)
				say(t, s, key, models.DefaultSlot, "new", "to new")
				sameSession(t, s, key, at)
				aside, err := filepath.Glob(at + ".unreadable-*")
				must(t, err)
				if len(aside) == 0 || tree(t, aside[len(aside)-1]) != before {
					t.Errorf("set aside: %v", aside)
				}
				change(t, s, key, func(tx store.SessionTx) error { return tx.Delete(day) })
			}
			if _, err := os.Stat(at + ".unreadable-2"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A copy that lies beside a directory does not take its place.
func TestCopyBesideIsNotRestored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	create(t, s, key)
	say(t, s, key, models.DefaultSlot, "old", "to old")
	backup := onlySessions(t, dir)
	must(t, os.Rename(dirOf(backup, key), filepath.Join(backup, "sessions", "a copy")))
	say(t, s, key, models.DefaultSlot, "newer", "to newer")
	must(t, os.CopyFS(dirOf(backup, key), os.DirFS(dirOf(dir, key))))
	closeStore(t, s)
	r := open(t, backup, nil)
	defer closeStore(t, r)
	if got := read(t, dirOf(backup, key), "messages.jsonl"); !strings.Contains(got, "to newer") {
		t.Errorf("messages are\n%s", got)
	}
	sameSession(t, r, key, dirOf(backup, key))
}

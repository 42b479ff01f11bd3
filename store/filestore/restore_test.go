package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
)

// onlySessions is what a backup of the readable files holds.
func onlySessions(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	must(t, os.CopyFS(filepath.Join(to, "sessions"), os.DirFS(filepath.Join(dir, "sessions"))))
	return to
}

func TestRestoreFromTheSessions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	defer closeStore(t, s)
	keys := []string{key, strings.ToLower(key), key + "2"}
	for _, k := range keys {
		everything(t, s, k)
	}
	change(t, s, key, func(tx store.SessionTx) error { return tx.SwitchSlot("Work") })

	backup := onlySessions(t, dir)
	strange := filepath.Join(backup, "sessions", "no session")
	must(t, os.Mkdir(strange, 0o700))
	must(t, os.WriteFile(filepath.Join(strange, "meta.json"), []byte("{"), 0o600))
	torn := filepath.Join(dirOf(backup, key+"2"), "messages.jsonl")
	must(t, os.WriteFile(torn, []byte(read(t, torn)+`{"id":"msg_torn","seq":99,"con`), 0o600))

	r := open(t, backup, nil)
	defer closeStore(t, r)
	for _, k := range keys {
		want, err := s.SessionRecord(t.Context(), k)
		must(t, err)
		got, err := r.SessionRecord(t.Context(), k)
		must(t, err)
		if settled(t, got) != settled(t, want) || got.Session.MessageCount != want.Session.MessageCount || got.Session.LastUserAt.IsZero() {
			t.Errorf("%s is\n%s, want\n%s", k, asJSON(t, got), asJSON(t, want))
		}
		sameMessages(t, s, want.Contexts[0], dirOf(backup, k))
		sameSession(t, r, k, dirOf(backup, k))
		for _, slot := range []string{models.DefaultSlot, "work", "Work", "..", "con"} {
			a, errA := s.LoadContext(t.Context(), k, slot, 100)
			b, errB := r.LoadContext(t.Context(), k, slot, 100)
			if errors.Join(errA, errB) != nil || asJSON(t, a.Messages) != asJSON(t, b.Messages) || asJSON(t, a.Summary) != asJSON(t, b.Summary) || asJSON(t, a.Forms) != asJSON(t, b.Forms) {
				t.Errorf("%s: context of slot %s changed", k, slot)
			}
		}
	}
	if read(t, strange, "meta.json") != "{" {
		t.Error("what could not be read was touched")
	}
	if _, err := os.Stat(filepath.Join(backup, "restore")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of the restore: %v", err)
	}
	say(t, r, key, "Work", "goes on")
	sameSession(t, r, key, dirOf(backup, key))
}

// A restore that was cut off goes on with the next process.
func TestRestoreGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	everything(t, s, key)
	closeStore(t, s)
	backup := onlySessions(t, dir)
	closeStore(t, open(t, backup, nil))
	s = open(t, dir, nil)
	everything(t, s, key+"2")
	closeStore(t, s)
	must(t, os.CopyFS(dirOf(backup, key+"2"), os.DirFS(dirOf(dir, key+"2"))))
	must(t, os.WriteFile(filepath.Join(backup, "restore"), nil, 0o600)) // it died here
	r := open(t, backup, nil)
	defer closeStore(t, r)
	wantFaithful(t, r, backup)
	if _, err := r.Session(t.Context(), key+"2"); err != nil {
		t.Error(err)
	}
}

// Nothing comes back that was deleted, however the process ended.
func TestDeletedIsNotRestored(t *testing.T) {
	dir := behind(t, func(s store.Store) { everything(t, s, key) }, func(s store.Store) {
		change(t, s, key, func(tx store.SessionTx) error { return tx.Delete(day) })
	})
	s := open(t, dir, nil)
	defer closeStore(t, s)
	if _, err := s.Session(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the session: %v", err)
	}
	wantFaithful(t, s, dir)
}

// The files come back from the database.
func TestFilesAreMadeAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	everything(t, s, key)
	before := tree(t, filepath.Join(dir, "sessions"))
	closeStore(t, s)
	must(t, os.RemoveAll(filepath.Join(dir, "sessions")))
	s = open(t, dir, nil)
	defer closeStore(t, s)
	wantFaithful(t, s, dir)
	if after := tree(t, filepath.Join(dir, "sessions")); len(after) == 0 || strings.Count(before, "\n") < strings.Count(after, "\n") {
		t.Errorf("files are\n%s", after)
	}
}

func TestExists(t *testing.T) {
	dir := t.TempDir()
	if filestore.Exists(dir) || filestore.Exists(filepath.Join(dir, "nowhere")) {
		t.Error("there is a store in an empty directory")
	}
	s := open(t, dir, nil)
	everything(t, s, key)
	closeStore(t, s)
	if !filestore.Exists(dir) || !filestore.Exists(onlySessions(t, dir)) {
		t.Error("a store is not seen")
	}
	if _, err := filestore.Open(t.Context(), filestore.Config{}); err == nil {
		t.Error("no directory was opened")
	}
}

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

// A person finds what was said, noted and planned.
func TestFilesAreReadable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	defer closeStore(t, s)
	everything(t, s, key)
	at := dirOf(dir, key)
	if got := read(t, at, "memory.jsonl"); got != `{"id":"note_1","key":"likes","value":"tea\n茶","createdAt":"2026-02-03T04:05:06Z"}`+"\n" {
		t.Errorf("notes are %s", got)
	}
	if got := read(t, at, "plan", "PLAN.md"); got != "# Plan\n- tea" {
		t.Errorf("the plan is %q", got)
	}
	if got := read(t, at, "meta.json"); !strings.Contains(got, `"key": "`+key+`"`) || !strings.Contains(got, "上海") || !strings.Contains(got, `"file": "slots/work.jsonl"`) {
		t.Errorf("meta.json is %s", got)
	}
	lines := strings.Split(strings.TrimSpace(read(t, at, "messages.jsonl")), "\n")
	if len(lines) != 12 || !strings.Contains(lines[0], `"content":"one"`) || !strings.Contains(lines[9], `{"mark":{"seq":4,`) || !strings.Contains(lines[11], `"undone":true`) {
		t.Errorf("messages are\n%s", strings.Join(lines, "\n"))
	}
	if got := names(t, filepath.Join(at, "slots")); len(got) != 4 {
		t.Errorf("slots are %v", got)
	}
	for _, path := range []string{at, filepath.Join(at, "messages.jsonl"), filepath.Join(dir, "sessions")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	wantFaithful(t, s, dir)
}

// An ordinary turn adds to one file and rewrites none.
func TestTurnIsAppended(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	defer closeStore(t, s)
	create(t, s, key)
	say(t, s, key, models.DefaultSlot, "one", "to one")
	at := dirOf(dir, key)
	inode := func(name string) os.FileInfo {
		info, err := os.Stat(filepath.Join(at, name))
		must(t, err)
		return info
	}
	meta, messages := inode("meta.json"), inode("messages.jsonl")
	before := read(t, at, "messages.jsonl")
	large := strings.Repeat("语", 700_000) // two megabytes
	say(t, s, key, models.DefaultSlot, large, "to it")
	change(t, s, key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, day) })
	if !os.SameFile(meta, inode("meta.json")) || !os.SameFile(messages, inode("messages.jsonl")) || !strings.HasPrefix(read(t, at, "messages.jsonl"), before) {
		t.Error("a file was written anew")
	}
	say(t, s, key, models.DefaultSlot, "after it")
	wantFaithful(t, s, dir)
}

// What is deleted, or set aside, is not in the files any more.
func TestDeletedIsGone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	defer closeStore(t, s)
	other := strings.ToLower(key) // differs by case alone
	everything(t, s, key)
	create(t, s, other)
	say(t, s, other, models.DefaultSlot, "canary one")
	change(t, s, key, func(tx store.SessionTx) error {
		if err := tx.PutFile("TODO.md", "canary two"); err != nil {
			return err
		}
		if err := tx.CreateSlot(newSlot("canary-three")); err != nil {
			return err
		}
		return tx.PutNote(&models.Note{ID: "note_2", Value: "canary four", CreatedAt: day})
	})
	say(t, s, key, "work", "canary five")
	for i, remove := range []func(tx store.SessionTx) error{
		func(tx store.SessionTx) error { return tx.DeleteSlot("canary-three", day) },
		func(tx store.SessionTx) error { return tx.DeleteNote("note_2") },
		func(tx store.SessionTx) error { return tx.Reset("work", 0, day) },
		func(tx store.SessionTx) error {
			_, err := tx.DropMessages(models.DefaultSlot, 3, day)
			return err
		},
	} {
		change(t, s, key, remove)
		wantFaithful(t, s, dir)
		for _, canary := range []string{"canary-three", "canary four", "canary five", "\"content\":\"two\""}[i : i+1] {
			if strings.Contains(tree(t, filepath.Join(dir, "sessions")), canary) {
				t.Errorf("%s is still there", canary)
			}
		}
	}
	change(t, s, other, func(tx store.SessionTx) error { return tx.Delete(day) })
	if _, err := os.Stat(dirOf(dir, other)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a deleted session: %v", err)
	}
	change(t, s, key, func(tx store.SessionTx) error { return tx.Delete(day) })
	if got := tree(t, filepath.Join(dir, "sessions")); got != "" || len(names(t, filepath.Join(dir, "sessions"))) > 0 {
		t.Errorf("after the last session was deleted there is\n%s", got)
	}
	create(t, s, key) // and it can come back
	say(t, s, key, models.DefaultSlot, "again")
	wantFaithful(t, s, dir)
}

// Two processes write; the files are true whoever of them keeps them.
func TestCommandsBesideTheServer(t *testing.T) {
	dir := t.TempDir()
	server, err := filestore.Open(t.Context(), filestore.Config{Dir: dir, Exclusive: true})
	must(t, err)
	if _, err := filestore.Open(t.Context(), filestore.Config{Dir: dir, Exclusive: true}); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("a second server: %v", err)
	}
	command := open(t, dir, nil)
	create(t, server, key)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 30 {
			say(t, command, key, models.DefaultSlot, "from a command", "so it is")
		}
	}()
	for range 30 {
		say(t, server, key, models.DefaultSlot, "from the server", "so it is")
	}
	<-done
	closeStore(t, command)
	wantFaithful(t, server, dir)
	closeStore(t, server)
}

// A fault of the files fails nobody, and is made good later.
func TestFilesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	defer closeStore(t, s)
	create(t, s, key)
	say(t, s, key, models.DefaultSlot, "one")
	at := dirOf(dir, key)
	file := filepath.Join(at, "messages.jsonl")
	must(t, os.Remove(file))
	must(t, os.Mkdir(file, 0o700)) // cannot be appended to, nor replaced
	say(t, s, key, models.DefaultSlot, "two")
	change(t, s, key, func(tx store.SessionTx) error { return tx.PutFile("PLAN.md", "goes on") })
	if got := read(t, at, "plan", "PLAN.md"); got != "goes on" {
		t.Errorf("the plan is %q", got)
	}
	must(t, os.Remove(file))
	change(t, s, key, func(tx store.SessionTx) error { return tx.PutFile("PLAN.md", "again") })
	wantFaithful(t, s, dir)
	must(t, os.RemoveAll(at)) // a person tidies up under the running server
	say(t, s, key, models.DefaultSlot, "three")
	wantFaithful(t, s, dir)
}

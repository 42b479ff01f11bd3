package filestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
)

// behind is a store whose changes are committed, and whose files do not know: as if
// the process died after each commit. It returns the directory.
func behind(t *testing.T, before, after func(s store.Store)) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, nil)
	before(s)
	unlock := filestore.HoldFiles(t, dir)
	after(s)
	died := clone(t, dir)
	unlock()
	closeStore(t, s)
	return died
}

// Whatever changed is made good when the directory is opened.
func TestOpenCatchesUp(t *testing.T) {
	const gone, moved = key + "-gone", key + "-moved"
	dir := behind(t, func(s store.Store) {
		everything(t, s, key)
		everything(t, s, gone)
		everything(t, s, moved)
	}, func(s store.Store) {
		everything(t, s, key+"-new")
		say(t, s, key, "work", "more", "to more")
		change(t, s, key, func(tx store.SessionTx) error {
			if err := tx.DeleteSlot("con", day); err != nil {
				return err
			}
			if _, err := tx.DeleteNotes(); err != nil {
				return err
			}
			if err := tx.PutFile("TODO.md", "- rest"); err != nil {
				return err
			}
			if err := tx.Reset("Work", 0, day); err != nil {
				return err
			}
			return tx.UndoTurn(models.DefaultSlot, day)
		})
		change(t, s, gone, func(tx store.SessionTx) error { return tx.Delete(day) })
		for erased := false; !erased; { // the last trace of it in the database, too
			var err error
			erased, err = s.EraseDeleted(t.Context(), 1000)
			must(t, err)
		}
		must(t, s.MoveSession(t.Context(), moved, &models.Session{Key: moved + "-here", AgentID: "assistant"}, false))
	})
	s := open(t, dir, nil)
	defer closeStore(t, s)
	wantFaithful(t, s, dir)
}

// A turn of which the file holds a part, or all, is there once, wherever it was cut.
func TestTornTail(t *testing.T) {
	texts := []string{"three with a 😀 and 语", "to three"}
	dir := behind(t, func(s store.Store) {
		create(t, s, key)
		say(t, s, key, models.DefaultSlot, "one", "to one")
		say(t, s, key, models.DefaultSlot, "two", "to two")
	}, func(s store.Store) {
		say(t, s, key, models.DefaultSlot, texts...)
		change(t, s, key, func(tx store.SessionTx) error {
			return tx.Freeze(models.DefaultSlot, []store.PrunedForm{{Seq: 1, Pruned: "soft", Content: "short"}})
		})
	})
	file := filepath.Join(dirOf(dir, key), "messages.jsonl")
	base := read(t, file)
	whole := clone(t, dir)
	closeStore(t, open(t, whole, nil))
	want := read(t, dirOf(whole, key), "messages.jsonl")
	tail, ok := strings.CutPrefix(want, base)
	if !ok || strings.Count(tail, "\n") != 3 {
		t.Fatalf("the turn adds %q", tail)
	}
	for cut := 0; cut <= len(tail); cut += 1 + len(tail)/24 {
		died := clone(t, dir)
		must(t, os.WriteFile(filepath.Join(dirOf(died, key), "messages.jsonl"), []byte(base+tail[:cut]), 0o600))
		s := open(t, died, nil)
		wantFaithful(t, s, died)
		closeStore(t, s)
	}
	for name, content := range map[string]string{
		"lost":     "",
		"zeros":    base + strings.Repeat("\x00", 4096),
		"garbage":  base + "{\"seq\":\n",
		"anew":     base[:len(base)/2],
		"twice":    want + tail,
		"no lines": "no lines",
	} {
		died := clone(t, dir)
		must(t, os.WriteFile(filepath.Join(dirOf(died, key), "messages.jsonl"), []byte(content), 0o600))
		s := open(t, died, nil)
		if name != "lost" && name != "anew" { // what was synced is not lost by a crash
			wantFaithful(t, s, died)
		}
		closeStore(t, s)
	}
}

const crashDir = "CHATKEEP_TEST_CRASH_DIR"

// TestCrashWriter is the process that TestCrash kills: it writes until it dies, and
// says on its output what was acknowledged.
func TestCrashWriter(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("the process that TestCrash kills")
	}
	s := open(t, dir, nil)
	fail := make(chan struct{})
	for lane := range 3 {
		go func() {
			defer close(fail)
			k := fmt.Sprint(key, lane)
			for i := 0; ; i++ {
				text := fmt.Sprint(os.Getpid(), "-", i)
				say(t, s, k, models.DefaultSlot, text, "to "+text)
				fmt.Println("said", k, text)
				switch i % 4 {
				case 1:
					change(t, s, k, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, day) })
				case 2:
					change(t, s, k, func(tx store.SessionTx) error { return tx.PutFile("TODO.md", text) })
				case 3:
					change(t, s, k, func(tx store.SessionTx) error {
						_, err := tx.DropMessages(models.DefaultSlot, int64(i), day)
						return err
					})
				}
			}
		}()
	}
	<-fail
}

// Killed at any moment, nothing acknowledged is lost, and the files say what is stored.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for lane := range 3 {
		create(t, s, fmt.Sprint(key, lane))
	}
	closeStore(t, s)
	self, err := os.Executable()
	must(t, err)
	for round := range 6 {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestCrashWriter$", "-test.count=1")
		cmd.Env = append(os.Environ(), crashDir+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		last := map[string]string{}
		scanner := bufio.NewScanner(out)
		for n := 0; scanner.Scan(); {
			words := strings.Fields(scanner.Text())
			if len(words) != 3 || words[0] != "said" {
				t.Errorf("the writer says %q", scanner.Text())
				continue
			}
			last[words[1]] = words[2]
			if n++; n == 10+7*round {
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // it was killed
		died := clone(t, dir)
		s := open(t, died, nil)
		wantFaithful(t, s, died)
		for k, text := range last {
			r, err := s.SessionRecord(context.Background(), k)
			must(t, err)
			found := false
			for after := int64(0); ; {
				page, err := s.MessageRecords(context.Background(), r.Contexts[0].Ref, after, 500)
				must(t, err)
				if len(page) == 0 {
					break
				}
				for _, m := range page {
					found, after = found || m.Content == text, m.Seq
				}
			}
			if !found {
				t.Errorf("%s was acknowledged and is not in %s", text, k)
			}
		}
		closeStore(t, s)
	}
}

package filestore_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

const key = "agent:assistant:channel:any:scope:per_peer:api/default/Lin"

var day = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func create(tb testing.TB, s store.Store, key string) {
	tb.Helper()
	must(tb, s.CreateSession(tb.Context(), storetest.NewSession(key, day)))
}

// say appends a turn to a slot.
func say(tb testing.TB, s store.Store, key, slot string, texts ...string) {
	tb.Helper()
	var turn []*models.SessionMessage
	for i, text := range texts {
		m := storetest.NewSessionMessage([]models.Role{models.RoleUser, models.RoleAssistant}[i%2], text, day.Add(time.Duration(i)*time.Second))
		m.Slot = slot
		turn = append(turn, m)
	}
	must(tb, s.AppendMessages(tb.Context(), key, turn))
}

func change(tb testing.TB, s store.Store, key string, change func(tx store.SessionTx) error) {
	tb.Helper()
	must(tb, s.ChangeSession(tb.Context(), key, change))
}

func newSlot(id string) *models.ContextSlot {
	return &models.ContextSlot{ID: id, Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: true, CreatedAt: day}
}

// everything makes a session with something of everything.
func everything(tb testing.TB, s store.Store, key string) {
	tb.Helper()
	create(tb, s, key)
	for _, text := range []string{"one", "two", "three", "four"} {
		say(tb, s, key, models.DefaultSlot, text, "to "+text)
	}
	change(tb, s, key, func(tx store.SessionTx) error {
		for _, slot := range []string{"work", "Work", "..", "con"} {
			if err := tx.CreateSlot(newSlot(slot)); err != nil {
				return err
			}
		}
		if err := tx.PutNote(&models.Note{ID: "note_1", Key: "likes", Value: "tea\n茶", CreatedAt: day}); err != nil {
			return err
		}
		if err := tx.SetVariable("city", json.RawMessage(`{"name":"上海"}`)); err != nil {
			return err
		}
		return tx.PutFile("PLAN.md", "# Plan\n- tea")
	})
	for _, slot := range []string{"work", "Work", "..", "con"} {
		say(tb, s, key, slot, "in "+slot)
	}
	summarise(tb, s, key, 2)
	change(tb, s, key, func(tx store.SessionTx) error {
		if err := tx.UndoTurn(models.DefaultSlot, day); err != nil {
			return err
		}
		return tx.Freeze(models.DefaultSlot, []store.PrunedForm{{Seq: 4, Pruned: "soft", Content: "short"}})
	})
}

func summarise(tb testing.TB, s store.Store, key string, through int64) {
	tb.Helper()
	change(tb, s, key, func(tx store.SessionTx) error {
		generation, err := tx.Generation(models.DefaultSlot)
		if err != nil {
			return err
		}
		return tx.Compact(models.DefaultSlot, generation, through, storetest.NewSessionMessage(models.RoleSystem, "summary", day), day)
	})
}

func dirOf(dir, key string) string { return filepath.Join(dir, "sessions", filestore.SessionDir(key)) }

func read(tb testing.TB, path ...string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	must(tb, err)
	return string(text)
}

// tree is everything below a directory, as one text.
func tree(tb testing.TB, dir string) string {
	tb.Helper()
	var b strings.Builder
	must(tb, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b.WriteString(strings.TrimPrefix(path, dir) + "\n" + read(tb, path) + "\n")
		}
		return err
	}))
	return b.String()
}

// clone copies a store's directory as it is, under whatever writes to it.
func clone(tb testing.TB, dir string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), "clone")
	must(tb, os.CopyFS(to, os.DirFS(dir)))
	return to
}

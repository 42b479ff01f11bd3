package filestore_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
)

// wantFaithful fails unless the directories hold what the store says, and nothing else.
func wantFaithful(tb testing.TB, s store.Store, dir string) {
	tb.Helper()
	var want []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		sessions, next, err := s.ListSessions(context.Background(), store.SessionQuery{Limit: 500, Cursor: cursor})
		if err != nil {
			tb.Fatal(err)
		}
		for _, session := range sessions {
			want = append(want, filestore.SessionDir(session.Key))
			sameSession(tb, s, session.Key, filepath.Join(dir, "sessions", filestore.SessionDir(session.Key)))
		}
		cursor = next
	}
	slices.Sort(want)
	if got := names(tb, filepath.Join(dir, "sessions")); !slices.Equal(got, want) {
		tb.Errorf("session directories are %v, want %v", got, want)
	}
}

func names(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// sameSession compares what can be read back from a directory with what is stored.
func sameSession(tb testing.TB, s store.Store, key, dir string) {
	tb.Helper()
	stored, err := s.SessionRecord(context.Background(), key)
	if err != nil {
		tb.Fatal(err)
	}
	read, err := filestore.ReadDir(dir)
	if err != nil {
		tb.Errorf("%s: %v", key, err)
		return
	}
	files := []string{}
	stored.Contexts = slices.DeleteFunc(stored.Contexts, func(c *store.ContextRecord) bool { return !c.SetAsideAt.IsZero() })
	for _, c := range stored.Contexts {
		if name := filestore.SlotFile(c.Slot.ID); filepath.Dir(name) == "slots" {
			files = append(files, filepath.Base(name))
		}
		sameMessages(tb, s, c, dir)
	}
	slices.Sort(files)
	if got := names(tb, filepath.Join(dir, "slots")); !slices.Equal(got, files) {
		tb.Errorf("%s: slot files are %v, want %v", key, got, files)
	}
	if got, want := settled(tb, read), settled(tb, stored); got != want {
		tb.Errorf("%s: directory says\n%s, want\n%s", key, got, want)
	}
}

// settled is a record as text, without what follows from the messages.
func settled(tb testing.TB, r *store.SessionRecord) string {
	tb.Helper()
	c := *r
	c.Session.MessageCount, c.Session.TotalTokenCount = 0, 0
	c.Session.LastActivityAt, c.Session.UpdatedAt, c.Session.LastUserAt = c.Session.CreatedAt, c.Session.CreatedAt, c.Session.CreatedAt
	c.Contexts = nil
	for _, have := range r.Contexts {
		x := *have
		x.Ref, x.NextSeq, x.ModelAt = "", 0, x.SetAsideAt
		x.ShownFrom, x.ResultsFrom = 0, 0 // of no use without ModelAt
		x.Slot.MessageCount, x.Slot.TotalTokens, x.Slot.Current = 0, 0, false
		c.Contexts = append(c.Contexts, &x)
	}
	return asJSON(tb, c)
}

func asJSON(tb testing.TB, v any) string {
	tb.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func sameMessages(tb testing.TB, s store.Store, c *store.ContextRecord, dir string) {
	tb.Helper()
	read, err := filestore.ReadSlot(dir, c.Slot.ID)
	if err != nil {
		tb.Errorf("%s: slot %s: %v", c.Slot.SessionKey, c.Slot.ID, err)
		return
	}
	for after := int64(0); ; {
		stored, err := s.MessageRecords(context.Background(), c.Ref, after, 200)
		if err != nil {
			tb.Fatal(err)
		}
		if len(stored) == 0 {
			break
		}
		for _, want := range stored {
			after = want.Seq
			want.Slot = c.Slot.ID
			if len(read) == 0 {
				tb.Errorf("%s: slot %s lacks message %d", c.Slot.SessionKey, c.Slot.ID, want.Seq)
				return
			}
			if got := asJSON(tb, read[0]); got != asJSON(tb, want) {
				tb.Errorf("%s: slot %s: file says\n%s, want\n%s", c.Slot.SessionKey, c.Slot.ID, got, asJSON(tb, want))
			}
			read = read[1:]
		}
	}
	if len(read) > 0 {
		tb.Errorf("%s: slot %s: %d messages too many", c.Slot.SessionKey, c.Slot.ID, len(read))
	}
}

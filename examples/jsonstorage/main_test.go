package main

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/storagetest"
)

func TestStorage(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) sessionmgr.SessionStorage {
		s, err := newJSONStorage(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// What one process was told the next one knows, and no other user does.
func TestRemember(t *testing.T) {
	dir := t.TempDir()
	say := func(user, text string) string {
		var out strings.Builder
		if err := remember(t.Context(), dir, user, text, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := say("lin", "Buy milk."); got != "1. Buy milk.\n" {
		t.Errorf("%q", got)
	}
	if got := say("LIN", "Buy bread."); got != "1. Buy bread.\n" {
		t.Errorf("%q", got)
	}
	if got := say("lin", "And tea."); got != "1. Buy milk.\n2. And tea.\n" {
		t.Errorf("%q", got)
	}
	if err := remember(t.Context(), dir, "", "Nobody's.", &strings.Builder{}); err == nil {
		t.Error("a user without a name has a session")
	}
}

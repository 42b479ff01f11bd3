package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
	"github.com/chatkeep/chatkeep/store"
)

// memory is a notebook of this test.
type memory struct {
	notes map[string][]*models.Note // newest first
	files map[string]string
	whole map[string]*models.FullResult
	err   error
}

func newMemory() *memory {
	return &memory{notes: map[string][]*models.Note{}, files: map[string]string{}}
}

func (m *memory) Notes(_ context.Context, session string, limit int) ([]*models.Note, error) {
	notes := m.notes[session]
	return notes[:min(limit, len(notes))], m.err
}

func (m *memory) PutNote(_ context.Context, session string, n *models.Note) error {
	if m.err != nil {
		return m.err
	}
	if slices.ContainsFunc(m.notes[session], func(o *models.Note) bool { return o.ID == n.ID }) {
		return store.ErrExists
	}
	m.notes[session] = append([]*models.Note{n}, m.notes[session]...)
	return nil
}

func (m *memory) File(_ context.Context, session, name string) (string, error) {
	return m.files[session+"\x00"+name], m.err
}

func (m *memory) PutFile(_ context.Context, session, name, text string) error {
	m.files[session+"\x00"+name] = text
	return m.err
}

func (m *memory) Result(_ context.Context, session, id string) (*models.FullResult, error) {
	if r := m.whole[session+"\x00"+id]; r != nil {
		return r, m.err
	}
	return nil, errors.Join(store.ErrNotFound, m.err)
}

func (m *memory) set() *Set { return New(time.UTC, m, nil, nil, clock.NewFake(time.Unix(0, 0))) }

// The session comes from the context alone; a call that is made again changes nothing.
func TestNotesOfASession(t *testing.T) {
	m := newMemory()
	remember, recall := only(t, m.set(), Remember), only(t, m.set(), Recall)
	a, b := chatctx.WithSessionKey(t.Context(), "a"), chatctx.WithSessionKey(t.Context(), "b")
	key := strings.Repeat("0123456789abcdef", 4)
	for range 2 {
		if _, err := remember.Call(a, []byte(`{"text":" Likes Tea ","key":"drink"}`), key); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.notes["a"]; len(got) != 1 || len(got[0].ID) > models.MaxName || got[0].Value != "Likes Tea" {
		t.Errorf("%d notes: %+v", len(got), got)
	}
	for _, tc := range []struct {
		ctx        context.Context
		args, want string
	}{
		{a, `{}`, "- drink: Likes Tea"},
		{a, `{"words":"TEA drink"}`, "- drink: Likes Tea"},
		{a, `{"words":"coffee"}`, "There are no such notes."},
		{b, `{}`, "There are no such notes."},
	} {
		if got, err := recall.Call(tc.ctx, []byte(tc.args), ""); err != nil || got.Text != tc.want {
			t.Errorf("%s: %q, %v", tc.args, got.Text, err)
		}
	}
	for i := range 200 {
		m.notes["b"] = append(m.notes["b"], &models.Note{Value: fmt.Sprint(i)})
	}
	if got, _ := recall.Call(b, []byte(`{}`), ""); strings.Count(got.Text, "\n") != maxRecalled {
		t.Errorf("%d lines", strings.Count(got.Text, "\n"))
	}
}

// Without a session nothing is read or written, and a store's words stay out of
// what a model reads.
func TestNotebookFailures(t *testing.T) {
	m := newMemory()
	ctx := chatctx.WithSessionKey(t.Context(), "a")
	for name, args := range map[string]string{Remember: `{"text":"x"}`, Recall: `{}`, Plan: `{"text":"x"}`} {
		tool := only(t, m.set(), name)
		m.err = nil
		if _, err := tool.Call(t.Context(), []byte(args), "k"); !errors.Is(err, errNoSession) {
			t.Errorf("%s without a session: %v", name, err)
		}
		m.err = errors.New("dial tcp 10.0.0.1: secret")
		if _, err := tool.Call(ctx, []byte(args), "k"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		m.err = fmt.Errorf("note: %w", store.ErrTooLarge)
		if _, err := tool.Call(ctx, []byte(args), "k"); name != Recall && (err == nil || !strings.Contains(err.Error(), "too long")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(m.notes) != 0 {
		t.Errorf("notes %v", m.notes)
	}
}

package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// noteRow is a row of notes. Its place orders it; the latest has the highest.
type noteRow struct {
	ID        string
	NoteKey   sql.NullString
	Value     string
	CreatedAt int64
}

func (r *noteRow) model() *models.Note {
	return &models.Note{ID: r.ID, Key: r.NoteKey.String, Value: r.Value, CreatedAt: fromMicros(r.CreatedAt)}
}

// Notes returns the newest notes of a session.
func (s *Store) Notes(ctx context.Context, key string, limit int) ([]*models.Note, error) {
	var rows []noteRow
	err := s.read(ctx, "notes", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, "SELECT id, note_key, value, created_at FROM notes WHERE sid = ? ORDER BY place DESC LIMIT ?",
			sidOf(key), min(max(limit, 0), models.MaxNotes))
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]*models.Note, len(rows))
	for i := range rows {
		out[i] = rows[i].model()
	}
	return out, nil
}

// Variables returns all variables of a session.
func (s *Store) Variables(ctx context.Context, key string) (map[string]json.RawMessage, error) {
	var rows []struct{ Name, Value string }
	err := s.read(ctx, "variables", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, "SELECT name, value FROM variables WHERE sid = ?", sidOf(key))
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(rows))
	for _, r := range rows {
		out[r.Name] = json.RawMessage(r.Value)
	}
	return out, nil
}

// File returns the text of a plan file.
func (s *Store) File(ctx context.Context, key, name string) (text string, err error) {
	if err := checkPlanFile(name, ""); err != nil {
		return "", wrap("file", err)
	}
	err = s.read(ctx, "file", func(t *tx) error {
		_, err := t.find(&text, "SELECT content FROM plan_files WHERE sid = ? AND name = ?", sidOf(key), name)
		return err
	})
	return text, err
}

func checkPlanFile(name, text string) error {
	if !slices.Contains(models.PlanFiles(), name) {
		return fmt.Errorf("plan file %q: %w", name, store.ErrInvalid)
	}
	var c checks
	c.text("plan file", text, models.MaxPlanFile)
	return c.err
}

// exists returns [store.ErrNotFound] unless the session does.
func (x *sessionTx) exists() error {
	var one int
	n, err := x.tx.find(&one, "SELECT 1 FROM sessions WHERE sid = ?", x.lane.Sid)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

func (c *checks) note(n *models.Note) {
	c.id("note id", n.ID, models.MaxName)
	c.text("note key", n.Key, models.MaxForeignID)
	c.id("note", n.Value, models.MaxNote)
}

func (c *checks) variable(name string, value json.RawMessage) {
	c.id("variable name", name, models.MaxForeignID)
	c.text("variable", string(value), models.MaxVariable)
	if c.err == nil && !json.Valid(value) {
		c.err = fmt.Errorf("variable is not valid JSON: %w", store.ErrInvalid)
	}
}

func (x *sessionTx) PutNote(n *models.Note) error {
	if n.ID == "" {
		n.ID = models.NewID("note")
	}
	var c checks
	c.note(n)
	if c.err != nil {
		return c.err
	}
	if err := x.exists(); err != nil {
		return err
	}
	var key any
	if n.Key != "" {
		key = n.Key
		if _, err := x.tx.exec("DELETE FROM notes WHERE sid = ? AND note_key = ?", x.lane.Sid, key); err != nil {
			return err
		}
	}
	var have struct{ Notes, Last int64 }
	if _, err := x.tx.find(&have, "SELECT COUNT(*) AS notes, COALESCE(MAX(place), 0) AS last FROM notes WHERE sid = ?", x.lane.Sid); err != nil {
		return err
	}
	if have.Notes >= models.MaxNotes {
		return fmt.Errorf("the session has %d notes already: %w", have.Notes, store.ErrTooLarge)
	}
	return insertRows(x.tx, "INSERT INTO notes (sid, place, id, note_key, value, created_at) VALUES ",
		[][]any{{x.lane.Sid, have.Last + 1, n.ID, key, n.Value, micros(n.CreatedAt)}})
}

func (x *sessionTx) DeleteNote(id string) error {
	return x.one("DELETE FROM notes WHERE sid = ? AND id = ?", x.lane.Sid, id)
}

func (x *sessionTx) DeleteNotes() (int, error) {
	if err := x.exists(); err != nil {
		return 0, err
	}
	n, err := x.tx.exec("DELETE FROM notes WHERE sid = ?", x.lane.Sid)
	return int(n), err
}

func (x *sessionTx) SetVariable(name string, value json.RawMessage) error {
	var c checks
	c.variable(name, value)
	if c.err != nil {
		return c.err
	}
	if err := x.exists(); err != nil {
		return err
	}
	var others int64
	if _, err := x.tx.find(&others, "SELECT COUNT(*) FROM variables WHERE sid = ? AND name <> ?", x.lane.Sid, name); err != nil {
		return err
	}
	if others >= models.MaxVariables {
		return fmt.Errorf("the session has %d variables already: %w", others, store.ErrTooLarge)
	}
	_, err := x.tx.exec("INSERT INTO variables (sid, name, value) VALUES (?, ?, ?) {upsert sid, name} value = ?",
		x.lane.Sid, name, string(value), string(value))
	return err
}

func (x *sessionTx) DeleteVariable(name string) error {
	return x.one("DELETE FROM variables WHERE sid = ? AND name = ?", x.lane.Sid, name)
}

func (x *sessionTx) PutFile(name, text string) error {
	if err := checkPlanFile(name, text); err != nil {
		return err
	}
	if err := x.exists(); err != nil {
		return err
	}
	_, err := x.tx.exec("INSERT INTO plan_files (sid, name, content) VALUES (?, ?, ?) {upsert sid, name} content = ?",
		x.lane.Sid, name, text, text)
	return err
}

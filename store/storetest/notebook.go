package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func notebookTests() []test {
	return []test{
		{"NotesNewestFirst", notesNewest},
		{"NoteOfAKeyIsReplaced", notesReplaced},
		{"DeleteNotes", notesDelete},
		{"TooManyNotes", notesTooMany},
		{"Variables", variables},
		{"TooManyVariables", variablesTooMany},
		{"PlanFiles", planFiles},
		{"NamesByteForByte", notebookNames},
		{"TooLargeOrInvalid", notebookLimits},
		{"OutlivesAReset", notebookReset},
		{"GoesWithTheSession", notebookDelete},
		{"NeverCrossesSessions", notebookIsolated},
		{"InTheContext", notebookContext},
	}
}

func (f *fixture) note(key, noteKey, value string) *models.Note {
	f.Helper()
	n := &models.Note{Key: noteKey, Value: value, CreatedAt: f.now}
	f.change(key, func(tx store.SessionTx) error { return tx.PutNote(n) })
	return n
}

// notes reads the newest notes as key=value.
func (f *fixture) notes(key string, limit int) []string {
	f.Helper()
	notes, err := f.Notes(f.ctx, key, limit)
	f.ok(err)
	return noteTexts(notes)
}

func noteTexts(notes []*models.Note) []string {
	out := []string{}
	for _, n := range notes {
		out = append(out, n.Key+"="+n.Value)
	}
	return out
}

func (f *fixture) variable(key, name, value string) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error { return tx.SetVariable(name, json.RawMessage(value)) })
}

func (f *fixture) variables(key string) map[string]json.RawMessage {
	f.Helper()
	all, err := f.Variables(f.ctx, key)
	f.ok(err)
	return all
}

func (f *fixture) file(key, name string) string {
	f.Helper()
	text, err := f.File(f.ctx, key, name)
	f.ok(err)
	return text
}

// refuses checks that a change fails and leaves nothing.
func (f *fixture) refuses(key string, want error, change func(tx store.SessionTx) error) {
	f.Helper()
	f.fails(f.ChangeSession(f.ctx, key, change), want)
}

func notesNewest(f *fixture) {
	key := f.key()
	f.create(key)
	equal(f, "notes", f.notes(key, 5), []string{})
	for i := range 7 {
		n := f.note(key, "", fmt.Sprint(i))
		if !strings.HasPrefix(n.ID, "note_") {
			f.Fatalf("id is %q", n.ID)
		}
	}
	equal(f, "newest three", f.notes(key, 3), []string{"=6", "=5", "=4"})
	all, err := f.Notes(f.ctx, key, 100)
	f.ok(err)
	equal(f, "notes", len(all), 7)
	f.sameTime("createdAt", all[0].CreatedAt, f.now)
	again := &models.Note{ID: all[0].ID, Value: "twice"}
	f.refuses(key, store.ErrExists, func(tx store.SessionTx) error { return tx.PutNote(again) })
	f.refuses(f.key(), store.ErrNotFound, func(tx store.SessionTx) error { return tx.PutNote(&models.Note{Value: "lost"}) })
}

func notesReplaced(f *fixture) {
	key := f.key()
	f.create(key)
	first := f.note(key, "city", "Berlin")
	f.note(key, "", "no key")
	f.note(key, "", "no key either")
	second := f.note(key, "city", "上海")
	equal(f, "notes", f.notes(key, 10), []string{"city=上海", "=no key either", "=no key"})
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { return tx.DeleteNote(first.ID) })
	f.change(key, func(tx store.SessionTx) error { return tx.DeleteNote(second.ID) })
	equal(f, "notes", f.notes(key, 10), []string{"=no key either", "=no key"})
}

func notesDelete(f *fixture) {
	key := f.key()
	f.create(key)
	for range 3 {
		f.note(key, "", "note")
	}
	f.change(key, func(tx store.SessionTx) error {
		n, err := tx.DeleteNotes()
		equal(f, "deleted", n, 3)
		return err
	})
	equal(f, "notes", f.notes(key, 10), []string{})
	f.change(key, func(tx store.SessionTx) error {
		n, err := tx.DeleteNotes()
		equal(f, "deleted", n, 0)
		return err
	})
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { return tx.DeleteNote("note_unknown") })
}

func notesTooMany(f *fixture) {
	key := f.key()
	f.create(key)
	f.change(key, func(tx store.SessionTx) error {
		for i := range models.MaxNotes {
			if err := tx.PutNote(&models.Note{Key: fmt.Sprint(i), Value: "note", CreatedAt: f.now}); err != nil {
				return err
			}
		}
		return nil
	})
	f.refuses(key, store.ErrTooLarge, func(tx store.SessionTx) error { return tx.PutNote(&models.Note{Value: "one too many"}) })
	f.note(key, "7", "replaced")
	equal(f, "newest", f.notes(key, 1), []string{"7=replaced"})
}

func variables(f *fixture) {
	key := f.key()
	equal(f, "variables", f.variables(key), map[string]json.RawMessage{})
	f.create(key)
	for name, value := range map[string]string{"number": "1.50", "text": `"名字 😀"`, "null": "null", "object": `{"b": 1, "a": [2]}`} {
		f.variable(key, name, value)
		equal(f, name, string(f.variables(key)[name]), value)
	}
	f.variable(key, "number", "2")
	equal(f, "number", string(f.variables(key)["number"]), "2")
	f.change(key, func(tx store.SessionTx) error { return tx.DeleteVariable("number") })
	equal(f, "variables", len(f.variables(key)), 3)
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { return tx.DeleteVariable("number") })
	f.refuses(f.key(), store.ErrNotFound, func(tx store.SessionTx) error { return tx.SetVariable("a", json.RawMessage("1")) })
}

func variablesTooMany(f *fixture) {
	key := f.key()
	f.create(key)
	f.change(key, func(tx store.SessionTx) error {
		for i := range models.MaxVariables {
			if err := tx.SetVariable(fmt.Sprint(i), json.RawMessage("0")); err != nil {
				return err
			}
		}
		return nil
	})
	f.refuses(key, store.ErrTooLarge, func(tx store.SessionTx) error { return tx.SetVariable("one too many", json.RawMessage("0")) })
	f.variable(key, "7", "1")
	equal(f, "variables", len(f.variables(key)), models.MaxVariables)
}

func planFiles(f *fixture) {
	key := f.key()
	f.create(key)
	for _, name := range models.PlanFiles() {
		equal(f, name, f.file(key, name), "")
		for _, text := range []string{"# 计划\n- [ ] one\r\n", ""} {
			f.change(key, func(tx store.SessionTx) error { return tx.PutFile(name, text) })
			equal(f, name, f.file(key, name), text)
		}
	}
	for _, name := range []string{"", "plan.md", "PLAN.md ", "../PLAN.md", "NOTES.md"} {
		f.refuses(key, store.ErrInvalid, func(tx store.SessionTx) error { return tx.PutFile(name, "text") })
		_, err := f.File(f.ctx, key, name)
		f.fails(err, store.ErrInvalid)
	}
	f.refuses(f.key(), store.ErrNotFound, func(tx store.SessionTx) error { return tx.PutFile("PLAN.md", "lost") })
}

func notebookNames(f *fixture) {
	key := f.key()
	f.create(key)
	f.change(key, func(tx store.SessionTx) error {
		for _, id := range lookAlikes() {
			value, err := json.Marshal(id)
			if err != nil {
				return err
			}
			if err := tx.SetVariable(id, value); err != nil {
				return err
			}
			if err := tx.PutNote(&models.Note{Key: id, Value: id}); err != nil {
				return err
			}
		}
		return nil
	})
	all, err := f.Notes(f.ctx, key, 1000)
	f.ok(err)
	equal(f, "notes", len(all), len(lookAlikes()))
	for i, n := range all {
		want := lookAlikes()[len(all)-1-i]
		equal(f, "note", [...]string{n.Key, n.Value}, [...]string{want, want})
	}
	values := f.variables(key)
	equal(f, "variables", len(values), len(lookAlikes()))
	for name, value := range values {
		var got string
		f.ok(json.Unmarshal(value, &got))
		equal(f, "variable", got, name)
	}
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { return tx.DeleteVariable("aBC") })
}

func notebookLimits(f *fixture) {
	key := f.key()
	f.create(key)
	note := func(set func(n *models.Note)) func(tx store.SessionTx) error {
		n := &models.Note{Value: "text"}
		set(n)
		return func(tx store.SessionTx) error { return tx.PutNote(n) }
	}
	variable := func(name, value string) func(tx store.SessionTx) error {
		return func(tx store.SessionTx) error { return tx.SetVariable(name, json.RawMessage(value)) }
	}
	file := func(text string) func(tx store.SessionTx) error {
		return func(tx store.SessionTx) error { return tx.PutFile("PLAN.md", text) }
	}
	for _, c := range []struct {
		what string
		do   func(tx store.SessionTx) error
		want error
	}{
		{"long note", note(func(n *models.Note) { n.Value = strings.Repeat("n", models.MaxNote+1) }), store.ErrTooLarge},
		{"long note key", note(func(n *models.Note) { n.Key = strings.Repeat("k", models.MaxForeignID+1) }), store.ErrTooLarge},
		{"empty note", note(func(n *models.Note) { n.Value = "" }), store.ErrInvalid},
		{"invalid note", note(func(n *models.Note) { n.Value = "\xff" }), store.ErrInvalid},
		{"NUL in a note key", note(func(n *models.Note) { n.Key = "\x00" }), store.ErrInvalid},
		{"long variable", variable("a", `"`+strings.Repeat("v", models.MaxVariable)+`"`), store.ErrTooLarge},
		{"long variable name", variable(strings.Repeat("n", models.MaxForeignID+1), "1"), store.ErrTooLarge},
		{"empty variable name", variable("", "1"), store.ErrInvalid},
		{"empty variable", variable("a", ""), store.ErrInvalid},
		{"no JSON", variable("a", "{"), store.ErrInvalid},
		{"invalid variable", variable("a", "\"\xff\""), store.ErrInvalid},
		{"long file", file(strings.Repeat("f", models.MaxPlanFile+1)), store.ErrTooLarge},
		{"invalid file", file("\xff"), store.ErrInvalid},
	} {
		f.Log(c.what)
		f.refuses(key, c.want, c.do)
	}
	equal(f, "notes", f.notes(key, 10), []string{})
	equal(f, "variables", len(f.variables(key)), 0)
	largest := strings.Repeat("'", models.MaxNote)
	f.note(key, "", largest)
	equal(f, "largest note", f.notes(key, 1), []string{"=" + largest})
	f.variable(key, "a", `"`+strings.Repeat("v", models.MaxVariable-2)+`"`)
	text := strings.Repeat("字", models.MaxPlanFile/3)
	f.change(key, file(text))
	equal(f, "largest file", f.file(key, "PLAN.md") == text, true)
}

// notebook makes a session with a note, a variable and a plan file, each with text in it.
func (f *fixture) notebook(key, text string) {
	f.Helper()
	f.note(key, "", text)
	f.variable(key, "name", fmt.Sprintf("%q", text))
	f.change(key, func(tx store.SessionTx) error { return tx.PutFile("TODO.md", text) })
}

// kept describes a session's notebook.
func (f *fixture) kept(key string) string {
	f.Helper()
	return fmt.Sprint(f.notes(key, 100), " ", string(f.variables(key)["name"]), " ", f.file(key, "TODO.md"))
}

func notebookReset(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	f.notebook(key, "kept")
	before := f.kept(key)
	f.reset(key, models.DefaultSlot)
	equal(f, "notebook", f.kept(key), before)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	equal(f, "notebook", f.kept(key), before)
}

func notebookDelete(f *fixture) {
	key, other := f.key(), f.key()
	f.create(key)
	f.create(other)
	f.notebook(key, "secret")
	f.notebook(other, "other")
	empty := f.kept(f.key())
	f.delete(key)
	equal(f, "notebook of a deleted session", f.kept(key), empty)
	f.create(key)
	equal(f, "notebook of a new session", f.kept(key), empty)
	f.eraseAll()
	equal(f, "notebook of another session", f.kept(other), `[=other] "other" other`)
}

func notebookIsolated(f *fixture) {
	keys := []string{f.key(), f.key(), f.key()}
	for _, key := range keys {
		f.create(key)
		f.notebook(key, key)
	}
	for _, key := range keys {
		equal(f, "notebook", f.kept(key), fmt.Sprintf("[=%s] %q %s", key, key, key))
		c, err := f.LoadContext(f.ctx, key, "", 10)
		f.ok(err)
		equal(f, "context", fmt.Sprint(noteTexts(c.Notes), string(c.Variables["name"])), fmt.Sprintf("[=%s]%q", key, key))
	}
}

func notebookContext(f *fixture) {
	key := f.key()
	f.create(key)
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 10)
	f.ok(err)
	equal(f, "empty", [...]int{len(c.Notes), len(c.Variables)}, [...]int{0, 0})
	for i := range store.ContextNotes + 2 {
		f.note(key, fmt.Sprint("k", i), fmt.Sprint(i))
	}
	f.variable(key, "a", `{"b":1}`)
	f.variable(key, "c", "[]")
	turn := f.start(key)
	f.commit(f.answer(turn, "one", func(c *store.TurnCommit) { c.ModelAt = f.at(time.Second) }))
	for _, slot := range []string{"", models.DefaultSlot, "gone"} {
		c, err := f.LoadContext(f.ctx, key, slot, 10)
		f.ok(err)
		equal(f, "notes", noteTexts(c.Notes), []string{"k6=6", "k5=5", "k4=4", "k3=3", "k2=2"})
		f.sameTime("createdAt", c.Notes[0].CreatedAt, f.now)
		equal(f, "variables", c.Variables, map[string]json.RawMessage{"a": json.RawMessage(`{"b":1}`), "c": json.RawMessage("[]")})
		f.sameTime("modelAt", c.ModelAt, f.at(time.Second))
	}
}

package command

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// maxNoteKey bounds a note's key, in characters: more is text with a = in it.
	maxNoteKey = 40
	// maxNotesShown bounds what /memory lists.
	maxNotesShown = 50
	// shownNote is how much of a note a list shows, in characters.
	shownNote = 200
)

// remember is /remember [key=]text.
func remember(c *Call) (string, error) {
	about, value := splitNote(c.Args)
	switch {
	case value == "":
		return text.Say(c.Lang, text.NoteUsage), nil
	case len(value) > models.MaxNote:
		return text.Say(c.Lang, text.NoteTooLong), nil
	}
	if err := c.Tx.Create(&c.Session); err != nil {
		return "", err
	}
	note := &models.Note{ID: models.NewID("note"), Key: about, Value: value, CreatedAt: c.Now}
	err := c.Tx.PutNote(note)
	if errors.Is(err, store.ErrTooLarge) {
		return text.Say(c.Lang, text.NoteTooMany), nil
	}
	if err != nil {
		return "", err
	}
	return text.Say(c.Lang, text.NoteKept, noteLine(note)), nil
}

// splitNote takes the key off a note: a word before the first =.
func splitNote(args string) (about, value string) {
	args = strings.TrimSpace(args)
	i := strings.IndexAny(args, "=＝")
	if i <= 0 || !isNoteKey(strings.TrimSpace(args[:i])) {
		return "", args
	}
	_, size := utf8.DecodeRuneInString(args[i:])
	return strings.TrimSpace(args[:i]), strings.TrimSpace(args[i+size:])
}

func isNoteKey(s string) bool {
	return len([]rune(s)) <= maxNoteKey && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
}

// forget is /forget [id]: one note, by id or key, or all of them.
func forget(c *Call) (string, error) {
	if c.Args == "" {
		n, err := c.Tx.DeleteNotes()
		if errors.Is(err, store.ErrNotFound) { // the session is not there yet
			return text.Say(c.Lang, text.NoteNone), nil
		}
		if err != nil {
			return "", err
		}
		return text.Say(c.Lang, text.NotesForgot, n), nil
	}
	i := slices.IndexFunc(c.Notes, func(n *models.Note) bool { return n.ID == c.Args || n.Key == c.Args })
	if i < 0 {
		return text.Say(c.Lang, text.NoteMissing, c.Args), nil
	}
	err := c.Tx.DeleteNote(c.Notes[i].ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // gone already is forgotten too
		return "", err
	}
	return text.Say(c.Lang, text.NoteForgot, noteLine(c.Notes[i])), nil
}

// memory is /memory.
func memory(c *Call) (string, error) {
	if len(c.Notes) == 0 {
		return text.Say(c.Lang, text.NoteNone), nil
	}
	lines := []string{text.Say(c.Lang, text.NoteTitle, len(c.Notes))}
	for i, n := range c.Notes {
		if i == maxNotesShown {
			lines = append(lines, text.Say(c.Lang, text.NotesAndMore, len(c.Notes)-i))
			break
		}
		lines = append(lines, "- `"+n.ID+"` "+noteLine(n))
	}
	return strings.Join(lines, "\n"), nil
}

// noteLine is a note on one line.
func noteLine(n *models.Note) string {
	line := strings.Join(strings.Fields(n.Value), " ")
	if n.Key != "" {
		line = n.Key + "=" + line
	}
	if runes := []rune(line); len(runes) > shownNote {
		line = string(runes[:shownNote]) + "…"
	}
	return line
}

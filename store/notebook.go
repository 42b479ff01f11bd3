package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Notebook reads what a session keeps beside its messages. It is changed through
// [NotebookTx], under the lane's lock, and none of it ever leaves the session.
type Notebook interface {
	// Notes returns the newest limit notes, newest first.
	Notes(ctx context.Context, key string, limit int) ([]*models.Note, error)
	// Variables returns all variables of a session; none is an empty map.
	Variables(ctx context.Context, key string) (map[string]json.RawMessage, error)
	// File returns a plan file's text, "" if it was never written.
	File(ctx context.Context, key, name string) (string, error)
}

// NotebookTx changes a session's notebook. The session must exist.
type NotebookTx interface {
	// PutNote adds a note, or replaces the one with the same non-empty key.
	PutNote(n *models.Note) error
	// DeleteNote forgets one note; [ErrNotFound] if it is not there.
	DeleteNote(id string) error
	// DeleteNotes forgets all notes and returns how many there were.
	DeleteNotes() (int, error)
	// SetVariable sets a variable to a JSON value.
	SetVariable(name string, value json.RawMessage) error
	// DeleteVariable removes a variable; [ErrNotFound] if it is not there.
	DeleteVariable(name string) error
	// PutFile replaces a plan file.
	PutFile(name, text string) error
}

// ContextTx changes what of a slot's messages a context shows. Messages stay as
// they were written, except that DropMessages removes some for good.
type ContextTx interface {
	// Compact adds a summary that stands for everything up to and including the
	// message with seq through. [ErrConflict] if the slot was reset, or compacted
	// further, since its context had the given generation.
	Compact(slot string, generation int64, through int64, summary *models.SessionMessage, now time.Time) error
	// Freeze stores pruned forms; a message that has one keeps it.
	Freeze(slot string, forms []PrunedForm) error
	// DropMessages removes the messages up to and including through.
	DropMessages(slot string, through int64, now time.Time) (int, error)
	// MergeSlot appends the messages that a slot got since it was derived to another one.
	MergeSlot(from, into string, now time.Time) (int, error)
}

// PrunedForm is how a tool result is shown instead of as it was stored.
type PrunedForm struct {
	Seq int64
	// Pruned is "soft" or "hard".
	Pruned  string
	Content string
}

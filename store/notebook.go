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
	// File returns a plan file's text, "" if it was never written; [ErrInvalid] for a
	// name that is none of models.PlanFiles.
	File(ctx context.Context, key, name string) (string, error)
}

// NotebookTx changes a session's notebook. The session must exist.
type NotebookTx interface {
	// PutNote adds a note, or replaces the one with the same non-empty key: the note is
	// then the newest, under its own id. An empty ID is filled in (note_…), [ErrExists]
	// if it is taken. [ErrTooLarge] for a value beyond models.MaxNote, and for one note
	// more than models.MaxNotes.
	PutNote(n *models.Note) error
	// DeleteNote forgets one note; [ErrNotFound] if it is not there.
	DeleteNote(id string) error
	// DeleteNotes forgets all notes and returns how many there were.
	DeleteNotes() (int, error)
	// SetVariable sets a variable to a JSON value; [ErrInvalid] if it is not valid JSON,
	// [ErrTooLarge] beyond models.MaxVariable and for one variable more than models.MaxVariables.
	SetVariable(name string, value json.RawMessage) error
	// DeleteVariable removes a variable; [ErrNotFound] if it is not there.
	DeleteVariable(name string) error
	// PutFile replaces a plan file; [ErrInvalid] for a name that is none of models.PlanFiles.
	PutFile(name, text string) error
}

// ContextTx changes what of a slot's messages a context shows. Messages stay as
// they were written, except that DropMessages removes some for good. All of it is
// bookkeeping: it neither extends nor ends idleness.
type ContextTx interface {
	// Generation is what [SessionContext].Generation is now: it changes when the slot is
	// reset, restored, compacted, merged into another one, or loses messages. A job that worked from a context
	// which was read before compares it before it calls Freeze or DropMessages.
	Generation(slot string) (int64, error)
	// Untouched reports whether a slot still is what it was when its context was read, and
	// nothing waits or runs in its session. A job that worked from that context asks before
	// it changes anything.
	Untouched(read *SessionContext) (bool, error)
	// Compact adds a summary that stands for everything up to and including the
	// message with seq through. [ErrConflict] if the slot was reset, or compacted
	// further, since its context had the given generation; [ErrInvalid] if through is not
	// beyond the last compaction and within the slot. The summary is stored at the slot's
	// end with its own seq, and stands before the messages that were kept. A session that is
	// not in use becomes compacted, unless it is archived.
	Compact(slot string, generation int64, through int64, summary *models.SessionMessage, now time.Time) error
	// StopSummaries changes the generation of all slots, so that no summary can be stored
	// that is being made.
	StopSummaries() error
	// Freeze stores pruned forms. A message that has one keeps it, except that
	// [PrunedOmitted] takes the place of any other.
	Freeze(slot string, forms []PrunedForm) error
	// MarkPruned notes that pruning looked at everything up to and including through.
	MarkPruned(slot string, through int64) error
	// DropMessages removes the messages up to and including through, but not the summary
	// that the context shows, and returns how many there were.
	DropMessages(slot string, through int64, now time.Time) (int, error)
	// MergeSlot appends the messages that a slot got since it was derived, or last merged,
	// to another one, and returns how many: neither its summaries nor what was undone.
	// [ErrInvalid] if both are the same.
	MergeSlot(from, into string, now time.Time) (int, error)
	// MarkMerged notes that the messages up to and including through were merged otherwise.
	MarkMerged(slot string, through int64) error
}

// PrunedForm is how a message with tool calls, or a tool's result, is shown instead
// of as it was stored.
type PrunedForm struct {
	Seq int64
	// Pruned is "soft", "hard" or [PrunedOmitted].
	Pruned  string
	Content string
}

// PrunedOmitted is the form of a message whose tool calls are not shown any more.
const PrunedOmitted = "omitted"

// ContextNotes is how many notes a context has.
const ContextNotes = 5

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Transfers reads and writes whole sessions, to carry them to another store or back
// from a document.
type Transfers interface {
	// SessionRecord returns all of a session but its messages, or [ErrNotFound].
	SessionRecord(ctx context.Context, key string) (*SessionRecord, error)
	// MessageRecords returns the oldest messages of a context, which is named by its Ref,
	// with a seq above after, oldest first; undone ones too. A page has at most limit
	// messages, fewer if they are large, and none only at the end.
	MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*MessageRecord, error)
	// ImportSession begins to store a session that is not there: [ErrExists] if it is.
	// Nothing of it can be read until it is committed.
	ImportSession(ctx context.Context, key string) (SessionImport, error)
	// LooseRows visits, in bounded pages, the rows that are part of no [SessionRecord] and
	// that another store needs to go on from here: tasks and their runs, which messages
	// were seen, which threads are the same, who was let in, what was used.
	LooseRows(ctx context.Context, visit func(page []LooseRow) error) error
	// PutLooseRows stores rows that another store returned, and returns how many were
	// not there yet. A row that is there stays as it is.
	PutLooseRows(ctx context.Context, rows []LooseRow) (added int, err error)
}

// SessionImport is a session on its way into a store. Its methods are called one after
// the other. What is neither committed nor discarded is erased by [Upkeep] later.
type SessionImport interface {
	// Context begins the next context, in the order of [SessionRecord].Contexts. Its
	// counts are set from the messages that follow.
	Context(ctx context.Context, c *ContextRecord) error
	// Messages appends messages to the context that was begun last. Their seqs rise and
	// are below the context's NextSeq.
	Messages(ctx context.Context, messages []*MessageRecord) error
	// Commit makes the session readable. The contexts of the record are those that were
	// begun; the session's counts are those of its messages. [ErrExists] if somebody else
	// made the session meanwhile; [ErrConflict] if so much time passed that it was erased.
	Commit(ctx context.Context, r *SessionRecord) error
	// Discard erases what was stored; after Commit it does nothing.
	Discard(ctx context.Context) error
}

// SessionRecord is a session as it is stored, but for its messages.
type SessionRecord struct {
	// Session is without messages.
	Session models.Session
	// Contexts are those of the slots, oldest first, then those that resets set aside,
	// oldest first.
	Contexts []*ContextRecord
	// Notes are all, oldest first.
	Notes     []*models.Note
	Variables map[string]json.RawMessage
	// Files are the plan files that were written, by name.
	Files map[string]string
}

// ContextRecord is a sequence of messages and what is shown of it.
type ContextRecord struct {
	// Slot is the slot that has the context. Of a context that was set aside only its
	// ID counts.
	Slot models.ContextSlot
	// SetAsideAt is when a reset took it away from the slot; zero: the slot has it.
	SetAsideAt time.Time
	// NextSeq is the seq of the next message.
	NextSeq int64
	// SummarySeq is the summary that stands for the messages up to and including
	// CompactedThrough; zero: none.
	SummarySeq       int64
	CompactedThrough int64
	// MergedThrough is up to where the messages are those of the slot's parent, or were
	// merged into another slot; PrunedThrough what pruning has looked at.
	MergedThrough int64
	PrunedThrough int64
	// ModelAt is when a model was last called; zero: never.
	ModelAt time.Time
	// ShownFrom and ResultsFrom are those of [SessionContext].
	ShownFrom   int64
	ResultsFrom int64
	// Ref names the context in its store.
	Ref string
}

// MessageRecord is a message as it is stored. As JSON it is the message with all of its
// fields, what the API does not show too.
type MessageRecord struct {
	models.SessionMessage

	// Turn is the seq of the first message of its turn.
	Turn int64
	// Undone messages are in no context.
	Undone bool
	// Form is how contexts show the message; nil: as it is.
	Form *PrunedForm
}

// messageJSON is a MessageRecord as JSON.
type messageJSON struct {
	models.SessionMessage

	Reasoning     *string       `json:"reasoning,omitempty"`
	ContextTokens int           `json:"contextTokens,omitempty"`
	Observed      bool          `json:"observed,omitempty"`
	Quote         *models.Quote `json:"quote,omitempty"`
	SenderAltIDs  []string      `json:"senderAltIds,omitempty"`
	Turn          int64         `json:"turn"`
	Undone        bool          `json:"undone,omitempty"`
	Form          *formJSON     `json:"form,omitempty"`
}

type formJSON struct {
	Pruned  string `json:"pruned"`
	Content string `json:"content"`
}

// MarshalJSON implements [json.Marshaler]. Absent lists are empty ones: there is one
// spelling, whatever store a message comes from.
func (m *MessageRecord) MarshalJSON() ([]byte, error) {
	out := messageJSON{
		SessionMessage: m.SessionMessage, Reasoning: m.Reasoning, ContextTokens: m.ContextTokens, Observed: m.Observed, Quote: m.Quote,
		SenderAltIDs: m.SenderAltIDs, Turn: m.Turn, Undone: m.Undone,
	}
	if out.Images == nil {
		out.Images = []string{}
	}
	if out.ToolCalls == nil {
		out.ToolCalls = []models.ToolCall{}
	}
	if m.Form != nil {
		out.Form = &formJSON{m.Form.Pruned, m.Form.Content}
	}
	return encodeJSON(out)
}

// UnmarshalJSON implements [json.Unmarshaler]. Unknown fields are an error.
func (m *MessageRecord) UnmarshalJSON(data []byte) error {
	var in messageJSON
	if err := decodeJSON(data, &in); err != nil {
		return err
	}
	*m = MessageRecord{SessionMessage: in.SessionMessage, Turn: in.Turn, Undone: in.Undone}
	m.Reasoning, m.ContextTokens, m.Observed, m.Quote, m.SenderAltIDs = in.Reasoning, in.ContextTokens, in.Observed, in.Quote, in.SenderAltIDs
	if in.Form != nil {
		m.Form = &PrunedForm{Seq: m.Seq, Pruned: in.Form.Pruned, Content: in.Form.Content}
	}
	return nil
}

// encodeJSON is json.Marshal without escapes that only HTML needs.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func decodeJSON(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// LooseRow is a row as it is stored; stores of one schema understand each other.
type LooseRow struct {
	Table   string
	Columns []string
	// Values are nil, int64, string or []byte, one for each column.
	Values []any
}

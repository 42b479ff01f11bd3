package transfer

import (
	"encoding/json"
	"io"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Version is that of the JSONL format. A reader refuses a newer one.
const Version = 1

// Record is one line of JSONL: exactly one of its parts is set. The lines come in
// this order: header, session, then each slot followed by its messages, end.
type Record struct {
	Header  *Header             `json:"chatkeep,omitempty"`
	Session *Session            `json:"session,omitempty"`
	Slot    *models.ContextSlot `json:"slot,omitempty"`
	Message *Message            `json:"message,omitempty"`
	// End is the last line; a document without it was cut off.
	End *Counts `json:"end,omitempty"`
}

// Header is the first line.
type Header struct {
	Format  string `json:"format"` // "session"
	Version int    `json:"version"`
}

// headerFormat is the only one so far.
const headerFormat = "session"

// Session is a session with what the API does not show.
type Session struct {
	models.Session

	// LastUserAt is null if no person ever wrote.
	LastUserAt *time.Time `json:"lastUserAt"`
}

// Message is a message with what the API does not show.
type Message struct {
	models.SessionMessage

	Reasoning *string       `json:"reasoning,omitempty"`
	Observed  bool          `json:"observed,omitempty"`
	Quote     *models.Quote `json:"quote,omitempty"`
}

type jsonl struct{ lines *json.Encoder }

func newJSONL(w io.Writer) jsonl {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return jsonl{e}
}

func (j jsonl) session(s *models.Session, _ []*models.ContextSlot) error {
	if err := j.lines.Encode(Record{Header: &Header{Format: headerFormat, Version: Version}}); err != nil {
		return err
	}
	out := &Session{Session: *s}
	out.Messages = nil
	if !s.LastUserAt.IsZero() {
		at := s.LastUserAt.UTC()
		out.LastUserAt = &at
	}
	return j.lines.Encode(Record{Session: out})
}

func (j jsonl) slot(s *models.ContextSlot) error { return j.lines.Encode(Record{Slot: s}) }

func (j jsonl) message(m *models.SessionMessage) error {
	out := &Message{SessionMessage: *m, Reasoning: m.Reasoning, Observed: m.Observed, Quote: m.Quote}
	if out.Images == nil {
		out.Images = []string{} // one spelling, whatever store it comes from
	}
	if out.ToolCalls == nil {
		out.ToolCalls = []models.ToolCall{}
	}
	return j.lines.Encode(Record{Message: out})
}

func (j jsonl) end(n Counts) error { return j.lines.Encode(Record{End: &n}) }

package transfer

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Version is that of the JSONL format. A reader refuses a newer one.
const Version = 1

// Record is one line of JSONL: exactly one of its parts is set. The lines come in
// this order: header, session, variables by name, notes and plan files, then each slot
// followed by its messages, end.
type Record struct {
	Header   *Header              `json:"chatkeep,omitempty"`
	Session  *Session             `json:"session,omitempty"`
	Variable *Variable            `json:"variable,omitempty"`
	Note     *models.Note         `json:"note,omitempty"`
	File     *File                `json:"file,omitempty"`
	Slot     *Slot                `json:"slot,omitempty"`
	Message  *store.MessageRecord `json:"message,omitempty"`
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

// Session is a session with what the API does not show. Its counts tell what was there;
// a reader counts by itself.
type Session struct {
	models.Session

	// LastUserAt is null if no person ever wrote.
	LastUserAt *time.Time `json:"lastUserAt"`
}

// Variable is a variable with its value.
type Variable struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// File is a plan file with its text.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Slot is a slot with what a context shows of its messages; see [store.ContextRecord].
type Slot struct {
	models.ContextSlot

	NextSeq          int64 `json:"nextSeq"`
	SummarySeq       int64 `json:"summarySeq"`
	CompactedThrough int64 `json:"compactedThrough"`
	MergedThrough    int64 `json:"mergedThrough"`
	PrunedThrough    int64 `json:"prunedThrough"`
	// ModelAt is null if no model was called.
	ModelAt *time.Time `json:"modelAt"`
	// ShownFrom and ResultsFrom say where its context starts, if that is known.
	ShownFrom   int64 `json:"shownFrom,omitempty"`
	ResultsFrom int64 `json:"resultsFrom,omitempty"`
	// SetAsideAt is when a reset took the context from the slot.
	SetAsideAt *time.Time `json:"setAsideAt,omitempty"`
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func slotOf(c *store.ContextRecord) *Slot {
	return &Slot{
		ContextSlot: c.Slot, NextSeq: c.NextSeq, SummarySeq: c.SummarySeq, CompactedThrough: c.CompactedThrough,
		MergedThrough: c.MergedThrough, PrunedThrough: c.PrunedThrough, ModelAt: timeOrNil(c.ModelAt),
		ShownFrom: c.ShownFrom, ResultsFrom: c.ResultsFrom,
		SetAsideAt: timeOrNil(c.SetAsideAt),
	}
}

func (s *Slot) record() *store.ContextRecord {
	return &store.ContextRecord{
		Slot: s.ContextSlot, NextSeq: s.NextSeq, SummarySeq: s.SummarySeq, CompactedThrough: s.CompactedThrough,
		MergedThrough: s.MergedThrough, PrunedThrough: s.PrunedThrough, ModelAt: timeOrZero(s.ModelAt),
		ShownFrom: s.ShownFrom, ResultsFrom: s.ResultsFrom,
		SetAsideAt: timeOrZero(s.SetAsideAt),
	}
}

type jsonl struct{ lines *json.Encoder }

func newJSONL(w io.Writer) jsonl {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return jsonl{e}
}

func (j jsonl) session(r *store.SessionRecord) error {
	out := &Session{Session: r.Session, LastUserAt: timeOrNil(r.Session.LastUserAt)}
	out.Messages = nil
	lines := []Record{{Header: &Header{Format: headerFormat, Version: Version}}, {Session: out}}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		lines = append(lines, Record{Variable: &Variable{name, r.Variables[name]}})
	}
	for _, n := range r.Notes {
		lines = append(lines, Record{Note: n})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		lines = append(lines, Record{File: &File{name, r.Files[name]}})
	}
	for _, line := range lines {
		if err := j.lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (j jsonl) slot(c *store.ContextRecord) error { return j.lines.Encode(Record{Slot: slotOf(c)}) }

func (j jsonl) message(m *store.MessageRecord) error { return j.lines.Encode(Record{Message: m}) }

func (j jsonl) end(n Counts) error { return j.lines.Encode(Record{End: &n}) }

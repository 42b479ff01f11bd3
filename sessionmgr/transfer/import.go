package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// ErrDocument means that a document is not one that [Import] takes; the text names the
// line and says why. [store.ErrTooLarge] too means that the line is too long.
var ErrDocument = errors.New("transfer: not an exported session")

// Writer stores sessions; every store does.
type Writer interface {
	// ImportSession is that of [store.Transfers].
	ImportSession(ctx context.Context, key string) (store.SessionImport, error)
}

// Imported is what was stored of a document.
type Imported struct {
	Key string `json:"key"`
	Counts
}

// Import stores the session of a JSONL document: all of it or nothing. A session that
// exists is [store.ErrExists], a document with a fault [ErrDocument]. How many tokens a
// message has is counted anew if the document cannot be right about it.
func Import(ctx context.Context, w Writer, r io.Reader) (*Imported, error) {
	return (&importer{to: w, recount: true}).run(ctx, r, func(context.Context) error { return nil })
}

// run asks check just before the session becomes readable.
func (in *importer) run(ctx context.Context, r io.Reader, check func(ctx context.Context) error) (*Imported, error) {
	in.record, in.notes = &store.SessionRecord{Variables: map[string]json.RawMessage{}, Files: map[string]string{}}, map[string]bool{}
	err := in.read(ctx, newLines(r))
	if err == nil {
		err = check(ctx)
	}
	if err == nil { // what can still be wrong with the document is in the session's line
		err = at(sessionLine, in.session.Commit(ctx, in.record))
	}
	if err != nil {
		if in.session != nil {
			err = errors.Join(err, in.session.Discard(context.WithoutCancel(ctx)))
		}
		return nil, fmt.Errorf("import: %w", err)
	}
	return &Imported{in.record.Session.Key, in.counts}, nil
}

// faultError is a fault of a document.
type faultError struct {
	line  int // 0: not known yet
	text  string
	large bool
}

func (e *faultError) Error() string {
	return fmt.Sprintf("%s: line %d: %s", ErrDocument, e.line, e.text)
}

// Is implements the rule of [errors.Is].
func (e *faultError) Is(target error) bool {
	return target == ErrDocument || e.large && target == store.ErrTooLarge
}

func fault(format string, args ...any) error { return &faultError{text: fmt.Sprintf(format, args...)} }

// at names the line of a fault, which is also what a store can never take.
func at(line int, err error) error {
	var f *faultError
	switch {
	case errors.As(err, &f) && f.line == 0:
		return &faultError{line, f.text, f.large}
	case f == nil && (errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTooLarge)):
		return &faultError{line: line, text: err.Error()}
	}
	return err
}

// The first two lines.
const (
	headerLine  = 1
	sessionLine = 2
)

// importer reads a document.
type importer struct {
	to Writer
	// recount is set if the document may be wrong about tokens.
	recount bool
	session store.SessionImport
	record  *store.SessionRecord
	counts  Counts
	// notes are the ids and keys of notes.
	notes map[string]bool
	page  held
	// last is the seq of the last message in its slot, which began at slotLine.
	last     int64
	slotLine int
}

func (in *importer) read(ctx context.Context, lines *lines) error {
	for end := false; !end; {
		text, err := lines.next()
		if errors.Is(err, io.EOF) {
			return at(lines.n, fault("the document was cut off before its end"))
		}
		if err == nil {
			end, err = in.line(ctx, lines.n, text)
		}
		if err != nil {
			return at(lines.n, err)
		}
	}
	_, err := lines.next()
	if err == nil {
		err = fault("there is more after the end")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return at(lines.n, err)
}

// line takes one line and reports whether it is the last.
func (in *importer) line(ctx context.Context, n int, text []byte) (end bool, err error) {
	var r Record
	if err := decodeStrict(text, &r); err != nil {
		return false, fault("%s", err)
	}
	if parts := r.parts(); parts != 1 {
		return false, fault("it holds %d parts, not one", parts)
	}
	beside := len(in.record.Contexts) == 0 // what stands beside messages comes before them
	switch {
	case n == headerLine:
		return false, r.Header.check()
	case n == sessionLine:
		return false, in.begin(ctx, r.Session)
	case beside && r.Variable != nil:
		return false, in.variable(r.Variable)
	case beside && r.Note != nil:
		return false, in.note(r.Note)
	case beside && r.File != nil:
		return false, in.file(r.File)
	case r.Slot != nil:
		return false, in.slot(ctx, n, r.Slot)
	case !beside && r.Message != nil:
		return false, in.message(ctx, n, r.Message, len(text))
	case r.End != nil:
		return true, in.end(ctx, r.End)
	default:
		return false, fault("it is out of place")
	}
}

func (r *Record) parts() (n int) {
	for _, set := range []bool{
		r.Header != nil, r.Session != nil, r.Variable != nil, r.Note != nil, r.File != nil, r.Slot != nil, r.Message != nil, r.End != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

func (h *Header) check() error {
	switch {
	case h == nil || h.Format != headerFormat:
		return fault("it is not the first line of an export")
	case h.Version < 1 || h.Version > Version:
		return fault("the format has version %d, and this program reads up to %d", h.Version, Version)
	}
	return nil
}

// begin starts the import, once the key is known to be one.
func (in *importer) begin(ctx context.Context, s *Session) (err error) {
	if s == nil {
		return fault("the second line must hold the session")
	}
	k, err := key.Parse(s.Key)
	if err != nil {
		return fault("%s", err)
	}
	if k.AgentID != s.AgentID || k.Scope != s.Scope || k.ScopeID != s.ScopeID {
		return fault("agentId, scope and scopeId are not those of the key")
	}
	if !s.State.Valid() {
		return fault("state %q is none", s.State)
	}
	if err := checkNumbers("session", s.CompactionCount, s.MessageCount, s.TotalTokenCount); err != nil {
		return err
	}
	in.record.Session = s.Session
	in.record.Session.Messages, in.record.Session.LastUserAt = nil, timeOrZero(s.LastUserAt)
	in.session, err = in.to.ImportSession(ctx, s.Key)
	return err
}

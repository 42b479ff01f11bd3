package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// ErrNoSlot means that the session has no slot of that name.
var ErrNoSlot = errors.New("transfer: no such slot")

// pageSize is how many messages are held at once.
const pageSize = 200

// Reader reads sessions; every store does.
type Reader interface {
	// Session returns a session, or an error that wraps [store.ErrNotFound].
	Session(ctx context.Context, key string) (*models.Session, error)
	// SessionRecord and MessageRecords are those of [store.Transfers].
	SessionRecord(ctx context.Context, key string) (*store.SessionRecord, error)
	MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*store.MessageRecord, error)
}

// Options say what is exported, and how.
type Options struct {
	Format Format
	// Slot is the only slot to export; empty: all of them.
	Slot string
	// Whole adds messages that were undone, and what resets set aside, to JSONL.
	Whole bool
}

// Counts is how much a document holds.
type Counts struct {
	Slots    int `json:"slots"`
	Messages int `json:"messages"`
}

// Export writes a session to w, in small pieces. What is wrong with the request
// ([store.ErrNotFound], [ErrNoSlot], [ErrFormat]) is found before the first byte is
// written. What is appended meanwhile is left out.
func Export(ctx context.Context, r Reader, key string, o Options, w io.Writer) error {
	doc, err := newDocument(o.Format, w)
	if err != nil {
		return err
	}
	record, err := r.SessionRecord(ctx, key)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	o.Whole = o.Whole && o.Format == JSONL
	if err := o.choose(record); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return exportRecord(ctx, r, record, o, doc)
}

func exportRecord(ctx context.Context, r Reader, record *store.SessionRecord, o Options, doc document) error {
	if err := doc.session(record); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	n := Counts{Slots: len(record.Contexts)}
	for _, c := range record.Contexts {
		if err := doc.slot(c); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := forward(ctx, r, c, func(m *store.MessageRecord) error {
			if m.Undone && !o.Whole {
				return nil
			}
			n.Messages++
			return doc.message(m)
		}); err != nil {
			return fmt.Errorf("export slot %s: %w", c.Slot.ID, err)
		}
	}
	if err := doc.end(n); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// choose leaves what is to be exported in the record.
func (o *Options) choose(r *store.SessionRecord) error {
	var chosen []*store.ContextRecord
	for _, c := range r.Contexts {
		if aside := !c.SetAsideAt.IsZero(); (!aside || o.Whole) && (o.Slot == "" || o.Slot == c.Slot.ID) {
			chosen = append(chosen, c)
		}
	}
	if o.Slot != "" && len(chosen) == 0 {
		return fmt.Errorf("%w: %s", ErrNoSlot, o.Slot)
	}
	r.Contexts = chosen
	return nil
}

// forward visits the messages of a context that the record knows of, oldest first.
func forward(ctx context.Context, r Reader, c *store.ContextRecord, visit func(*store.MessageRecord) error) error {
	for after := int64(0); ; {
		messages, err := r.MessageRecords(ctx, c.Ref, after, pageSize)
		if err != nil || len(messages) == 0 {
			return err
		}
		for _, m := range messages {
			if m.Seq >= c.NextSeq {
				return nil
			}
			after = m.Seq
			m.Slot = c.Slot.ID
			if err := visit(m); err != nil {
				return err
			}
		}
	}
}

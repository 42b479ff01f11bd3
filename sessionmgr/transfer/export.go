package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// ErrNoSlot means that the session has no slot of that name.
var ErrNoSlot = errors.New("transfer: no such slot")

// pageSize is how many messages are held at once.
const pageSize = 200

// Reader reads a session. [From] makes one of a store.
type Reader interface {
	// Session returns the session without messages; an error wraps [store.ErrNotFound]
	// if there is none.
	Session(ctx context.Context, key string) (*models.Session, error)
	// Slots returns the session's slots, oldest first.
	Slots(ctx context.Context, key string) ([]*models.ContextSlot, error)
	// Messages returns the newest limit messages of a slot with a seq below before
	// (zero: no bound), oldest first.
	Messages(ctx context.Context, key, slot string, before int64, limit int) ([]*models.SessionMessage, error)
}

// Options say what is exported, and how.
type Options struct {
	Format Format
	// Slot is the only slot to export; empty: all of them.
	Slot string
}

// Counts is how much a document holds.
type Counts struct {
	Slots    int `json:"slots"`
	Messages int `json:"messages"`
}

// Export writes a session to w, in small pieces. What is wrong with the request
// ([store.ErrNotFound], [ErrNoSlot], [ErrFormat]) is found before the first byte is
// written. Messages that were undone or set aside by a reset are not part of it.
func Export(ctx context.Context, r Reader, key string, o Options, w io.Writer) error {
	doc, err := newDocument(o.Format, w)
	if err != nil {
		return err
	}
	session, err := r.Session(ctx, key)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	slots, err := chosen(ctx, r, key, o.Slot)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := doc.session(session, slots); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	n := Counts{Slots: len(slots)}
	for _, slot := range slots {
		if err := doc.slot(slot); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		err := forward(ctx, r, key, slot.ID, func(m *models.SessionMessage) error {
			n.Messages++
			return doc.message(m)
		})
		if err != nil {
			return fmt.Errorf("export slot %s: %w", slot.ID, err)
		}
	}
	if err := doc.end(n); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func chosen(ctx context.Context, r Reader, key, only string) ([]*models.ContextSlot, error) {
	slots, err := r.Slots(ctx, key)
	if err != nil || only == "" {
		return slots, err
	}
	for _, s := range slots {
		if s.ID == only {
			return []*models.ContextSlot{s}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoSlot, only)
}

// forward visits the messages of a slot, oldest first. Pages are read from the
// newest back, so a first pass notes where each page ends, and a second one reads
// them in order. What is appended meanwhile is left out.
func forward(ctx context.Context, r Reader, key, slot string, visit func(*models.SessionMessage) error) error {
	var ends []int64 // each page holds the messages below its end; the newest page first
	for before := int64(0); ; {
		messages, err := r.Messages(ctx, key, slot, before, pageSize)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			break
		}
		ends = append(ends, messages[len(messages)-1].Seq+1)
		if len(messages) < pageSize {
			break
		}
		before = messages[0].Seq
	}
	last := int64(0) // an undone message between two passes must not make a page reach back
	for _, end := range slices.Backward(ends) {
		messages, err := r.Messages(ctx, key, slot, end, pageSize)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Seq <= last {
				continue
			}
			last = m.Seq
			if err := visit(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Store is what [From] needs of a store.
type Store interface {
	Session(ctx context.Context, key string) (*models.Session, error)
	ChangeSession(ctx context.Context, key string, change func(tx store.SessionTx) error) error
	Messages(ctx context.Context, key, slot string, before int64, limit int) ([]*models.SessionMessage, error)
}

// From returns a reader of what is stored.
func From(s Store) Reader { return stored{s} }

type stored struct{ Store }

// Slots reads the slots under the session's lock, which is where they are readable.
func (s stored) Slots(ctx context.Context, key string) (slots []*models.ContextSlot, err error) {
	err = s.ChangeSession(ctx, key, func(tx store.SessionTx) error {
		if _, err := tx.Session(); err != nil {
			return err
		}
		slots, err = tx.Slots()
		return err
	})
	return slots, err
}

package gormstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// importLife is how long an import may stand still before it is given up.
const importLife = time.Hour

// maxNextSeq leaves room for more messages than there will be, in every driver's numbers.
const maxNextSeq = 1 << 53

// sessionImport holds messages until they are a few megabytes. A small session is then
// stored by one transaction. Of a larger one messages go ahead, to contexts that no slot
// has yet: these stand among the erasures until the session's own rows are written, so
// that nothing is left behind whatever happens.
type sessionImport struct {
	store    *Store
	key      string
	token    string
	contexts []*importedContext
	// messages and forms are rows to be stored, of size bytes.
	messages, forms [][]any
	size            int
}

// importedContext is a context with what its messages come to.
type importedContext struct {
	id     []byte
	record store.ContextRecord
	last   int64
	// shown are those that were not undone; hidden those of them that the context does
	// not show.
	shown, hidden sums
	// ahead is set once messages were stored, and the context among the erasures.
	ahead bool
}

// ImportSession begins to store a session.
func (s *Store) ImportSession(ctx context.Context, key string) (store.SessionImport, error) {
	var c checks
	c.key(key)
	if c.err != nil {
		return nil, wrap("import session", c.err)
	}
	err := s.read(ctx, "import session", func(t *tx) error {
		var one int
		n, err := t.find(&one, "SELECT 1 FROM sessions WHERE sid = ?", sidOf(key))
		if err == nil && n > 0 {
			err = store.ErrExists
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &sessionImport{store: s, key: key, token: models.NewID("imp")}, nil
}

// Context begins the next context.
func (m *sessionImport) Context(_ context.Context, c *store.ContextRecord) error {
	const op = "import context"
	if c.NextSeq < 1 || c.NextSeq > maxNextSeq || max(c.CompactedThrough, c.SummarySeq, c.MergedThrough, c.PrunedThrough, c.ShownFrom, c.ResultsFrom) >= c.NextSeq ||
		min(c.CompactedThrough, c.SummarySeq, c.MergedThrough, c.PrunedThrough, c.ShownFrom, c.ResultsFrom) < 0 {
		return fmt.Errorf("%s: seqs of slot %q are not below the next one, %d, or that is none: %w", op, c.Slot.ID, c.NextSeq, store.ErrInvalid)
	}
	if err := checkSlot(&c.Slot); err != nil {
		return wrap(op, err)
	}
	m.contexts = append(m.contexts, &importedContext{id: newContextID(), record: *c})
	return nil
}

// Messages holds a page, or stores what is held if that is much.
func (m *sessionImport) Messages(ctx context.Context, messages []*store.MessageRecord) error {
	const op = "import messages"
	if len(m.contexts) == 0 {
		return fmt.Errorf("%s: no context was begun: %w", op, store.ErrInvalid)
	}
	into := m.contexts[len(m.contexts)-1]
	rows, forms, err := into.rows(messages)
	if err != nil {
		return wrap(op, err)
	}
	m.messages, m.forms = append(m.messages, rows...), append(m.forms, forms...)
	for _, row := range slices.Concat(rows, forms) {
		m.size += rowBytes(row)
	}
	for _, r := range messages {
		into.count(r)
	}
	if m.size < maxBatchBytes && len(m.messages) < maxBatchRows {
		return nil
	}
	return m.goAhead(ctx)
}

// goAhead stores the messages that are held.
func (m *sessionImport) goAhead(ctx context.Context) error {
	err := m.store.write(ctx, "import messages", func(t *tx) error {
		for _, c := range m.contexts {
			if err := m.renew(t, c); err != nil {
				return err
			}
		}
		if t.again {
			last := m.messages[len(m.messages)-1]
			var one int
			if n, err := t.find(&one, "SELECT 1 FROM messages WHERE context_id = ? AND seq = ?", last[0], last[1]); err != nil || n > 0 {
				return err
			}
		}
		return m.insertMessages(t)
	})
	if err != nil {
		return err
	}
	for _, c := range m.contexts {
		c.ahead = true
	}
	m.messages, m.forms, m.size = nil, nil, 0
	return nil
}

func (m *sessionImport) insertMessages(t *tx) error {
	if err := insertRows(t, "INSERT INTO messages (context_id, seq, turn_seq, id, role, content, meta, tokens, compacted, undone, created_at) VALUES ", m.messages); err != nil {
		return err
	}
	return insertRows(t, "INSERT INTO pruned_forms (context_id, seq, pruned, content) VALUES ", m.forms)
}

// renew notes that the import goes on; [store.ErrConflict] if it was given up.
func (m *sessionImport) renew(t *tx, c *importedContext) error {
	now := micros(m.store.now())
	if !c.ahead {
		_, err := t.exec("INSERT INTO erasures (kind, ref, through) VALUES ('import', ?, ?) {upsert kind, ref} through = ?", c.id, now, now)
		return err
	}
	n, err := t.exec("UPDATE erasures SET through = ? WHERE kind = 'import' AND ref = ?", now, c.id)
	if err == nil && n == 0 {
		err = fmt.Errorf("the import stood still for too long: %w", store.ErrConflict)
	}
	return err
}

// Commit writes all rows but those of messages, and gives the contexts to them.
func (m *sessionImport) Commit(ctx context.Context, r *store.SessionRecord) error {
	const op = "commit import"
	if err := m.check(r); err != nil {
		return wrap(op, err)
	}
	err := m.store.write(ctx, op, func(t *tx) error {
		lane, exists, err := m.store.lockSession(t, m.key)
		switch {
		case err != nil:
			return err
		case t.again && exists && lane.ChangeToken.String == m.token:
			return nil
		case exists:
			return store.ErrExists
		}
		for _, c := range m.contexts {
			if !c.ahead {
				continue
			}
			if err := m.renew(t, c); err != nil {
				return err
			}
			if _, err := t.exec("DELETE FROM erasures WHERE kind = 'import' AND ref = ?", c.id); err != nil {
				return err
			}
		}
		if err := m.insertMessages(t); err != nil {
			return err
		}
		if err := m.insert(t, lane.Sid, r); err != nil {
			return err
		}
		_, err = t.exec("UPDATE lanes SET slot = ?, change_token = ? WHERE sid = ?", r.Session.CurrentSlot, m.token, lane.Sid)
		return err
	})
	if err == nil {
		m.contexts = nil
	}
	return err
}

// Discard leaves what went ahead to be erased.
func (m *sessionImport) Discard(ctx context.Context) error {
	var ids []any
	for _, c := range m.contexts {
		if c.ahead {
			ids = append(ids, c.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err := m.store.autocommit(ctx, "discard import", func(t *tx) error {
		_, err := t.exec("UPDATE erasures SET kind = 'context', through = 0 WHERE kind = 'import' AND ref IN "+values(1, len(ids)), ids...)
		return err
	})
	if err == nil {
		m.contexts = nil
	}
	return err
}

// giveUpImports leaves imports to be erased whose processes died.
func (s *Store) giveUpImports(ctx context.Context, now time.Time) error {
	return s.autocommit(ctx, "give up imports", func(t *tx) error {
		_, err := t.exec("UPDATE erasures SET kind = 'context', through = 0 WHERE kind = 'import' AND through < ?", micros(now.Add(-importLife)))
		return err
	})
}

package gormstore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// rows checks messages and returns what is stored of them.
func (i *importedContext) rows(messages []*store.MessageRecord) (rows, forms [][]any, err error) {
	var c checks
	last := i.last
	for _, m := range messages {
		c.messages([]*models.SessionMessage{&m.SessionMessage})
		if m.Form != nil {
			c.forms([]store.PrunedForm{{Seq: m.Seq, Pruned: m.Form.Pruned, Content: m.Form.Content}})
		}
		switch {
		case c.err != nil:
			return nil, nil, c.err
		case m.Seq <= last || m.Seq >= i.record.NextSeq:
			return nil, nil, fmt.Errorf("message %d of slot %q is not between %d and %d: %w", m.Seq, i.record.Slot.ID, last, i.record.NextSeq, store.ErrInvalid)
		case m.Turn < 1 || m.Turn > m.Seq:
			return nil, nil, fmt.Errorf("message %d of slot %q is of turn %d: %w", m.Seq, i.record.Slot.ID, m.Turn, store.ErrInvalid)
		}
		last = m.Seq
		meta, err := metaOf(&m.SessionMessage)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, []any{i.id, m.Seq, m.Turn, m.ID, string(m.Role), m.Content, meta, m.TokenCount, bit(m.IsCompacted), bit(m.Undone), micros(m.CreatedAt)})
		if m.Form != nil {
			forms = append(forms, []any{i.id, m.Seq, m.Form.Pruned, m.Form.Content})
		}
	}
	return rows, forms, nil
}

func (i *importedContext) count(m *store.MessageRecord) {
	i.last = m.Seq
	if m.Undone {
		return
	}
	i.shown = i.shown.plus(m)
	if m.Seq != i.record.SummarySeq && (m.IsCompacted || m.Seq <= i.record.CompactedThrough) {
		i.hidden = i.hidden.plus(m)
	}
}

func (s sums) plus(m *store.MessageRecord) sums {
	return sums{s.Messages + 1, s.Tokens + int64(m.TokenCount)}
}

func (m *sessionImport) check(r *store.SessionRecord) error {
	var c checks
	c.session(&r.Session)
	c.notebook(r)
	slots := map[string]bool{}
	for _, i := range m.contexts {
		if !i.record.SetAsideAt.IsZero() {
			continue
		}
		if slots[i.record.Slot.ID] && c.err == nil {
			c.err = fmt.Errorf("slot %q is there twice: %w", i.record.Slot.ID, store.ErrInvalid)
		}
		slots[i.record.Slot.ID] = true
	}
	switch {
	case c.err != nil:
	case r.Session.Key != m.key:
		c.err = fmt.Errorf("the session has another key: %w", store.ErrInvalid)
	case !r.Session.State.Valid():
		c.err = fmt.Errorf("session state %q: %w", r.Session.State, store.ErrInvalid)
	case !slots[models.DefaultSlot] || !slots[r.Session.CurrentSlot]:
		c.err = fmt.Errorf("the session lacks slot %q or %q: %w", models.DefaultSlot, r.Session.CurrentSlot, store.ErrInvalid)
	}
	return c.err
}

// notebook checks what a session keeps beside its messages.
func (c *checks) notebook(r *store.SessionRecord) {
	names := map[string]bool{}
	once := func(name string) {
		if names[name] && c.err == nil {
			c.err = fmt.Errorf("%s is there twice: %w", name, store.ErrInvalid)
		}
		names[name] = true
	}
	for _, n := range r.Notes {
		c.note(n)
		once("note " + n.ID)
		if n.Key != "" {
			once("note of key " + n.Key)
		}
	}
	for name, value := range r.Variables {
		c.variable(name, value)
	}
	for name, text := range r.Files {
		if err := checkPlanFile(name, text); err != nil && c.err == nil {
			c.err = err
		}
	}
	if c.err == nil && (len(r.Notes) > models.MaxNotes || len(r.Variables) > models.MaxVariables) {
		c.err = fmt.Errorf("%d notes and %d variables: %w", len(r.Notes), len(r.Variables), store.ErrTooLarge)
	}
}

func (m *sessionImport) insert(t *tx, sid []byte, r *store.SessionRecord) error {
	// What was observed is not carried along: it has no place in this lane.
	if err := insertSessionRow(t, sid, &r.Session, 0); err != nil {
		return err
	}
	for i, c := range m.contexts {
		place := int64(i + 1)
		var err error
		if c.record.SetAsideAt.IsZero() {
			err = c.insertSlot(t, sid, place)
		} else { // before whatever will be set aside from now on
			err = c.insertReset(t, sid, place-int64(len(m.contexts))-1)
		}
		if err != nil {
			return err
		}
	}
	return insertNotebook(t, sid, r)
}

func (i *importedContext) insertSlot(t *tx, sid []byte, place int64) error {
	slot := i.record.Slot
	g := growth{messages: i.shown.Messages, tokens: i.shown.Tokens, modelAt: i.record.ModelAt, shownFrom: i.record.ShownFrom, resultsFrom: i.record.ResultsFrom}
	if err := insertSlotRow(t, sid, &slot, i.id, place, i.record.NextSeq, g); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE slots SET compacted_through = ?, compacted_messages = ?, compacted_tokens = ?, summary_seq = ?, merged_through = ?, pruned_through = ?
		WHERE sid = ? AND name = ?`, i.record.CompactedThrough, i.hidden.Messages, i.hidden.Tokens, i.record.SummarySeq, i.record.MergedThrough, i.record.PrunedThrough, sid, slot.ID)
	return err
}

func (i *importedContext) insertReset(t *tx, sid []byte, place int64) error {
	_, err := t.exec("INSERT INTO resets ("+resetColumns+", sid, slot, reset_at, place, compacted_summary) VALUES "+values(1, 15),
		i.id, i.record.NextSeq, i.shown.Messages, i.shown.Tokens,
		i.record.CompactedThrough, i.hidden.Messages, i.hidden.Tokens, i.record.SummarySeq, i.record.MergedThrough, i.record.PrunedThrough,
		sid, i.record.Slot.ID, micros(i.record.SetAsideAt), place, leftSummary)
	return err
}

func insertNotebook(t *tx, sid []byte, r *store.SessionRecord) error {
	var notes, variables, files [][]any
	for i, n := range r.Notes {
		var key any
		if n.Key != "" {
			key = n.Key
		}
		notes = append(notes, []any{sid, i + 1, n.ID, key, n.Value, micros(n.CreatedAt)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		variables = append(variables, []any{sid, name, string(r.Variables[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		files = append(files, []any{sid, name, r.Files[name]})
	}
	if err := insertRows(t, "INSERT INTO notes (sid, place, id, note_key, value, created_at) VALUES ", notes); err != nil {
		return err
	}
	if err := insertRows(t, "INSERT INTO variables (sid, name, value) VALUES ", variables); err != nil {
		return err
	}
	return insertRows(t, "INSERT INTO plan_files (sid, name, content) VALUES ", files)
}

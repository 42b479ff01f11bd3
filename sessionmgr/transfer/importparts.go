package transfer

import (
	"context"
	"errors"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// maxHeld is how much of a page is held, in bytes.
	maxHeld = 4 << 20
	// maxSlots bounds the slots of a document, and contexts that were set aside.
	maxSlots = 10_000
)

func (in *importer) variable(v *Variable) error {
	_, twice := in.record.Variables[v.Name]
	switch {
	case twice:
		return fault("variable %q is there twice", v.Name)
	case v.Name == "" || len(v.Name) > models.MaxForeignID || len(v.Value) == 0 || len(v.Value) > models.MaxVariable:
		return fault("variable %q has no name or value, or one that is too long", v.Name)
	case len(in.record.Variables) == models.MaxVariables:
		return fault("there are more than %d variables", models.MaxVariables)
	}
	in.record.Variables[v.Name] = v.Value
	return nil
}

func (in *importer) note(n *models.Note) error {
	switch {
	case in.notes["id "+n.ID] || n.Key != "" && in.notes["key "+n.Key]:
		return fault("note %q is there twice", n.ID)
	case n.ID == "" || len(n.ID) > models.MaxName || len(n.Key) > models.MaxForeignID || n.Value == "" || len(n.Value) > models.MaxNote:
		return fault("note %q has no id or value, or something is too long", n.ID)
	case len(in.record.Notes) == models.MaxNotes:
		return fault("there are more than %d notes", models.MaxNotes)
	}
	in.notes["id "+n.ID], in.notes["key "+n.Key] = true, true
	in.record.Notes = append(in.record.Notes, n)
	return nil
}

func (in *importer) file(f *File) error {
	_, twice := in.record.Files[f.Name]
	switch {
	case twice:
		return fault("file %q is there twice", f.Name)
	case !slices.Contains(models.PlanFiles(), f.Name):
		return fault("file %q is none that a session has", f.Name)
	case len(f.Content) > models.MaxPlanFile:
		return fault("file %q is too long", f.Name)
	}
	in.record.Files[f.Name] = f.Content
	return nil
}

func (in *importer) slot(ctx context.Context, line int, s *Slot) error {
	if err := in.endSlot(ctx); err != nil {
		return err
	}
	if err := checkSlotNumbers(s); err != nil {
		return err
	}
	aside := s.SetAsideAt != nil
	switch {
	case !models.ValidName(s.ID):
		return fault("slot %q has no valid name", s.ID)
	case s.SessionKey != in.record.Session.Key:
		return fault("slot %q is of another session", s.ID)
	case !aside && s.Mode != models.SlotFull && s.Mode != models.SlotFocused && s.Mode != models.SlotReadonly:
		return fault("slot %q has mode %q, which is none", s.ID, s.Mode)
	case !aside && slices.ContainsFunc(in.record.Contexts, func(c *store.ContextRecord) bool { return c.SetAsideAt.IsZero() && c.Slot.ID == s.ID }):
		return fault("slot %q is there twice", s.ID)
	case len(in.record.Contexts) == maxSlots:
		return fault("there are more than %d slots", maxSlots)
	}
	c := s.record()
	in.record.Contexts, in.last = append(in.record.Contexts, c), 0
	in.slotLine = line
	in.counts.Slots++
	return in.session.Context(ctx, c)
}

// held are messages that are not stored yet, with their lines.
type held struct {
	messages []*store.MessageRecord
	lines    []int
	size     int
}

func (in *importer) message(ctx context.Context, line int, m *store.MessageRecord, size int) error {
	c := in.record.Contexts[len(in.record.Contexts)-1]
	switch {
	case m.Slot != c.Slot.ID:
		return fault("message %q is of slot %q, but stands in slot %q", m.ID, m.Slot, c.Slot.ID)
	case !m.Role.Valid():
		return fault("message %q has role %q, which is none", m.ID, m.Role)
	case m.Seq < 1 || m.Seq <= in.last || m.Seq >= c.NextSeq:
		return fault("message %q has seq %d, which is not between %d and %d", m.ID, m.Seq, in.last, c.NextSeq)
	}
	if err := checkNumbers("message", m.ContextTokens); err != nil {
		return err
	}
	if in.recount {
		m.TokenCount = believable(&m.SessionMessage)
	}
	in.last = m.Seq
	in.counts.Messages++
	in.page.messages, in.page.lines, in.page.size = append(in.page.messages, m), append(in.page.lines, line), in.page.size+size
	if len(in.page.messages) < pageSize && in.page.size < maxHeld {
		return nil
	}
	return in.flush(ctx)
}

// flush stores the page. If the store refuses it, they are tried one by one, so that
// the right line is named.
func (in *importer) flush(ctx context.Context) error {
	page := in.page
	in.page = held{}
	if len(page.messages) == 0 {
		return nil
	}
	err := in.session.Messages(ctx, page.messages)
	if !errors.Is(at(0, err), ErrDocument) {
		return err
	}
	for i := range page.messages {
		if err := in.session.Messages(ctx, page.messages[i:i+1]); err != nil {
			return at(page.lines[i], err)
		}
	}
	return err
}

// end makes sure that nothing is missing. A document of one slot gets the default slot
// that every session has.
func (in *importer) end(ctx context.Context, said *Counts) error {
	if err := in.endSlot(ctx); err != nil {
		return err
	}
	if *said != in.counts {
		return fault("it counts %d slots and %d messages, but %d and %d were there", said.Slots, said.Messages, in.counts.Slots, in.counts.Messages)
	}
	slots := map[string]bool{}
	for _, c := range in.record.Contexts {
		slots[c.Slot.ID] = slots[c.Slot.ID] || c.SetAsideAt.IsZero()
	}
	session := &in.record.Session
	if !slots[session.CurrentSlot] {
		session.CurrentSlot = models.DefaultSlot
	}
	if slots[models.DefaultSlot] {
		return nil
	}
	c := &store.ContextRecord{NextSeq: 1, Slot: models.ContextSlot{
		ID: models.DefaultSlot, SessionKey: session.Key, Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: true, CreatedAt: session.CreatedAt,
	}}
	in.record.Contexts = append(in.record.Contexts, c)
	return in.session.Context(ctx, c)
}

package slot

import (
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// Sentinels, beside those of package store: [store.ErrNotFound] is a session that
// is not there, [store.ErrInvalid] a slot that can never be, [store.ErrConflict]
// the default slot where it may not be touched.
var (
	ErrNotFound = errors.New("slot: not found")
	ErrExists   = errors.New("slot: already exists")
	ErrReadonly = errors.New("slot: read-only")
)

// Slots are the slots of a session that is locked.
type Slots struct {
	Tx store.SessionTx
	// Static are those of the session's agent. A stored slot hides a static one of
	// the same name.
	Static []Static
	Now    time.Time
}

// New describes a slot to be made. Nil and empty mean the default.
type New struct {
	ID string
	// Mode is full, or focused if Focused is set.
	Mode    models.SlotMode
	Focused *models.Focus
	Budget  *models.Budget
	// Compact is true by default.
	Compact *bool
}

// Derive describes a slot to be made of another one.
type Derive struct {
	ID string
	// Title is what people call it; empty: its id.
	Title string
	// Strategy is full by default.
	Strategy models.DeriveStrategy
	// Focused says what a focused derive copies; nil: the focus of the parent.
	Focused *models.Focus
}

// All returns the slots, oldest first, static ones last.
func (s Slots) All() ([]*models.ContextSlot, error) {
	session, err := s.Tx.Session()
	if err != nil {
		return nil, err
	}
	all, err := s.Tx.Slots()
	if err != nil {
		return nil, err
	}
	stored := make(map[string]bool, len(all))
	for _, one := range all {
		stored[one.ID] = true
	}
	for _, static := range s.Static {
		if !stored[static.ID] {
			all = append(all, static.Of(session))
		}
	}
	return all, nil
}

// Get returns one slot, or an [ErrNotFound].
func (s Slots) Get(id string) (*models.ContextSlot, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
}

// Create adds an empty slot.
func (s Slots) Create(n New) (*models.ContextSlot, error) {
	made := &models.ContextSlot{
		ID: n.ID, Mode: n.Mode, Focused: n.Focused, Source: models.SlotSource{Kind: models.SlotNew},
		Budget: n.Budget, Compact: n.Compact == nil || *n.Compact, CreatedAt: s.Now,
	}
	if made.Mode == "" {
		made.Mode = models.SlotFull
		if made.Focused != nil {
			made.Mode = models.SlotFocused
		}
	}
	if err := s.mayAdd(made); err != nil {
		return nil, err
	}
	if err := s.Tx.CreateSlot(made); err != nil {
		return nil, existing(err, n.ID)
	}
	return s.Get(n.ID)
}

// Update applies a change to a slot's mode, focus, budget or compact.
func (s Slots) Update(id string, change func(*models.ContextSlot)) (*models.ContextSlot, error) {
	changed, err := s.stored(id)
	if err != nil {
		return nil, err
	}
	change(changed)
	if err := Check(changed); err != nil {
		return nil, err
	}
	if err := s.Tx.UpdateSlot(changed); err != nil {
		return nil, err
	}
	return s.Get(id)
}

// Derive adds a slot with a copy of the parent's messages: all of them, or those
// that a focus shows. Afterwards the two are independent.
func (s Slots) Derive(parent string, d Derive) (*models.ContextSlot, error) {
	from, err := s.Get(parent)
	if err != nil {
		return nil, err
	}
	made := &models.ContextSlot{
		ID: d.ID, Title: d.Title, Mode: models.SlotFull, Budget: from.Budget, Compact: from.Compact, CreatedAt: s.Now,
		Source: models.SlotSource{Kind: models.SlotDerived, ParentID: parent, Strategy: d.Strategy},
	}
	static := from.Source.Kind == models.SlotStatic
	made.Compact = made.Compact || static
	switch d.Strategy {
	case "", models.DeriveFull:
		made.Source.Strategy = models.DeriveFull
		if d.Focused != nil {
			return nil, fmt.Errorf("%w: a full derive has no focus", store.ErrInvalid)
		}
	case models.DeriveFocused:
		made.Mode, made.Focused = models.SlotFocused, d.Focused
		if made.Focused == nil && from.Mode == models.SlotFocused {
			made.Focused = from.Focused
		}
	default:
		return nil, fmt.Errorf("%w: strategy must be full or focused", store.ErrInvalid)
	}
	if err := s.mayAdd(made); err != nil {
		return nil, err
	}
	if static {
		err = s.copyStatic(made, parent)
	} else {
		err = s.Tx.DeriveSlot(made, parent)
	}
	if err != nil {
		return nil, existing(err, d.ID)
	}
	return s.Get(d.ID)
}

func (s Slots) copyStatic(made *models.ContextSlot, parent string) error {
	if err := s.Tx.CreateSlot(made); err != nil {
		return err
	}
	shown := FindStatic(s.Static, parent).Messages
	if made.Mode == models.SlotFocused {
		focus := *made.Focused
		focus.SummaryOverride = "" // it is part of the slot, not of its messages
		shown = window.Focus(shown, focus)
	}
	copies := models.CloneMessages(shown)
	for _, m := range copies {
		m.ID, m.Seq, m.CreatedAt = models.NewMessageID(s.Now), 0, s.Now
	}
	return s.Tx.Append(made.ID, copies, s.Now)
}

// Switch makes a slot current. A static slot cannot be: nothing could be said in it.
func (s Slots) Switch(id string) (*models.ContextSlot, error) {
	if _, err := s.stored(id); err != nil {
		return nil, err
	}
	if err := s.Tx.SwitchSlot(id); err != nil {
		return nil, err
	}
	return s.Get(id)
}

// Delete removes a slot and returns it; if it was current, the default slot is then.
func (s Slots) Delete(id string) (*models.ContextSlot, error) {
	deleted, err := s.stored(id)
	if err != nil {
		return nil, err
	}
	if id == models.DefaultSlot {
		return nil, fmt.Errorf("%w: the default slot stays", store.ErrConflict)
	}
	return deleted, s.Tx.DeleteSlot(id, s.Now)
}

// stored returns a slot that is not static.
func (s Slots) stored(id string) (*models.ContextSlot, error) {
	found, err := s.Get(id)
	if err == nil && found.Source.Kind == models.SlotStatic {
		err = fmt.Errorf("%w: %q comes from the configuration", ErrReadonly, id)
	}
	return found, err
}

// mayAdd checks a slot before it is added.
func (s Slots) mayAdd(made *models.ContextSlot) error {
	if err := Check(made); err != nil {
		return err
	}
	if FindStatic(s.Static, made.ID) != nil {
		return existing(store.ErrExists, made.ID)
	}
	_, err := s.Tx.Session()
	return err
}

func existing(err error, id string) error {
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%w: %q", ErrExists, id)
	}
	return err
}

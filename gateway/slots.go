package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// slots are the slots of a locked session.
func (g *Gateway) slots(tx store.SessionTx, agentID string) slot.Slots {
	return slot.Slots{Tx: tx, Static: g.settings.Load().StaticSlots[agentID], Now: g.now()}
}

// inSlots works on a session's slots under its lock. A session that is not there
// is a [store.ErrNotFound].
func (g *Gateway) inSlots(ctx context.Context, k string, work func(slot.Slots) error) error {
	if _, err := g.store.Session(ctx, k); err != nil {
		return err // not even a lane is made for it
	}
	return g.store.ChangeSession(ctx, k, func(tx store.SessionTx) error { return work(g.slots(tx, agentOf(k))) })
}

// agentOf is the agent that a canonical session key names.
func agentOf(k string) string {
	parsed, err := key.Parse(k)
	if err != nil {
		return ""
	}
	return parsed.AgentID
}

// oneSlot is inSlots for what comes to a slot.
func (g *Gateway) oneSlot(ctx context.Context, k string, work func(slot.Slots) (*models.ContextSlot, error)) (*models.ContextSlot, error) {
	var one *models.ContextSlot
	err := g.inSlots(ctx, k, func(s slot.Slots) (err error) {
		one, err = work(s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return g.shown(k, one), nil
}

// shown puts numbers to an automatic budget.
func (g *Gateway) shown(k string, s *models.ContextSlot) *models.ContextSlot {
	if s.Budget != nil {
		budget := window.ResolveBudget(*s.Budget, g.settings.Load().Agents[agentOf(k)].ContextWindow)
		s.Budget = &budget
	}
	return s
}

// Slots returns a session's slots, oldest first, those of the configuration last.
func (g *Gateway) Slots(ctx context.Context, key string) ([]*models.ContextSlot, error) {
	var all []*models.ContextSlot
	err := g.inSlots(ctx, key, func(s slot.Slots) (err error) {
		all, err = s.All()
		return err
	})
	for _, one := range all {
		g.shown(key, one)
	}
	return all, err
}

// CreateSlot adds an empty slot; [slot.ErrExists] if it is there.
func (g *Gateway) CreateSlot(ctx context.Context, key string, n slot.New) (*models.ContextSlot, error) {
	return g.oneSlot(ctx, key, func(s slot.Slots) (*models.ContextSlot, error) { return s.Create(n) })
}

// PatchSlot changes a slot's mode, focus, budget or compact.
func (g *Gateway) PatchSlot(ctx context.Context, key, id string, change func(*models.ContextSlot)) (*models.ContextSlot, error) {
	return g.oneSlot(ctx, key, func(s slot.Slots) (*models.ContextSlot, error) { return s.Update(id, change) })
}

// DeriveSlot adds a slot with a copy of the parent's messages.
func (g *Gateway) DeriveSlot(ctx context.Context, key, parent string, d slot.Derive) (*models.ContextSlot, error) {
	made, err := g.oneSlot(ctx, key, func(s slot.Slots) (*models.ContextSlot, error) {
		made, err := s.Derive(parent, d)
		if err == nil {
			g.crash(CrashBeforeDerive)
		}
		return made, err
	})
	if err == nil {
		g.crash(CrashAfterDerive)
	}
	return made, err
}

// SwitchSlot makes a slot current: what is accepted from now on goes there.
func (g *Gateway) SwitchSlot(ctx context.Context, key, id string) (*models.ContextSlot, error) {
	return g.oneSlot(ctx, key, func(s slot.Slots) (*models.ContextSlot, error) { return s.Switch(id) })
}

// DeleteSlot removes a slot; Changed counts its messages and itself.
func (g *Gateway) DeleteSlot(ctx context.Context, key, id string, dryRun bool) (Change, error) {
	c := Change{DryRun: dryRun}
	err := g.inSlots(ctx, key, func(s slot.Slots) error {
		deleted, err := s.Delete(id)
		if err != nil {
			return err
		}
		c.Changed = deleted.MessageCount + 1
		if dryRun {
			return errDryRun
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return Change{}, err
	}
	return c, nil
}

// Messages returns the newest limit messages of a slot, a static one too, with a
// seq below before (zero: no bound), oldest first.
func (g *Gateway) Messages(ctx context.Context, key, slotID string, before int64, limit int) ([]*models.SessionMessage, error) {
	messages, err := g.store.Messages(ctx, key, slotID, before, limit)
	if errors.Is(err, store.ErrNotFound) {
		if static := g.staticSlot(key, slotID); static != nil {
			return static.Page(before, limit), nil
		}
	}
	return messages, err
}

// staticSlot returns the static slot of that name that the session has, or nil.
func (g *Gateway) staticSlot(k, id string) *slot.Static {
	return slot.FindStatic(g.settings.Load().StaticSlots[agentOf(k)], id)
}

// withStatic gives a context whose slot is not stored the static slot of its name.
func (g *Gateway) withStatic(stored *store.SessionContext, k, id string, limit int) *store.SessionContext {
	if stored.Slot != nil || stored.Session == nil {
		return stored
	}
	static := g.staticSlot(k, id)
	if static == nil {
		return stored
	}
	full := *stored
	full.Slot, full.Messages = static.Of(stored.Session), static.Page(0, limit)
	return &full
}

// withRules adds to the messages of a summarised slot the system messages that it
// begins with: no summary stands for them. A focused slot shows what it is told to.
func (g *Gateway) withRules(ctx context.Context, stored *store.SessionContext) error {
	if stored.Summary == nil || stored.Slot.Mode == models.SlotFocused {
		return nil
	}
	oldest, err := g.store.Messages(ctx, stored.Session.Key, stored.Slot.ID, compact.MaxRules+1, compact.MaxRules)
	if err != nil {
		return fmt.Errorf("rules of a slot: %w", err)
	}
	n := 0
	for n < len(oldest) && oldest[n].Role == models.RoleSystem && !oldest[n].IsCompacted {
		n++
	}
	if n > 0 && (len(stored.Messages) == 0 || oldest[n-1].Seq < stored.Messages[0].Seq) {
		stored.Messages = append(oldest[:n:n], stored.Messages...)
	}
	return nil
}

// loadContext reads what a turn in a slot starts from.
func (g *Gateway) loadContext(ctx context.Context, s *Settings, k, slotID string) (*store.SessionContext, error) {
	limit := historyLimit(s)
	stored, err := g.store.LoadContext(ctx, k, slotID, limit)
	if err != nil {
		return nil, err
	}
	g.begin(s, stored, limit)
	for _, m := range stored.Messages {
		nameOmitted(m)
	}
	if stored.FirstSystem != nil {
		stored.Messages = append([]*models.SessionMessage{stored.FirstSystem}, stored.Messages...)
	}
	if stored.Messages, err = g.withhold(ctx, s, k, stored.Messages); err != nil {
		return nil, err
	}
	if err := g.withRules(ctx, stored); err != nil {
		return nil, err
	}
	return g.withStatic(stored, k, slotID, limit), nil
}

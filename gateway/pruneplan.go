package gateway

import (
	"cmp"
	"context"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// slotPruning is what is to be done to a slot, and what was.
type slotPruning struct {
	key     string
	read    *store.SessionContext // no more of it than tells whether the slot is still the same
	tools   int                   // results of tools that were looked at
	not     string                // why nothing is to be done; empty: something may be
	decided []prune.Decision
	// seen is the newest message that needs no other look; zero: there is none.
	seen int64
	// dropThrough is the last message to be deleted, of about as many as drop; zero: none is.
	// Of those, left are for steps to come.
	dropThrough int64
	drop, left  int

	deleted int
	inUse   bool // meanwhile: the rest stays as it is
}

// planPruning works out what is to be done, as a turn would that starts now.
func (g *Gateway) planPruning(ctx context.Context, key, slot string) (*slotPruning, error) {
	s := g.settings.Load()
	stored, err := g.loadContext(ctx, s, key, slot)
	if err != nil {
		return nil, err
	}
	if stored.Session == nil || stored.Slot == nil {
		return nil, store.ErrNotFound
	}
	p := &slotPruning{
		key: key, read: &store.SessionContext{Slot: stored.Slot, Generation: stored.Generation, NextSeq: stored.NextSeq},
	}
	for _, m := range stored.Messages {
		if m.Role == models.RoleTool {
			p.tools++
		}
	}
	if s.Pruning.Mode == prune.ModeCacheTTL && !s.Pruning.Cold(stored.ModelAt, g.now()) {
		p.not = notPrunedWarm
		return p, nil
	}
	if stored.Slot.Source.Kind == models.SlotStatic { // not stored
		p.not = notPrunedFixed
		return p, nil
	}
	p.seen = stored.NextSeq - 1 // also of what a context does not show
	if stored.Slot.Mode == models.SlotReadonly {
		p.not = notPrunedFixed
		return p, nil
	}
	in, err := g.pruningInput(ctx, s, stored)
	if err != nil {
		return nil, err
	}
	p.decided = window.Decide(in)
	if s.Pruning.Mode == prune.ModeHard {
		err = g.planDeletion(ctx, s.MaxMessages, stored.Summary, p)
	}
	return p, err
}

// pruningInput is the context that decisions follow from. Only where they depend on what
// the window holds besides the history does it need to know whose turn is next.
func (g *Gateway) pruningInput(ctx context.Context, s *Settings, stored *store.SessionContext) (window.Input, error) {
	next := &turn{}
	if s.Pruning.Mode == prune.ModeCacheTTL {
		var err error
		if next, err = g.nextTurn(ctx, s, stored.Session, stored.Slot.ID); err != nil {
			return window.Input{}, err
		}
	}
	in := g.windowInput(s, &next.agent, next.chat, stored, next.env)
	in.Ahead = true
	return in, nil
}

// planDeletion finds the messages beyond the newest.
func (g *Gateway) planDeletion(ctx context.Context, most int, summary *models.SessionMessage, p *slotPruning) error {
	slot := p.read.Slot
	if most <= 0 || slot.MessageCount <= most {
		return nil
	}
	var newest []*models.SessionMessage // no more of each than is needed
	if err := g.newestFirst(ctx, p.key, slot.ID, func(m *models.SessionMessage) bool {
		newest = append(newest, &models.SessionMessage{Seq: m.Seq, Role: m.Role})
		return len(newest) < most+prune.LargestGroup
	}); err != nil {
		return err
	}
	slices.Reverse(newest)
	if p.dropThrough = prune.Beyond(newest, most); p.dropThrough == 0 {
		return nil
	}
	p.drop = slot.MessageCount
	for _, m := range newest {
		if m.Seq > p.dropThrough {
			p.drop--
		}
	}
	if summary != nil && summary.Seq <= p.dropThrough {
		p.drop-- // it stays
	}
	p.left = p.drop
	return nil
}

// result is what became of it, or would.
func (p *slotPruning) result(dryRun bool) Pruning {
	out := Pruning{Change: Change{DryRun: dryRun, Skipped: p.tools, Reason: p.reason()}, Slot: p.read.Slot.ID, Items: []PrunedItem{}}
	if out.Reason != "" {
		return out
	}
	out.Deleted, out.Changed = p.deleted, len(p.decided)+p.deleted
	for _, d := range p.decided {
		out.Items = append(out.Items, PrunedItem{d.Seq, d.Role, d.Form.Pruned, d.Why, d.Size, d.Now})
		if d.Role == models.RoleTool {
			out.Skipped--
		}
	}
	return out
}

// reason says why a slot was left as it is; empty: it was changed.
func (p *slotPruning) reason() string {
	switch {
	case p.inUse && p.deleted == 0:
		return notPrunedInUse
	case len(p.decided) == 0 && p.deleted == 0:
		return cmp.Or(p.not, notPruned)
	}
	return ""
}

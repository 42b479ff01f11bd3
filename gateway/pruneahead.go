package gateway

import (
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// dropBatch bounds the messages that one transaction deletes.
const dropBatch = 5000

// pruneSlots works out what is to be done to some slots from what is stored, without a
// lock, and then does it to those that are still the same: all in one transaction, unless
// there is very much to delete.
func (g *Gateway) pruneSlots(ctx context.Context, slots []store.SlotSize, dryRun bool) ([]*slotPruning, error) {
	all := make([]*slotPruning, len(slots))
	var planned []*slotPruning
	for i, slot := range slots {
		p, err := g.planPruning(ctx, slot.SessionKey, slot.Slot)
		if errors.Is(err, store.ErrNotFound) {
			p, err = &slotPruning{key: slot.SessionKey, not: slotGone}, nil
		}
		if err != nil {
			return nil, err
		}
		if all[i] = p; p.seen > 0 {
			planned = append(planned, p)
		}
	}
	if dryRun {
		return all, g.previewPruning(ctx, planned)
	}
	for len(planned) > 0 {
		steps := nextSteps(planned)
		if err := g.applyPruning(ctx, steps); err != nil {
			return nil, err
		}
		for _, s := range steps {
			s.deleted, s.read.Generation, s.inUse = s.deleted+s.dropped, s.generation, s.touched
		}
		done := len(steps)
		if last := steps[done-1]; last.left > 0 && !last.inUse {
			done-- // the others had room for all
		}
		planned = planned[done:]
	}
	return all, nil
}

// pruneStep is what one transaction does to a slot, and what it did.
type pruneStep struct {
	*slotPruning
	through int64 // the last message to be deleted; zero: none is

	dropped    int
	generation int64
	touched    bool
}

// nextSteps are as many as one transaction takes: the first of those to do, of which the
// last may need more.
func nextSteps(planned []*slotPruning) []*pruneStep {
	var steps []*pruneStep
	for room := dropBatch; len(planned) > 0 && room > 0; planned = planned[1:] {
		p := planned[0]
		n := min(p.left, room)
		p.left, room = p.left-n, room-n
		steps = append(steps, &pruneStep{slotPruning: p, through: p.dropThrough - int64(p.left), touched: true}) // until it is seen that it was not
	}
	return steps
}

// applyPruning does some steps.
func (g *Gateway) applyPruning(ctx context.Context, steps []*pruneStep) error {
	of := map[string][]*pruneStep{}
	var keys []string
	for _, s := range steps {
		if of[s.key] == nil {
			keys = append(keys, s.key)
		}
		of[s.key] = append(of[s.key], s)
	}
	if err := g.store.ChangeSessions(ctx, keys, func(key string, tx store.SessionTx) error {
		for _, s := range of[key] {
			if err := s.do(tx, g); err != nil {
				return err
			}
		}
		g.crash(CrashBeforePrune)
		return nil
	}); err != nil {
		return err
	}
	g.crash(CrashAfterPrune)
	return nil
}

func (s *pruneStep) do(tx store.SessionTx, g *Gateway) error {
	s.dropped, s.generation, s.touched = 0, s.read.Generation, true // an earlier try was rolled back
	same, err := tx.Untouched(s.read)
	if err != nil || !same {
		return err
	}
	s.touched = false
	slot := s.read.Slot.ID
	if err := tx.Freeze(slot, frozen(s.decided)); err != nil {
		return err
	}
	if s.through > 0 {
		if s.dropped, err = tx.DropMessages(slot, s.through, g.now()); err != nil {
			return err
		}
	}
	if s.left > 0 {
		if s.generation, err = tx.Generation(slot); err != nil {
			return err
		}
	}
	return tx.MarkPruned(slot, s.seen)
}

// previewPruning finds out what would be left as it is, because it is in use.
func (g *Gateway) previewPruning(ctx context.Context, planned []*slotPruning) error {
	for _, p := range planned {
		if _, err := g.change(ctx, p.key, true, func(tx store.SessionTx, _ *Change) ([]*models.Inbound, error) {
			same, err := tx.Untouched(p.read)
			if p.inUse = !same; same {
				p.deleted = p.drop
			}
			return nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

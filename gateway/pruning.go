package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// Pruning is what pruning a slot did, or would do: Changed counts the messages that
// have a shorter form or were deleted, Skipped the tool results that stay as they are,
// and Reason says why nothing was done.
type Pruning struct {
	Change

	Slot string `json:"slot"`
	// Deleted counts messages that are gone, those of Changed that have no item.
	Deleted int          `json:"deleted"`
	Items   []PrunedItem `json:"items"`
}

// PrunedItem is one decision.
type PrunedItem struct {
	Seq  int64       `json:"seq"`
	Role models.Role `json:"role"`
	// Pruned is soft or hard for a shorter form, omitted for tool calls that are not sent
	// any more.
	Pruned prune.Pruned `json:"pruned"`
	Why    prune.Why    `json:"why"`
	// Size is how long the result or the arguments were, Now how long they are, in
	// characters.
	Size int `json:"size"`
	Now  int `json:"now"`
}

// Why a slot is left alone.
const (
	notPruned      = "nothing to prune"
	notPrunedInUse = "in use" // a message waits or runs, or came meanwhile
	notPrunedFixed = "read-only"
	notPrunedWarm  = "the cache is warm" // in mode cache_ttl, before the time
)

// dropBatch bounds the messages that one transaction deletes.
const dropBatch = 5000

// errInUse ends a transaction that must not touch the session.
var errInUse = errors.New("gateway: session in use")

// Prune shortens what a slot's context shows ahead of its next turn, whether or not
// that is enabled, and in mode hard deletes messages beyond the newest. A session in
// use is never touched, and a dry run changes nothing. An unknown session or slot is a
// [store.ErrNotFound].
func (g *Gateway) Prune(ctx context.Context, key, slot string, dryRun bool) (Pruning, error) {
	p, err := g.planPruning(ctx, key, slot)
	if err != nil {
		return Pruning{}, fmt.Errorf("prune: %w", err)
	}
	out := Pruning{Change: Change{DryRun: dryRun}, Slot: p.stored.Slot.ID, Items: []PrunedItem{}}
	for _, m := range p.stored.Messages {
		if m.Role == models.RoleTool {
			out.Skipped++
		}
	}
	if p.seen == 0 {
		out.Reason = cmp.Or(p.not, notPruned)
		return out, nil
	}
	deleted, err := g.applyPruning(ctx, key, p, dryRun)
	if errors.Is(err, errInUse) {
		out.Reason = notPrunedInUse
		return out, nil
	}
	if err != nil {
		return Pruning{}, fmt.Errorf("prune: %w", err)
	}
	out.Deleted, out.Changed = deleted, len(p.decided)+deleted
	if out.Changed == 0 {
		out.Reason = cmp.Or(p.not, notPruned)
	}
	for _, d := range p.decided {
		out.Items = append(out.Items, PrunedItem{d.Seq, d.Role, d.Form.Pruned, d.Why, d.Size, d.Now})
		if d.Role == models.RoleTool {
			out.Skipped--
		}
	}
	return out, nil
}

// slotPruning is what is to be done to a slot.
type slotPruning struct {
	stored  *store.SessionContext
	not     string // why nothing is; empty: something may be
	decided []prune.Decision
	// seen is the newest message that was looked at; zero: none was.
	seen int64
	// dropThrough is the last message to be deleted, of about as many; zero: none is.
	dropThrough int64
	drop        int
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
	p := &slotPruning{stored: stored}
	next, err := g.nextTurn(ctx, s, stored.Session, stored.Slot.ID)
	if err != nil {
		return nil, err
	}
	in := g.windowInput(s, &next.agent, next.chat, stored, next.env)
	in.Ahead = true
	if s.Pruning.Mode == prune.ModeCacheTTL && !in.Cold {
		p.not = notPrunedWarm
		return p, nil
	}
	if stored.Slot.Source.Kind == models.SlotStatic { // not stored
		p.not = notPrunedFixed
		return p, nil
	}
	for _, m := range append([]*models.SessionMessage{stored.Summary}, stored.Messages...) {
		if m != nil {
			p.seen = max(p.seen, m.Seq)
		}
	}
	if stored.Slot.Mode == models.SlotReadonly {
		p.not = notPrunedFixed
		return p, nil
	}
	out, err := window.Build(in)
	if err != nil {
		return nil, err
	}
	p.decided = out.Decisions
	if s.Pruning.Mode == prune.ModeHard {
		err = g.planDeletion(ctx, s.MaxMessages, key, p)
	}
	return p, err
}

// planDeletion finds the messages beyond the newest.
func (g *Gateway) planDeletion(ctx context.Context, most int, key string, p *slotPruning) error {
	slot := p.stored.Slot
	if most <= 0 || slot.MessageCount <= most {
		return nil
	}
	var newest []*models.SessionMessage // no more of each than is needed
	if err := g.newestFirst(ctx, key, slot.ID, func(m *models.SessionMessage) bool {
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
	if s := p.stored.Summary; s != nil && s.Seq <= p.dropThrough {
		p.drop-- // it stays
	}
	return nil
}

// applyPruning does it: all in one transaction, unless there is very much to delete.
// It returns how many messages were deleted.
func (g *Gateway) applyPruning(ctx context.Context, key string, p *slotPruning, dryRun bool) (deleted int, err error) {
	generation := p.stored.Generation
	for left := p.drop; ; left -= dropBatch {
		through := p.dropThrough
		if left > dropBatch {
			through -= int64(left - dropBatch)
		}
		n := 0
		_, err := g.change(ctx, key, dryRun, func(tx store.SessionTx, _ *Change) ([]*models.Inbound, error) {
			if err := g.unused(tx, p.stored, generation); err != nil || dryRun {
				return nil, err
			}
			slot := p.stored.Slot.ID
			if err := tx.Freeze(slot, frozen(p.decided)); err != nil {
				return nil, err
			}
			if p.dropThrough > 0 {
				var err error
				if n, err = tx.DropMessages(slot, through, g.now()); err != nil {
					return nil, err
				}
				if generation, err = tx.Generation(slot); err != nil {
					return nil, err
				}
			}
			if err := tx.MarkPruned(slot, p.seen); err != nil {
				return nil, err
			}
			g.crash(CrashBeforePrune)
			return nil, nil
		})
		if err != nil {
			return deleted, err
		}
		g.crash(CrashAfterPrune)
		if dryRun {
			return p.drop, nil
		}
		if deleted += n; through == p.dropThrough {
			return deleted, nil
		}
	}
}

// unused is an errInUse if a session has something to do, or did something since its
// context was read.
func (g *Gateway) unused(tx store.SessionTx, stored *store.SessionContext, generation int64) error {
	pending, err := tx.Pending()
	if err != nil {
		return err
	}
	session, err := tx.Session()
	if err != nil {
		return err
	}
	now, err := tx.Generation(stored.Slot.ID)
	if err != nil {
		return err
	}
	if len(pending) > 0 || now != generation || !session.LastActivityAt.Equal(stored.Session.LastActivityAt) {
		return errInUse
	}
	return nil
}

// frozen are decisions as they are stored.
func frozen(decided []prune.Decision) []store.PrunedForm {
	var out []store.PrunedForm
	for _, d := range decided {
		out = append(out, store.PrunedForm{Seq: d.Seq, Pruned: string(d.Form.Pruned), Content: d.Form.Content})
	}
	return out
}

// formsOf are a context's stored forms.
func formsOf(stored *store.SessionContext) map[int64]prune.Form {
	out := make(map[int64]prune.Form, len(stored.Forms))
	for seq, f := range stored.Forms {
		out[seq] = prune.Form{Pruned: prune.Pruned(f.Pruned), Content: f.Content}
	}
	return out
}

package gateway

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
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

// Prune shortens what a slot's context shows ahead of its next turn, whether or not
// that is enabled, and in mode hard deletes messages beyond the newest. A session in
// use is never touched, and a dry run changes nothing. An unknown session or slot is a
// [store.ErrNotFound].
func (g *Gateway) Prune(ctx context.Context, key, slot string, dryRun bool) (Pruning, error) {
	done, err := g.pruneSlots(ctx, []store.SlotSize{{SessionKey: key, Slot: slot}}, dryRun)
	if err == nil && done[0].not == slotGone {
		err = store.ErrNotFound
	}
	if err != nil {
		return Pruning{}, fmt.Errorf("prune: %w", err)
	}
	return done[0].result(dryRun), nil
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

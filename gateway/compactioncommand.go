package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// plannedSummary is what a command for a summary would act on. It asks no model.
func (g *Gateway) plannedSummary(ctx context.Context, key string) (*command.Summary, error) {
	session, err := g.store.Session(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return &command.Summary{}, nil
	}
	if err != nil {
		return nil, err
	}
	planned := &command.Summary{Slot: session.CurrentSlot, Running: g.summaries.runs(key)}
	result, err := g.compact(ctx, compaction{key: key, slot: session.CurrentSlot, dryRun: true})
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if result.Reason == "" {
		planned.Messages = result.Replaced
	}
	return planned, err
}

// Compacted is what a summary that was asked for came to: Changed counts the messages
// that it stands for, Skipped those that stay as they are.
type Compacted struct {
	Change

	Slot string `json:"slot"`
	// TokensBefore and TokensAfter are the size of the slot's context; the latter is the
	// same unless a summary was stored.
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
}

// ErrSummary means that the model's summary is empty, or no shorter than what it is to
// replace, that the model's window has no room for one, or that somebody stopped it.
// Other failures are those of the agent.
var ErrSummary = errors.New("gateway: there is no summary")

func summaryError(err error) error {
	for _, poor := range []error{
		compact.ErrEmpty, compact.ErrNoProgress, compact.ErrSmallWindow, compact.ErrOverflow, errSummaryStopped, errNoSummarizer,
	} {
		if errors.Is(err, poor) {
			return fmt.Errorf("%w: %w", ErrSummary, err)
		}
	}
	if errors.Is(err, errBusy) || errors.Is(err, errSummaryVoid) {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	return err
}

// Compact summarises the older part of a slot, however small it is; an empty slot is
// the current one. It waits for the model. On an error the history is as it was.
func (g *Gateway) Compact(ctx context.Context, key, slot, instructions string, dryRun bool) (Compacted, error) {
	session, err := g.store.Session(ctx, key)
	if err != nil {
		return Compacted{}, err
	}
	if slot == "" {
		slot = session.CurrentSlot
	}
	result, err := g.compact(ctx, compaction{key: key, slot: slot, instructions: instructions, dryRun: dryRun})
	if err != nil {
		return Compacted{}, summaryError(err)
	}
	out := Compacted{Change: Change{DryRun: dryRun, Reason: string(result.Reason), Skipped: result.Kept}, Slot: slot}
	out.TokensBefore, out.TokensAfter = result.Before, result.Before
	if result.Changed {
		out.TokensAfter = result.After
	}
	if result.Changed || dryRun && result.Reason == "" {
		out.Changed = result.Replaced
	}
	return out, nil
}

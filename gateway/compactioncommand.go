package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// maxSummaries bounds the summaries that commands have running at once.
const maxSummaries = 16

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

// summarise makes the summary that a command asked for, beside the lane, and says
// what came of it.
func (g *Gateway) summarise(in *models.Inbound, env *envelope, lang text.Lang, asked command.Compaction) {
	g.background.start(func(ctx context.Context) {
		var result compact.Result
		var err error
		select {
		case g.summarySlots <- struct{}{}:
			result, err = g.compact(ctx, compaction{key: in.SessionKey, slot: asked.Slot, instructions: asked.Instructions})
			<-g.summarySlots
		case <-ctx.Done():
			err = errSummaryStopped
		}
		g.tell(ctx, g.notices(in, env, summarySaid(ctx, lang, in.ID, asked.Slot, result, err)), "summarised", in.ID)
	})
}

// Settle returns once commands are carried out, with the summaries that they asked
// for, or ctx ends: for a process that ends after one message.
func (g *Gateway) Settle(ctx context.Context) { g.background.wait(ctx) }

// summarySaid is what a chat learns of a summary that was asked for.
func summarySaid(ctx context.Context, lang text.Lang, inboundID, slot string, result compact.Result, err error) string {
	switch {
	case result.Changed:
		return text.Say(lang, text.CompactDone, result.Replaced, result.Before, result.After)
	case ctx.Err() != nil, errors.Is(err, errSummaryStopped):
		return text.Say(lang, text.CompactStopped)
	case err != nil:
		return text.Say(lang, text.CompactFailed, complaintCode(inboundID))
	}
	switch result.Reason {
	case compact.Changed:
		return text.Say(lang, text.CompactChanged)
	case compact.Excluded:
		return text.Say(lang, text.CompactExcluded, slot)
	case compactionBusy:
		return text.Say(lang, text.CompactBusy)
	default:
		return text.Say(lang, text.CompactNothing)
	}
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
	if errors.Is(err, errBusy) {
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

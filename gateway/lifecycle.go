package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

func (g *Gateway) newJobs(s lifecycle.Settings) *lifecycle.Runner {
	return lifecycle.New(lifecycle.Config{Owner: g.cfg.Owner, Lease: g.cfg.Lease, Ran: g.announceJob}, s, g.store, g.slotJobs(), g.clock, g.metrics, g.log)
}

const (
	// pruneWorkers bounds the chunks of pruneChunk slots that are pruned side by side, which
	// keeps the database busy, and compactWorkers the slots that wait for a model.
	pruneWorkers   = 4
	pruneChunk     = 25
	compactWorkers = 4
	// pruneAfter is how many messages a slot gets before the job looks at it again, however
	// many are left as they are: the store's index counts in eights, so that whatever it
	// finds is looked at, marked, and not found again.
	pruneAfter = 8
	// slotGone is the reason of a slot that was deleted meanwhile, slotOrphaned of one
	// whose agent is not configured any more, slotRests of one whose summary failed of
	// late, slotOverBudget of one for which nothing is left to spend today.
	slotGone       = "gone"
	slotOrphaned   = "no agent"
	slotRests      = "failed before"
	slotOverBudget = "over budget"
)

// slotJobs are the jobs that shorten contexts.
func (g *Gateway) slotJobs() []lifecycle.SlotJob {
	return []lifecycle.SlotJob{
		{
			Name: lifecycle.Prune, Workers: pruneWorkers, Chunk: pruneChunk,
			Off: func() string { return offUnless(g.settings.Load().Pruning.Enabled, "session.pruning.enabled") },
			Candidates: func(ctx context.Context, after string, limit int) ([]store.SlotSize, string, error) {
				return g.store.PruneCandidates(ctx, pruneAfter, after, limit)
			},
			Do: func(ctx context.Context, slots []store.SlotSize, dryRun bool) ([]string, error) {
				done, err := g.pruneSlots(ctx, slots, dryRun)
				if err != nil {
					return excuse(slots, err)
				}
				reasons := make([]string, len(done))
				for i, p := range done {
					reasons[i] = p.reason()
				}
				return reasons, nil
			},
		},
		{
			Name: lifecycle.Compact, Workers: compactWorkers, Chunk: 1,
			Off: func() string { return offUnless(g.settings.Load().Compaction.Enabled, "session.compaction.enabled") },
			Candidates: func(ctx context.Context, after string, limit int) ([]store.SlotSize, string, error) {
				c := g.settings.Load().Compaction
				return g.store.CompactCandidates(ctx, c.MinTokens(), c.MinMessages, after, limit)
			},
			Do: func(ctx context.Context, slots []store.SlotSize, dryRun bool) ([]string, error) {
				reason, err := g.notSummarised(ctx, slots[0])
				if err != nil || reason != "" {
					return []string{reason}, err
				}
				result, err := g.compact(ctx, compaction{key: slots[0].SessionKey, slot: slots[0].Slot, dryRun: dryRun})
				if err != nil {
					return excuse(slots, err)
				}
				return []string{string(result.Reason)}, nil
			},
		},
	}
}

// notSummarised says why the job does not ask for a slot's summary; empty: it does.
func (g *Gateway) notSummarised(ctx context.Context, slot store.SlotSize) (string, error) {
	if g.summaries.rests(slotID{slot.SessionKey, slot.Slot}, g.now()) {
		return slotRests, nil
	}
	s := g.settings.Load()
	used, err := g.exceeded(ctx, s, limit.Use{Session: slot.SessionKey, Agent: cmp.Or(s.Compaction.Agent, slot.AgentID)})
	if used != nil {
		return slotOverBudget, nil
	}
	return "", err
}

func offUnless(enabled bool, key string) string {
	if enabled {
		return ""
	}
	return key + " is false"
}

// excuse turns an error about one slot into the reason why it is left as it is, if it is one.
func excuse(slots []store.SlotSize, err error) ([]string, error) {
	switch {
	case len(slots) > 1: // whose is it?
	case errors.Is(err, store.ErrNotFound):
		return []string{slotGone}, nil
	case errors.Is(err, errNoSummarizer):
		return []string{slotOrphaned}, nil
	}
	return nil, err
}

// Jobs returns the jobs on sessions, with their last runs on any replica.
func (g *Gateway) Jobs(ctx context.Context) ([]lifecycle.View, error) { return g.jobs.Jobs(ctx) }

// RunJob runs a job on sessions now; see [lifecycle.Runner.RunNow].
func (g *Gateway) RunJob(ctx context.Context, name string, dryRun bool) (*lifecycle.Report, error) {
	return g.jobs.RunNow(ctx, name, dryRun)
}

// Archive archives a session that is not in use and not pinned. The next message of a
// person makes it active again.
func (g *Gateway) Archive(ctx context.Context, key string, dryRun bool) (Change, error) {
	return g.change(ctx, key, dryRun, func(tx store.SessionTx, c *Change) ([]*models.Inbound, error) {
		s, err := tx.Session()
		if err != nil {
			return nil, err
		}
		if c.Reason, err = notArchived(tx, s); err != nil || c.Reason != "" {
			c.Skipped = 1
			return nil, err
		}
		c.Changed, s.State = 1, models.SessionArchived
		return nil, tx.Update(s, g.now())
	})
}

// notArchived says why a session is left as it is; empty: it is not.
func notArchived(tx store.SessionTx, s *models.Session) (string, error) {
	switch {
	case s.State == models.SessionArchived:
		return "archived already", nil
	case s.Pinned:
		return "pinned", nil
	}
	pending, err := tx.Pending()
	if err != nil || len(pending) > 0 {
		return "in use", err
	}
	switch _, err := tx.FirstCommand(); {
	case err == nil:
		return "in use", nil
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	return "", nil
}

// Move gives a session, with all that belongs to it, another key: for when a change of
// the configuration gave its chat another one. [store.ErrNotFound] if it is not there,
// [store.ErrExists] if the other one is, [store.ErrConflict] if either is in use.
func (g *Gateway) Move(ctx context.Context, from, to string, dryRun bool) (Change, error) {
	k, err := key.Parse(to)
	if err != nil {
		return Change{}, fmt.Errorf("move: %w", err)
	}
	target := &models.Session{
		Key: k.String(), AgentID: k.AgentID, Scope: k.Scope, ScopeID: k.ScopeID, State: models.SessionActive,
	}
	if err := g.store.MoveSession(ctx, from, target, dryRun); err != nil {
		return Change{}, err
	}
	return Change{Changed: 1, DryRun: dryRun}, nil
}

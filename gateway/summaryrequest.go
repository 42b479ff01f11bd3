package gateway

import (
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// maxSummaries bounds the summaries that commands have running at once.
const maxSummaries = 16

// deferSummary lets a command wait for the summary that it asked for: the command has no
// outcome until the commit that stores the summary, or says why there is none. So it is
// stopped like a turn, and whoever takes it over after a crash makes the summary.
func (g *Gateway) deferSummary(tx store.SessionTx, in *models.Inbound, env *envelope, slot, started string) error {
	if err := tx.Defer(in.ID, slot, g.pool.ClaimRequest()); err != nil || env.Operator != "" {
		return err
	}
	return tx.Deliver(g.notices(in, env, started))
}

// startSummary makes the summary that a deferred command waits for, beside the lane.
func (g *Gateway) startSummary(in *models.Inbound) {
	g.background.start(func(ctx context.Context) {
		wanted, end, ok := g.whileWanted(ctx, in.ID)
		if !ok {
			return
		}
		defer end()
		select {
		case g.summarySlots <- struct{}{}:
			defer func() { <-g.summarySlots }()
			if err := g.summarise(wanted, in); err != nil && wanted.Err() == nil {
				g.log.Error("summary failed, its attempt counts", "inbound", in.ID, "error", err)
			}
		case <-wanted.Done():
		}
		if ctx.Err() != nil {
			end()
			g.handBackSummary(ctx, in)
		}
	})
}

// handBackSummary leaves a summary that this process does not finish to another one.
func (g *Gateway) handBackSummary(ctx context.Context, in *models.Inbound) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	if err := g.store.ReleaseCommand(bounded, in.ID, g.pool.ClaimRequest().Owner); err != nil {
		g.log.Warn("a summary could not be handed back; it is taken over once its lease is over", "inbound", in.ID, "error", err)
	}
}

// summarise makes the summary that a deferred command waits for, and ends the command.
// An error means that it has no outcome: it is tried again once its lease is over.
func (g *Gateway) summarise(ctx context.Context, in *models.Inbound) error {
	env, err := decodeEnvelope(in)
	if err == nil && env.Command == nil {
		err = errNoSuchCommand
	}
	if err != nil { // nobody can be told
		return g.endSummary(ctx, in, ending{outcome: store.Outcome{State: models.InboundFailed, Code: models.CodeAgentFailed, Error: oneLine(err.Error())}})
	}
	s := g.settings.Load()
	chat, _ := s.Chat(in.Channel, in.Account, env.Message.Chat.ID)
	ends := summaryEnds{g, in, env, langOf(chat, env.Message)}
	if in.Attempts >= maxAttempts {
		return g.endSummary(ctx, in, ends.givenUp())
	}
	var end ending
	work := compaction{
		key: in.SessionKey, slot: in.Slot, instructions: env.Command.Args, asker: s.asker(in, env),
		commit: func(tx store.SessionTx, done compact.Result) error {
			end = ends.with(done, nil)
			return end.store(tx, in.ID, g.now())
		},
	}
	result, err := g.compact(ctx, work)
	for err == nil && result.Reason == compactionBusy && g.summaries.ended(ctx, slotID{work.key, work.slot}) {
		result, err = g.compact(ctx, work)
	}
	switch {
	case result.Changed:
		g.summaryEnded(in, end)
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, store.ErrUnavailable):
		return err
	}
	return g.endSummary(ctx, in, ends.with(result, err))
}

// endSummary ends a deferred command that no summary was stored for.
func (g *Gateway) endSummary(ctx context.Context, in *models.Inbound, end ending) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	err := g.store.ChangeSession(bounded, in.SessionKey, func(tx store.SessionTx) error { return end.store(tx, in.ID, g.now()) })
	if errors.Is(err, store.ErrConflict) {
		return nil // it was ended from outside
	}
	if err == nil {
		g.summaryEnded(in, end)
	}
	return err
}

// summaryEnded tells everybody here what became of a deferred command.
func (g *Gateway) summaryEnded(in *models.Inbound, end ending) {
	now, o := g.now(), end.outcome
	row := *in
	row.State, row.Code, row.Error, row.FinishReason, row.Reply, row.FinishedAt = o.State, o.Code, o.Error, o.FinishReason, o.Reply, &now
	g.finished(&row)
	g.queued(end.said)
}

// Settle returns once commands are carried out, with the summaries that they asked
// for, or ctx ends: for a process that ends after one message.
func (g *Gateway) Settle(ctx context.Context) { g.background.wait(ctx) }

package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// commandTimeout bounds one run of a chat command.
const commandTimeout = 30 * time.Second

var (
	// errNotFirst keeps a command from overtaking an earlier one of its session.
	errNotFirst = errors.New("gateway: an earlier command comes first")
	// errNoSuchCommand is a command that was accepted by a newer or older version.
	errNoSuchCommand   = errors.New("gateway: no such command")
	errCommandPanicked = errors.New("gateway: command panicked")
)

// startCommand runs a command beside the lane: it never waits behind a turn.
func (g *Gateway) startCommand(in *models.Inbound) {
	g.background.start(func(ctx context.Context) {
		select {
		case g.commandSlots <- struct{}{}:
			defer func() { <-g.commandSlots }()
		case <-ctx.Done():
			return // another replica, or the next start, runs it
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
		defer cancel()
		if err := g.runCommands(bounded, in); err != nil {
			g.log.Error("command failed", "inbound", in.ID, "error", err)
		}
	})
}

// runCommands carries a command out, and before it those of its session that came
// earlier and are not carried out yet, whoever accepted them.
func (g *Gateway) runCommands(ctx context.Context, last *models.Inbound) error {
	for in := last; ; {
		first, err := g.settleCommand(ctx, in)
		switch {
		case errors.Is(err, errNotFirst):
			in = first
		case err != nil:
			return err
		case in.ID == last.ID:
			return nil
		default:
			in = last
		}
	}
}

// settleCommand carries a command out. One that cannot be carried out, or did not
// live through its runs, is given up: it would block the session's others. first is
// the command to begin with if this is [errNotFirst].
func (g *Gateway) settleCommand(ctx context.Context, in *models.Inbound) (first *models.Inbound, err error) {
	if in.Attempts >= maxAttempts {
		return g.giveUpCommand(ctx, in, store.Outcome{
			State: models.InboundDead, Code: models.CodeAgentFailed, Error: fmt.Sprintf("given up after %d attempts", maxAttempts),
		}, text.MessageDead)
	}
	first, err = g.runCommand(ctx, in)
	switch {
	case err == nil, errors.Is(err, errNotFirst):
		return first, err
	case errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
		return nil, err // it is tried again once its lease is over
	}
	g.log.Error("command is given up", "inbound", in.ID, "error", err)
	return g.giveUpCommand(ctx, in, store.Outcome{
		State: models.InboundFailed, Code: models.CodeAgentFailed, Error: oneLine(err.Error()),
	}, text.CommandFailed)
}

// giveUpCommand ends a command with a notice instead of its answer.
func (g *Gateway) giveUpCommand(ctx context.Context, in *models.Inbound, o store.Outcome, say text.ID) (*models.Inbound, error) {
	return g.finishCommand(ctx, in, func(tx store.SessionTx, in *models.Inbound, now time.Time) (store.Outcome, []*models.Delivery, error) {
		env, err := decodeEnvelope(in)
		if err != nil { // nobody can be told
			return o, nil, nil //nolint:nilerr // it is given up because it cannot be read
		}
		chat, _ := g.settings.Load().Chat(in.Channel, in.Account, env.Message.Chat.ID)
		return o, g.notices(in, env, text.Say(langOf(chat, env.Message), say, complaintCode(in.ID))), nil
	})
}

// complaintCode is the short code by which a user's complaint is found in the log.
func complaintCode(inboundID string) string { return "E-" + inboundID[max(0, len(inboundID)-6):] }

// finishCommand gives a command its outcome (none: it became a turn, or is deferred) and sends what is to be said, in one
// commit with whatever end does. It does nothing if the command has its outcome.
func (g *Gateway) finishCommand(ctx context.Context, in *models.Inbound,
	end func(store.SessionTx, *models.Inbound, time.Time) (store.Outcome, []*models.Delivery, error),
) (first *models.Inbound, err error) {
	var done *models.Inbound
	var said []*models.Delivery
	err = g.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) (err error) {
		done = nil
		first, err = tx.FirstCommand()
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case err != nil || first.ID != in.ID && first.Seq > in.Seq:
			return nil //nolint:nilerr // nothing waits: somebody else carried it out
		case first.ID != in.ID:
			return errNotFirst
		}
		now := g.now()
		outcome, deliveries, err := end(tx, first, now)
		if err != nil || outcome.State == "" {
			return err
		}
		if err := tx.Finish([]string{in.ID}, outcome, now); err != nil {
			return err
		}
		row := *first
		row.State, row.Code, row.Error, row.FinishReason = outcome.State, outcome.Code, outcome.Error, outcome.FinishReason
		row.Reply, row.FinishedAt, done, said = outcome.Reply, &now, &row, deliveries
		return tx.Deliver(deliveries)
	})
	if err != nil {
		return first, err
	}
	if done != nil {
		g.finished(done)
		g.queued(said)
	}
	return nil, nil
}

// commandReads is what a command reads before its transaction.
type commandReads struct {
	notes   []*models.Note
	history *command.History
	summary *command.Summary
}

func (g *Gateway) readFor(ctx context.Context, cmd *command.Command, key, args string) (r commandReads, err error) {
	if cmd.ReadsNotes {
		if r.notes, err = g.store.Notes(ctx, key, models.MaxNotes); err != nil {
			return r, err
		}
	}
	if cmd.ReadsHistory {
		if r.history, err = g.history(ctx, key, args); err != nil {
			return r, err
		}
	}
	if cmd.ReadsSummary {
		r.summary, err = g.plannedSummary(ctx, key)
		return r, err
	}
	r.summary = &command.Summary{Running: g.summaries.runs(key)}
	return r, nil
}

// runCommand carries a command out, with its outcome and its answer in one commit.
func (g *Gateway) runCommand(ctx context.Context, in *models.Inbound) (first *models.Inbound, err error) {
	env, err := decodeEnvelope(in)
	if err != nil {
		return nil, err
	}
	if env.Command == nil {
		return nil, errNoSuchCommand
	}
	cmd := command.Find(env.Command.Name)
	if cmd == nil {
		return nil, fmt.Errorf("%w: %q", errNoSuchCommand, env.Command.Name)
	}
	ctx, span := g.tracer.Start(tracing.Continue(ctx, env.Trace), "command")
	env.Trace = tracing.Carried(ctx)
	noteMessage(span, in)
	span.Note(spanCommand, cmd.Name)
	defer func() {
		if err != nil && !errors.Is(err, errNotFirst) {
			span.Fail("failed")
		}
		span.End()
	}()
	m := env.Message
	s := g.settings.Load()
	chat, _ := s.Chat(in.Channel, in.Account, m.Chat.ID)
	lang := langOf(chat, m)
	account, _ := s.Chat(in.Channel, in.Account, "")

	before, err := g.readFor(ctx, cmd, in.SessionKey, env.Command.Args)
	if err != nil {
		return nil, err
	}
	var call *command.Call
	var rebound []string
	first, err = g.finishCommand(ctx, in, func(tx store.SessionTx, in *models.Inbound, now time.Time) (store.Outcome, []*models.Delivery, error) {
		call = &command.Call{
			Args: env.Command.Args, Tx: tx, Lang: lang, Now: now, Place: in.Seq, Session: env.session(in),
			Background: cmp.Or(env.Background, in.SessionKey),
			Channel:    in.Channel, Account: in.Account, ChatID: m.Chat.ID, SenderID: m.Sender.ID,
			ThreadID: m.Chat.ThreadID, Direct: env.direct(), Tasks: g,
			Models: s.Agents[env.AgentID].models(), Roles: s.Roles, HelpText: s.Help[lang],
			SenderName: m.Sender.Name, InboundID: in.ID, Operator: env.Operator, Decides: env.Decides, Allowance: s.allowance(in, env, now),
			AccountAdmin: env.Operator != "" || account.Access.IsAdmin(append([]string{m.Sender.ID}, m.Sender.AltIDs...)...),
			Admin:        env.Admin, Shared: env.Shared, StaticSlots: s.StaticSlots[env.AgentID], Notes: before.notes, History: before.history, Summary: *before.summary,
		}
		was, err := tx.Use(now)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // the session may not have begun
			return store.Outcome{}, nil, err
		}
		slot, ended := tx.CurrentSlot(), store.Outcome{}
		answer, err := g.safeRun(cmd, call)
		if err != nil {
			return ended, nil, err
		}
		if call.Decided != nil {
			return ended, nil, promote(tx, in, env, call.Decided, lang)
		}
		if rebound, err = rebind(call, slot); err != nil {
			return ended, nil, err
		}
		switch {
		case call.Compact != "":
			return ended, nil, g.deferSummary(tx, in, env, call.Compact, answer)
		case call.OverBudget != nil:
			refusal, say := g.overBudget(*call.OverBudget, lang)
			return refusal, g.notices(in, env, say), nil
		}
		ended = store.Outcome{State: models.InboundDone, FinishReason: "stop", Reply: commandReply(answer)}
		if env.Operator != "" { // who does not read the chat
			return ended, nil, nil
		}
		said := g.deliveries(in, env, answer, models.DeliveryAnswer)
		if was == models.SessionArchived {
			restored := text.Say(lang, text.SessionRestored)
			ended.Reply.Notices = []string{restored}
			said = append(said, g.notices(in, env, restored)...)
		}
		return ended, said, nil
	})
	if err != nil || call == nil {
		return first, err
	}
	g.ended(call.Ended)
	if call.Admitted != nil {
		g.tellDecided(ctx, call.Admitted)
	}
	if call.StopSummary || call.Emptied != "" {
		g.summaries.stop(in.SessionKey, call.Emptied)
	}
	if call.Compact != "" {
		asked := *in
		asked.Slot, asked.Deferred, asked.State = call.Compact, true, models.InboundRunning
		g.startSummary(&asked)
		g.outbox.nudge()
	}
	for _, id := range rebound {
		g.hub.Reopened(id)
	}
	g.pool.Stop(rebound...)
	if call.Requeued != "" {
		g.waitsAgain(call.Requeued, in.SessionKey)
	}
	if call.Decided != nil {
		g.hub.Reopened(in.ID)
	}
	if call.Requeued != "" || len(rebound) > 0 || call.Decided != nil {
		g.pool.Nudge()
	}
	return nil, nil
}

// safeRun contains a panic of a command to its run.
func (g *Gateway) safeRun(cmd *command.Command, call *command.Call) (answer string, err error) {
	defer func() {
		if v := recover(); v != nil {
			g.log.Error("command panicked", "command", cmd.Name, "panic", panics.Value(v))
			err = errCommandPanicked
		}
	}()
	return cmd.Run(call)
}

// rebind makes what was said after a command that switched from a slot, or emptied it,
// go to where it would have gone had the command been carried out at once. What a
// caller wrote to a slot by name stays there.
func rebind(call *command.Call, slot string) ([]string, error) {
	now := call.Tx.CurrentSlot()
	if now == slot && call.Emptied == "" {
		return nil, nil
	}
	pending, err := call.Tx.Pending()
	if err != nil {
		return nil, err
	}
	var later []string
	for _, in := range pending {
		if in.Seq < call.Place || in.Slot != slot || in.Deferred {
			continue
		}
		if now != slot {
			if env, err := decodeEnvelope(in); err == nil && env.Slot != "" {
				continue
			}
		}
		later = append(later, in.ID)
	}
	return later, call.Tx.Rebind(later, now)
}

func commandReply(answer string) *models.Reply {
	return &models.Reply{Role: models.RoleAssistant, Content: answer, ToolCalls: []models.ToolCall{}}
}

// recoverCommands runs commands whose process died before they were carried out.
func (g *Gateway) recoverCommands(ctx context.Context) {
	for clock.Sleep(ctx, g.clock, g.cfg.Lease/2) == nil {
		bounded, cancel := context.WithTimeout(ctx, g.cfg.Lease)
		commands, err := g.store.ClaimCommands(bounded, g.pool.ClaimRequest(), maxCommands)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				g.log.Error("commands could not be claimed", "error", err)
			}
			continue
		}
		for _, in := range commands {
			if in.Deferred {
				g.startSummary(in)
			} else {
				g.startCommand(in)
			}
		}
	}
}

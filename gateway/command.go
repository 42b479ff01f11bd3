package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// commandTimeout bounds one run of a chat command.
const commandTimeout = 30 * time.Second

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
		if err := g.runCommand(bounded, in); err != nil && !errors.Is(err, store.ErrConflict) {
			g.log.Error("command failed", "inbound", in.ID, "error", err)
		}
	})
}

// runCommand carries a command out, with its outcome and its answer in one commit.
func (g *Gateway) runCommand(ctx context.Context, in *models.Inbound) error {
	env, err := decodeEnvelope(in)
	if err != nil {
		return err
	}
	m := env.Message
	chat, _ := g.settings.Load().Chat(in.Channel, in.Account, m.Chat.ID)
	lang := text.Choose(chat.Language, m.Text)
	cmd := command.Find(env.Command.Name)

	var notes []*models.Note
	if cmd.ReadsNotes {
		if notes, err = g.store.Notes(ctx, in.SessionKey, models.MaxNotes); err != nil {
			return err
		}
	}
	var call *command.Call
	var done models.Inbound
	err = g.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) error {
		call = &command.Call{
			Args: env.Command.Args, Tx: tx, Lang: lang, Now: g.now(), Session: env.session(in),
			Channel: in.Channel, Account: in.Account, ChatID: m.Chat.ID, SenderID: m.Sender.ID,
			ThreadID: m.Chat.ThreadID, Direct: env.direct(), Tasks: g,
			Admin: env.Admin, Shared: env.Shared, StaticSlots: g.settings.Load().StaticSlots[env.AgentID], Notes: notes,
		}
		answer, err := cmd.Run(call)
		if err != nil {
			return err
		}
		outcome := store.Outcome{State: models.InboundDone, FinishReason: "stop", Reply: commandReply(answer)}
		if err := tx.Finish([]string{in.ID}, outcome, call.Now); err != nil {
			return err
		}
		done = *in
		done.State, done.Reply, done.FinishReason, done.FinishedAt = outcome.State, outcome.Reply, outcome.FinishReason, &call.Now
		return tx.Deliver(g.deliveries(in, env, answer, models.DeliveryAnswer))
	})
	if err != nil {
		return err
	}
	g.ended(call.Ended)
	if call.Requeued != "" {
		g.hub.Reopened(call.Requeued)
		g.pool.Nudge()
	}
	g.hub.Done(&done)
	g.outbox.nudge()
	return nil
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
			g.startCommand(in)
		}
	}
}

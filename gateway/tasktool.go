package gateway

import (
	"context"
	"slices"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// TaskFromTurn carries out what the model of a running turn asks about tasks, for the
// person whose message it answers. ok is false if it was refused; say tells why. A turn
// that does not run any more is [ErrTurnOver].
func (g *Gateway) TaskFromTurn(ctx context.Context, inboundID string, r command.TaskRequest) (say string, ok bool, err error) {
	in, err := g.store.Inbound(ctx, inboundID)
	if err != nil {
		return "", false, err
	}
	env, err := decodeEnvelope(in)
	if err != nil {
		return "", false, err
	}
	call := &command.Call{
		Lang: text.English, Session: env.session(in), Tasks: g,
		Channel: in.Channel, Account: in.Account, SenderID: env.Message.Sender.ID,
		ChatID: env.Message.Chat.ID, ThreadID: env.Message.Chat.ThreadID, Direct: env.direct(),
	}
	switch {
	case env.Run != nil: // its message was written nowhere
		r.Run = env.Run.TaskID
		if t := env.Run.Target; t != nil {
			call.ChatID, call.ThreadID, call.SenderID, call.Direct = t.ChatID, t.ThreadID, t.UserID, t.Direct
		}
	case env.Decided != nil: // whoever approved the call did not ask for it, nor perhaps there
		asked, err := g.store.Approval(ctx, env.Decided.Code)
		if err != nil {
			return "", false, err
		}
		place, err := placeOf(asked)
		if err != nil {
			return "", false, err
		}
		call.Channel, call.Account, call.SenderID = asked.Channel, asked.Account, asked.SenderID
		call.ChatID, call.ThreadID, call.Direct = place.Message.Chat.ID, place.Message.Chat.ThreadID, place.direct()
	}
	err = g.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) error {
		pending, err := tx.Pending()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(pending, func(p *models.Inbound) bool { return p.ID == inboundID && p.State == models.InboundRunning }) {
			return ErrTurnOver
		}
		call.Tx, call.Now = tx, g.now()
		say, ok, err = call.Task(r)
		return err
	})
	if err == nil && ok {
		g.tasks.Nudge()
	}
	return say, ok, err
}

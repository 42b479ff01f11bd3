package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// ending is how a deferred command ends, and what its chat is told.
type ending struct {
	outcome store.Outcome
	said    []*models.Delivery
}

func (e ending) store(tx store.SessionTx, inboundID string, now time.Time) error {
	if err := tx.Finish([]string{inboundID}, e.outcome, now); err != nil {
		return err
	}
	return tx.Deliver(e.said)
}

// summaryEnds makes the ending of a command that asked for a summary.
type summaryEnds struct {
	g    *Gateway
	in   *models.Inbound
	env  *envelope
	lang text.Lang
}

// with is the ending by what came of the summary.
func (s summaryEnds) with(result compact.Result, err error) ending {
	switch {
	case result.Changed:
		return s.answer(text.CompactDone, result.Replaced, result.Before, result.After)
	case errors.Is(err, errSummaryStopped):
		return s.notice(models.InboundCancelled, models.CodeCancelled, "the summary was stopped", text.CompactStopped)
	case errors.Is(err, store.ErrNotFound): // the slot is gone
		return s.answer(text.CompactChanged)
	case errors.Is(err, context.DeadlineExceeded):
		return s.notice(models.InboundFailed, models.CodeAgentTimeout, oneLine(err.Error()), text.CompactFailed, complaintCode(s.in.ID))
	case err != nil:
		return s.notice(models.InboundFailed, models.CodeAgentFailed, oneLine(err.Error()), text.CompactFailed, complaintCode(s.in.ID))
	}
	switch result.Reason {
	case compact.Changed:
		return s.answer(text.CompactChanged)
	case compact.Excluded:
		return s.answer(text.CompactExcluded, s.in.Slot)
	case compactionBusy:
		return s.answer(text.CompactBusy)
	default:
		return s.answer(text.CompactNothing)
	}
}

func (s summaryEnds) givenUp() ending {
	why := fmt.Sprintf("given up after %d attempts", maxAttempts)
	return s.notice(models.InboundDead, models.CodeAgentFailed, why, text.MessageDead, complaintCode(s.in.ID))
}

func (s summaryEnds) answer(id text.ID, args ...any) ending {
	say := text.Say(s.lang, id, args...)
	end := ending{outcome: store.Outcome{State: models.InboundDone, FinishReason: "stop", Reply: commandReply(say)}}
	if s.env.Operator == "" { // who does not read the chat
		end.said = s.g.deliveries(s.in, s.env, say, models.DeliveryAnswer)
	}
	return end
}

func (s summaryEnds) notice(state models.InboundState, code models.ErrorCode, why string, id text.ID, args ...any) ending {
	return ending{
		outcome: store.Outcome{State: state, Code: code, Error: why},
		said:    s.g.notices(s.in, s.env, text.Say(s.lang, id, args...)),
	}
}

// stoppedSummaries tell the chats of deferred commands that were ended from outside of
// any chat.
func (g *Gateway) stoppedSummaries(ended []*models.Inbound) (said []*models.Delivery) {
	for _, in := range ended {
		if env, err := decodeEnvelope(in); err == nil && in.Deferred {
			chat, _ := g.settings.Load().Chat(in.Channel, in.Account, env.Message.Chat.ID)
			said = append(said, g.notices(in, env, text.Say(langOf(chat, env.Message), text.CompactStopped))...)
		}
	}
	return said
}

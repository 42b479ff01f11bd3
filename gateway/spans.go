package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/gateway/live"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// What spans say of their work: ids, keys, states and codes.
const (
	spanChannel    = "chatkeep.channel"
	spanAccount    = "chatkeep.account"
	spanSession    = "chatkeep.session"
	spanSlot       = "chatkeep.slot"
	spanInbound    = "chatkeep.inbound"
	spanDelivery   = "chatkeep.delivery"
	spanAgent      = "chatkeep.agent"
	spanTask       = "chatkeep.task"
	spanCommand    = "chatkeep.command"
	spanKind       = "chatkeep.kind"
	spanState      = "chatkeep.state"
	spanAttempts   = "chatkeep.attempts"
	spanMessages   = "chatkeep.messages"
	spanPrompt     = "chatkeep.tokens.prompt"
	spanCompletion = "chatkeep.tokens.completion"
)

func noteMessage(span tracing.Span, in *models.Inbound) {
	if in != nil {
		span.Note(spanInbound, in.ID)
		span.Note(spanSession, in.SessionKey)
		span.Note(spanSlot, in.Slot)
	}
}

// open reads the turn's message and tells that the turn begins, in the trace that the
// message came in. What it returns tells the end, with what the turn came to.
func (r *turn) open(ctx context.Context) (context.Context, func(state string, code models.ErrorCode)) {
	g, began := r.g, r.g.now()
	counted := g.metrics.TurnStarted()
	if r.env, r.unread = decodeEnvelope(r.head); r.env == nil {
		r.env = unreadEnvelope()
	}
	ctx, span := g.tracer.Start(tracing.Continue(ctx, r.env.Trace), "turn")
	r.env.Trace = tracing.Carried(ctx)
	for _, in := range r.t.Inbounds[1:] {
		if !span.On() {
			break
		}
		if env, err := decodeEnvelope(in); err == nil {
			span.Link(env.Trace)
		}
	}
	noteMessage(span, r.head)
	span.Note(spanChannel, r.head.Channel)
	span.Note(spanAccount, r.head.Account)
	span.Note(spanAgent, r.env.AgentID)
	span.Count(spanMessages, len(r.t.Inbounds))
	if r.env.Run != nil {
		span.Note(spanTask, r.env.Run.TaskID)
	}
	event := messageEvent(live.TurnStarted, r.head)
	event.AgentID, event.State, event.Code, event.Attempts = r.env.AgentID, "", "", r.t.Claim.Attempts
	g.live.Publish(event)
	return ctx, func(state string, code models.ErrorCode) {
		counted(state)
		span.Note(spanState, state)
		span.Count(spanPrompt, r.cost.PromptTokens)
		span.Count(spanCompletion, r.cost.CompletionTokens)
		if code != "" {
			span.Fail(string(code))
		}
		span.End()
		event.Type, event.State, event.Code = live.TurnFinished, state, string(code)
		event.DurationMs = g.now().Sub(began).Milliseconds()
		event.PromptTokens, event.CompletionTokens = r.cost.PromptTokens, r.cost.CompletionTokens
		g.live.Publish(event)
	}
}

// tell ends the span of an attempt and tells what became of the delivery, if that was
// stored.
func (d *deliverer) tell(span tracing.Span, sent *models.Delivery, r store.DeliveryResult, err error) {
	done := *sent
	if done.State = r.State; r.CountAttempt {
		done.Attempts++
	}
	span.Note(spanDelivery, done.ID)
	span.Note(spanSession, done.SessionKey)
	span.Note(spanInbound, done.InboundID)
	span.Note(spanChannel, done.Channel)
	span.Note(spanAccount, done.Account)
	span.Note(spanKind, string(done.Kind))
	span.Note(spanState, string(done.State))
	span.Count(spanAttempts, done.Attempts)
	switch {
	case err != nil:
		span.Fail("not_marked")
	case done.State != models.DeliveryDelivered:
		span.Fail(string(done.State))
	}
	span.End()
	if err == nil {
		d.g.live.Publish(deliveryEvent(&done))
	}
}

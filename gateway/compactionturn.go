package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// compactFirst summarises the turn's slot before the model is asked, if it is due or
// its history does not fit. It reports whether the context must be read again.
func (r *turn) compactFirst(ctx context.Context, stored *store.SessionContext, out *window.Output) bool {
	c := r.settings.Compaction
	if !c.Enabled || stored.Slot == nil {
		return false
	}
	added, system := 0, 0
	for _, m := range out.Messages {
		switch {
		case m.Message.Seq > 0: // counted with the slot
		case m.Message.Role == models.RoleSystem:
			system += m.Tokens
		default:
			added += m.Tokens
		}
	}
	if out.Cut == 0 && !c.due(stored.LiveMessages, contextTokens(stored, added, system)) {
		return false
	}
	return r.compact(ctx, stored, r.mostToKeep(stored.Slot, out.Limit, system+added))
}

// mostToKeep is how many tokens a summary may leave beside it, so that the next turns
// need none: no more than three quarters of what the limits have left beside the rest of
// the context, and less than what makes it due again.
func (r *turn) mostToKeep(slot *models.ContextSlot, limit, rest int) int {
	most := 0
	bound := func(tokens int) {
		if tokens > 0 && (most == 0 || tokens < most) {
			most = tokens
		}
	}
	bound((limit - rest) * 3 / 4)
	if slot.Budget != nil {
		bound(window.ResolveBudget(*slot.Budget, r.agent.ContextWindow).History * 3 / 4)
	}
	bound(r.settings.Compaction.MinTokens() - rest)
	return most
}

// compact summarises the turn's slot, or waits for who does, for at most half of the
// turn's time: without a summary the turn goes on as it can. What fit is, see
// [compaction].
func (r *turn) compact(ctx context.Context, stored *store.SessionContext, fit int) (changed bool) {
	id := slotID{r.head.SessionKey, r.head.Slot}
	if !stored.Slot.Compact || r.g.summaries.paused(id, r.g.now()) {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(r.agent.Timeout/2, compactionTimeout))
	defer cancel()
	result, err := r.g.compact(bounded, compaction{key: id.key, slot: id.slot, fit: fit})
	switch {
	case result.Reason == compactionBusy:
		return r.g.summaries.ended(bounded, id)
	case err != nil && ctx.Err() == nil && !errors.Is(err, errSummaryStopped):
		r.unsummarised = stored
	}
	return result.Changed || result.Reason == compact.Changed
}

// tellUnsummarised says, once, that the turn's slot could not be summarised.
func (r *turn) tellUnsummarised(ctx context.Context) {
	if r.unsummarised == nil || r.env.Message == nil {
		return
	}
	r.g.tell(ctx, r.g.notices(r.head, r.env, text.Say(r.lang, text.CompactFailed, r.code())),
		"unsummarised", r.head.SessionKey, r.head.Slot, strconv.FormatInt(r.unsummarised.Generation, 10))
}

// saidBefore reports whether the slot holds more than the turn itself brings.
func (r *turn) saidBefore() bool {
	return r.asked.Cut > 0 || slices.ContainsFunc(r.asked.Messages, func(m window.Message) bool { return m.Message.Seq > 0 })
}

// parts of a refused context that are tried instead of it: the first one that holds
// what must be said.
var shorterParts = []float64{0.5, 0.75, 0.9}

// shorter asks once more, in a shorter context, after a provider refused one as too
// long for its window: summarised where that may be, cut in any case. What must be
// said is not cut: refusal is then the turn's failure.
func (r *turn) shorter(ctx context.Context, refusal error) (*agents.Response, error) {
	stored, err := r.g.loadContext(ctx, r.settings, r.head.SessionKey, r.head.Slot)
	if err != nil || stored.Slot == nil {
		return nil, refusal
	}
	tokens := r.asked.Tokens
	if r.settings.Compaction.Enabled && r.compact(ctx, stored, tokens/2) {
		if stored, err = r.g.loadContext(ctx, r.settings, r.head.SessionKey, r.head.Slot); err != nil {
			return nil, refusal
		}
	}
	for _, part := range shorterParts {
		out, err := r.build(stored, int(part*float64(tokens)))
		if errors.Is(err, window.ErrTooLarge) {
			continue
		}
		if err != nil || out.Tokens >= tokens {
			break
		}
		request, refused := r.ask(ctx, stored, out)
		if refused != nil {
			break
		}
		r.g.log.Warn("the provider's window is full; asked again in a shorter context", "agent", r.agent.ID, "inbound", r.head.ID,
			"code", r.code(), "tokens", tokens, "now", out.Tokens)
		r.preview.emit(agents.Event{Restart: true})
		return r.respondOrRetry(ctx, request)
	}
	return nil, refusal
}

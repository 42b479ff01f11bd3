package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/lane"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// maxAttempts is how many process deaths or lost leases a message may go through
// before it is set aside.
const maxAttempts = 5

// errTurnTimeout is the cause of a turn's end when the agent's time is over.
var errTurnTimeout = errors.New("gateway: the agent's timeout passed")

// withTurnTimeout bounds what an agent may take; zero: it is not bounded.
func withTurnTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, errTurnTimeout)
}

var errNoAnswer = errors.New("the agent gave no answer")

// turn is one turn of a session while it runs.
type turn struct {
	g        *Gateway
	t        *store.Turn
	settings *Settings
	head     *models.Inbound
	env      *envelope
	chat     ChatSettings
	agent    Agent
	adapter  adapters.Adapter // nil for channels without one
	lang     text.Lang
	sign     *workingSign
	preview  *previewer
	unread   error // why the stored message cannot be read

	// What the context was built from, for the commit.
	added   added
	offered offer
	decided []prune.Decision
	asked   *window.Output // of the latest request
	room    int            // tokens that it may have
	// calledAt is when the model was last called: by a request, or after its tools.
	calledAt time.Time
	// unsummarised is set if the context was to be summarised and could not be.
	unsummarised    *store.SessionContext
	observedThrough int64
	tooOld          int
	turnSlot        string           // of its sender's turns; empty: none was taken
	budgets         []limit.Standing // as they were before
	model           string           // that the session chose; empty: the agent's
	cost            models.Usage     // of all requests
	inDoubt         bool             // whether it was stored
	restored        bool             // the session was archived
	imageBytes      int
}

// turn runs a claimed turn from its messages to its commit. It is the lane pool's handler.
func (g *Gateway) turn(ctx context.Context, t *store.Turn) (kept *store.Claim, err error) {
	run := &turn{g: g, t: t, settings: g.settings.Load(), head: t.Inbounds[0]}
	ctx, ended := run.open(ctx)
	state, code := "handed_back", models.ErrorCode("")
	defer func() { ended(state, code) }()
	defer run.leaveTurn(ctx)
	stored := false
	defer func() {
		if !stored {
			run.writeOff()
		}
	}()
	outcome := run.run(ctx)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, store.ErrLeaseLost), errors.Is(cause, lane.ErrShutdown):
		return nil, cause // the working sign is left to whoever runs the turn next
	case errors.Is(cause, store.ErrStopped):
		run.sign.hide()
		state = "stopped"
		return nil, cause
	}
	if outcome.handBack != nil {
		return nil, outcome.handBack
	}
	kept, err = run.commit(ctx, outcome)
	if refused(err) {
		// What the agent said cannot be stored, now or ever: asking it again is no use.
		g.log.Error("turn cannot be stored", "inbound", run.head.ID, "code", run.code(), "error", err)
		outcome = failed(models.InboundFailed, models.CodeAgentFailed, oneLine(err.Error()), text.Say(run.lang, text.AgentFailed, run.code()))
		kept, err = run.commit(ctx, outcome)
	}
	switch {
	case err == nil:
		stored, state, code = true, string(outcome.outcome.State), outcome.outcome.Code
		run.counted()
		run.warn()
	case errors.Is(err, store.ErrStopped):
		state = "stopped"
	default:
		return nil, err
	}
	run.sign.hide()
	run.tellUnsummarised(ctx)
	if kept != nil {
		run.settle(ctx)
	}
	return kept, err
}

// settle waits until what arrived last before the commit is old enough for its
// order to be known: the platform's transport may still hold back what was written
// before it. An end of ctx ends the next turn, not this one.
func (r *turn) settle(ctx context.Context) {
	if r.adapter != nil {
		_ = clock.Sleep(ctx, r.g.clock, r.adapter.Traits().OrderWindow)
	}
}

// refused reports whether a commit failed for a reason that will not pass.
func refused(err error) bool {
	switch {
	case err == nil, errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrLeaseLost), errors.Is(err, store.ErrStopped),
		errors.Is(err, lane.ErrShutdown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return true
}

// result is what a turn came to, before it is stored.
type result struct {
	outcome  store.Outcome
	messages []*models.SessionMessage
	// say is the answer or notice; kind tells which.
	say     string
	kind    models.DeliveryKind
	modelAt time.Time
	// approvals are the calls that wait for a person.
	approvals []*models.Approval
	// handBack is set instead of all else if nothing can be stored now: the turn
	// runs again later.
	handBack error
}

// run does everything up to the commit. It does not fail: what goes wrong becomes
// the turn's outcome.
func (r *turn) run(ctx context.Context) *result {
	if r.unread != nil {
		r.g.log.Error("message cannot be read", "inbound", r.head.ID, "error", r.unread)
		return failed(models.InboundDead, models.CodeAgentFailed, "the stored message cannot be read", "")
	}
	env, id := r.env, accountID{r.head.Channel, r.head.Account}
	r.adapter = r.g.adapters[id]
	r.chat, _ = r.settings.Chat(r.head.Channel, r.head.Account, env.Message.Chat.ID)
	r.lang = langOf(r.chat, env.Message)
	if r.t.Claim.Attempts > maxAttempts {
		return failed(models.InboundDead, models.CodeAgentFailed,
			fmt.Sprintf("given up: the process died or lost its lease %d times while it ran", maxAttempts),
			text.Say(r.lang, text.MessageDead, r.code()))
	}
	agent, ok := r.settings.Agents[env.AgentID]
	if !ok {
		return failed(models.InboundFailed, models.CodeAgentFailed, fmt.Sprintf("agent %q is not configured", env.AgentID),
			text.Say(r.lang, text.AgentMissing, env.AgentID, r.code()))
	}
	r.agent = agent
	timeout := agent.Timeout
	if env.Run != nil {
		r.adapter = nil // nobody waits in the chat: no sign, no stream card
		var err error
		if timeout, err = r.timeLeft(ctx); err != nil {
			return &result{handBack: err}
		}
	}
	bounded, cancel := withTurnTimeout(ctx, timeout)
	defer cancel()
	if no := r.mayRun(bounded, timeout); no != nil {
		return no
	}
	r.sign = r.showWorking(ctx)
	return r.answer(bounded)
}

// answer asks the agent and turns what comes of it into a result.
func (r *turn) answer(ctx context.Context) *result {
	request, refused := r.request(ctx)
	if refused != nil {
		return refused
	}
	r.preview = r.newPreviewer(ctx)
	response, err := r.respondOrRetry(ctx, request)
	if err != nil && agents.KindOf(err) == agents.Overflow && ctx.Err() == nil {
		response, err = r.shorter(ctx, err)
	}
	r.preview.stop()
	if err != nil {
		return r.agentFailed(ctx, err)
	}
	for _, m := range response.Messages {
		clean(m)
	}
	if r.settings.Words.answering(response.Messages) {
		r.g.metrics.Refused("word_out")
		return failed(models.InboundFailed, models.CodeForbidden, "the answer holds a word that is not allowed here", text.Say(r.lang, text.AnswerRefused))
	}
	final := response.Final()
	say := final.Content
	switch {
	case r.env.Run != nil:
		say = audible(say)
	case strings.TrimSpace(say) == "":
		say = text.Say(r.lang, text.EmptyAnswer)
	}
	now := r.g.now()
	for _, m := range response.Messages {
		m.ID, m.CreatedAt = models.NewMessageID(now), now
		if m.TokenCount == 0 {
			m.TokenCount = tokens.Message(m, r.g.counter.AtLeast)
		}
	}
	final.ContextTokens = response.ContextTokens
	calls := final.ToolCalls
	if calls == nil {
		calls = []models.ToolCall{}
	}
	return r.withApprovals(&result{
		outcome: store.Outcome{
			State: models.InboundDone, FinishReason: response.FinishReason,
			Reply: &models.Reply{MessageID: final.ID, Role: models.RoleAssistant, Content: say, ToolCalls: calls, Usage: response.Usage},
		},
		messages: slices.Concat(r.added.all(), response.Messages),
		say:      say, kind: r.answerKind(), modelAt: r.calledAt,
	}, response.Held)
}

// respond calls the agent; a panic in it is a failure of the agent.
func (r *turn) respond(ctx context.Context, request *agents.Request) (response *agents.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.g.log.Error("agent panicked", "agent", r.agent.ID, "inbound", r.head.ID, "panic", panics.Value(v))
			err = &agents.Error{Kind: agents.Permanent, Err: fmt.Errorf("agent %s panicked", r.agent.ID)}
		}
	}()
	r.g.hub.Emit(r.head.ID, agents.Event{Restart: true}) // an earlier attempt may have shown something
	r.g.crash(CrashInModelCall)
	shown := r.settings.Words.show(func(e agents.Event) {
		r.g.hub.Emit(r.head.ID, e)
		r.preview.emit(e)
	})
	var heard strings.Builder
	r.calledAt = r.g.now()
	response, err = r.agent.Agent.Respond(ctx, request, func(e agents.Event) {
		if e.Delta == "" { // a tool has ended, or a try: the model is called again
			r.calledAt = r.g.now()
		}
		heard.WriteString(e.Delta)
		shown.event(e)
	})
	r.cost = r.cost.Add(costOf(response, err, heard.String(), r.asked.Tokens))
	if err == nil && (response == nil || len(response.Messages) == 0) {
		err = &agents.Error{Kind: agents.Permanent, Err: errNoAnswer}
	}
	if err == nil {
		shown.end()
	}
	return response, err
}

// agentFailed gives the chat one short text and the log the cause.
func (r *turn) agentFailed(ctx context.Context, err error) *result {
	kind := agents.KindOf(err)
	if errors.Is(context.Cause(ctx), errTurnTimeout) {
		kind = agents.Timeout
	}
	if context.Cause(ctx) == nil || kind == agents.Timeout {
		r.g.log.Warn("agent failed", "agent", r.agent.ID, "inbound", r.head.ID, "code", r.code(), "kind", kind, "error", err)
	}
	say, code := text.AgentFailed, models.CodeAgentFailed
	switch kind {
	case agents.Timeout:
		say, code = text.AgentTimeout, models.CodeAgentTimeout
	case agents.Transient:
		say = text.AgentBusy
	case agents.Overflow:
		why, say := "the message does not fit the model's window", text.TooLarge
		if r.saidBefore() {
			why, say = "the conversation does not fit the model's window, even shortened", text.ContextFull
		}
		return failed(models.InboundFailed, models.CodeTooLarge, why, text.Say(r.lang, say))
	case agents.Permanent, agents.Auth:
	}
	return failed(models.InboundFailed, code, oneLine(err.Error()), text.Say(r.lang, say, r.code()))
}

func failed(state models.InboundState, code models.ErrorCode, why, say string) *result {
	return &result{outcome: store.Outcome{State: state, Code: code, Error: why}, say: say, kind: models.DeliveryNotice}
}

// code is the short code by which a user's complaint is found in the log.
func (r *turn) code() string {
	id := r.head.ID
	return "E-" + id[max(0, len(id)-6):]
}

// commit stores the turn and sets its deliveries going.
func (r *turn) commit(ctx context.Context, res *result) (*store.Claim, error) {
	g := r.g
	now := g.now()
	if r.restored && res.outcome.Reply != nil {
		res.outcome.Reply.Notices = append(res.outcome.Reply.Notices, text.Say(r.lang, text.SessionRestored))
	}
	request := &store.TurnCommit{
		Claim: r.t.Claim, Session: r.env.session(r.head), Inbounds: r.t.Inbounds, Outcome: res.outcome,
		Slot: models.DefaultSlot, Messages: res.messages, Deliveries: r.outgoing(res),
		ClosePreviews: r.mayHaveCard(),
		Keep:          g.pool.Keep(), UserAt: r.head.ReceivedAt, ModelAt: res.modelAt, Now: now,
	}
	if chat, background := r.remembers(); chat != nil && len(request.Deliveries) > 0 {
		request.Remember = chat
		if background {
			if err := asBackground(request.Deliveries); err != nil {
				return nil, err
			}
		}
	}
	r.warnCaller(res.outcome.Reply)
	r.account(request, res)
	request.Approvals = res.approvals
	if res.outcome.State == models.InboundDone {
		request.Slot, request.ObservedThrough = r.head.Slot, r.observedThrough
		request.Forms = frozen(r.decided)
		r.shown(request)
	}
	sender := len(request.Deliveries) > 0 && !r.env.Pulled && g.sender(r.head.Channel, r.head.Account) != nil && g.outbox.reserve()
	if sender {
		claim := g.outbox.claimRequest()
		request.ClaimTarget = &claim
	}
	g.crash(CrashBeforeTurn)
	claimedAt := g.now()
	committed, err := r.store(ctx, request)
	if err != nil {
		if sender {
			g.outbox.unreserve()
		}
		return nil, err
	}
	g.crash(CrashAfterTurn)
	g.announceQueued(request.Deliveries)
	switch {
	case sender && committed.Target != nil:
		g.outbox.start(*committed.Target, claimedAt, committed.First)
	case sender:
		g.outbox.unreserve()
		g.outbox.nudge()
	case len(request.Deliveries) > 0, request.ClosePreviews:
		g.outbox.nudge()
	}
	for _, in := range r.t.Inbounds {
		done := *in
		done.State, done.FinishedAt = res.outcome.State, &now
		done.Code = res.outcome.Code
		g.finished(&done)
	}
	return committed.Kept, nil
}

// remembers is the session that the delivered answer becomes part of, and whether as
// its background: what a task says in a chat.
func (r *turn) remembers() (chat *models.Session, background bool) {
	switch {
	case r.env.Run != nil:
		return r.env.Run.Chat, r.env.Run.Background
	case r.env.Decided != nil:
		return r.env.Decided.Chat, r.env.Decided.Background
	}
	return nil, false
}

// mayHaveCard reports whether an earlier attempt may have left a stream card open that
// this one has not looked for: it ended too early, or here is no such platform.
func (r *turn) mayHaveCard() bool {
	switch {
	case r.unread != nil:
		return true
	case r.env.Pulled || r.env.Run != nil || r.preview.lookedUp():
		return false
	}
	return r.adapter == nil || r.adapter.Traits().Streams
}

// store commits, and again while the database is away and the lease is not lost.
func (r *turn) store(ctx context.Context, request *store.TurnCommit) (*store.TurnCommitted, error) {
	ctx, span := tracing.Child(ctx, "commit")
	defer span.End()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.g.cfg.Lease)
		committed, err := r.g.store.CommitTurn(bounded, request)
		cancel()
		r.inDoubt = errors.Is(err, store.ErrUnavailable)
		if !r.inDoubt {
			return committed, err
		}
		if clock.Sleep(ctx, r.g.clock, pause) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// outgoing is what the turn has to say, its stream card finished by the first piece.
func (r *turn) outgoing(res *result) []*models.Delivery {
	var out []*models.Delivery
	if res.kind == models.DeliveryNotice {
		out = r.g.notices(r.head, r.env, res.say)
	} else {
		out = append(r.g.deliveries(r.head, r.env, res.say, res.kind), r.asks(res.approvals)...)
		if r.tooOld > 0 {
			out = append(out, r.g.notices(r.head, r.env, text.Say(r.lang, text.SomeWereTooOld, r.tooOld))...)
		}
	}
	if r.restored {
		out = append(out, r.g.notices(r.head, r.env, text.Say(r.lang, text.SessionRestored))...)
	}
	if id := r.preview.opened(); id != "" && len(out) > 0 {
		out[0].Preview = id
	}
	return out
}

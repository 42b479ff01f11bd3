package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// ErrUnknownAccount means that no such account, or its agent, is configured.
var ErrUnknownAccount = errors.New("gateway: unknown account or agent")

// Incoming is a message to be accepted.
type Incoming struct {
	// ID is the inbound id to give it; empty: a new one. A caller that wants to see
	// the answer from its first word makes the id, watches it, then accepts.
	ID      string
	Channel string
	Account string
	Message *adapters.Message
	// AgentID and Key are given by callers that know them (API, terminal, tasks);
	// else they follow from the account's settings.
	AgentID string
	Key     *key.Key
	// Scope and ScopeID are what a caller of the API chose; see [key.DeriveAPI].
	Scope   models.Scope
	ScopeID string
	// Slot is the context slot that the caller chose; empty: the current one.
	Slot string
	// Awaited is set if somebody waits for this message's own answer.
	Awaited bool
	// Pulled is set if the answer is fetched, not sent.
	Pulled bool
	// RunAgain and RejectWhenFull: see [store.AcceptRequest].
	RunAgain       bool
	RejectWhenFull bool
	// Verbatim keeps the text from being read as a command.
	Verbatim bool
	// Pressed is set if the message is a pressed button, which nothing can reply to.
	Pressed bool
	// Operator names the operator where the message is the operator's: whom access is
	// given to, and how old a message may be, is none of its business.
	Operator string
}

// aliasTries bounds how often a message is accepted again because another one of its
// thread was first to name it. The second try finds the name.
const aliasTries = 3

// Accept stores a message and sets its turn going. It returns after the commit;
// the caller acknowledges to its platform then, and only then.
func (g *Gateway) Accept(ctx context.Context, in *Incoming) (*store.Accepted, error) {
	began := g.now()
	ctx, span := g.tracer.Start(ctx, "accept")
	defer span.End()
	accepted, err := g.accept(ctx, in)
	for try := 1; try < aliasTries && errors.Is(err, store.ErrAliasTaken); try++ {
		accepted, err = g.accept(ctx, in)
	}
	kind := acceptedKind(accepted, err)
	g.metrics.Accepted(in.Channel, kind, g.now().Sub(began))
	span.Note(spanChannel, in.Channel)
	span.Note(spanAccount, in.Account)
	span.Note(spanKind, kind)
	if err != nil {
		span.Fail(kind)
		return nil, fmt.Errorf("accept: %w", err)
	}
	noteMessage(span, accepted.Inbound)
	return accepted, nil
}

// acceptedKind is what the metrics call the outcome of accepting a message.
func acceptedKind(accepted *store.Accepted, err error) string {
	switch {
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "failed"
	case err != nil, accepted.Limited:
		return "refused"
	case accepted.Duplicate || accepted.Inbound == nil:
		return "duplicate"
	}
	return string(accepted.Inbound.Kind)
}

func (g *Gateway) accept(ctx context.Context, in *Incoming) (*store.Accepted, error) {
	s := g.settings.Load()
	chat, ok := s.Chat(in.Channel, in.Account, in.Message.Chat.ID)
	if !ok && (in.Operator == "" || in.Channel != key.ChannelTask) { // what runs nowhere has no settings
		return nil, fmt.Errorf("%w: %s/%s", ErrUnknownAccount, in.Channel, in.Account)
	}
	a := &acceptance{g: g, in: in, settings: s, chat: chat, now: g.now()}
	request, err := a.request(ctx)
	if err != nil {
		return nil, err
	}
	g.crash(CrashBeforeAccept)
	reserved := a.kind == models.KindMessage && request.Delay == 0 && g.pool.Reserve()
	if reserved || a.kind == models.KindCommand {
		claim := g.pool.ClaimRequest()
		request.Claim = &claim
	}
	claimedAt := g.now()
	accepted, err := g.store.Accept(ctx, request)
	if err != nil {
		if reserved {
			g.pool.Unreserve()
		}
		return nil, err
	}
	g.crash(CrashAfterAccept)
	g.announceAccepted(accepted)
	a.follow(accepted, reserved, claimedAt)
	return accepted, nil
}

// acceptance is one message on its way into the store.
type acceptance struct {
	g        *Gateway
	in       *Incoming
	settings *Settings
	chat     ChatSettings
	now      time.Time
	kind     models.InboundKind
	delay    time.Duration
	routed   *key.Key // the session that a decision goes to; nil: its sender's own
	refusal  text.ID  // what the sender of a refused message is told; empty: nothing
	verdict  access.Verdict
	dropped  []*models.Delivery // notices of the messages that this one replaced
}

// request settles everything about the message: kind, session, target, order.
func (a *acceptance) request(ctx context.Context) (*store.AcceptRequest, error) {
	m := a.in.Message
	env := envelope{
		Message: m, AgentID: a.in.AgentID, Pulled: a.in.Pulled, Slot: a.in.Slot, Pressed: a.in.Pressed, Operator: a.in.Operator,
	}
	env.Trace = tracing.Carried(ctx)
	if env.AgentID == "" {
		env.AgentID = a.chat.Agent
	}
	users := append([]string{m.Sender.ID}, m.Sender.AltIDs...)
	env.Admin = a.in.Operator != "" || a.chat.Access.IsAdmin(users...)
	if err := a.judge(ctx, &env, users); err != nil {
		return nil, err
	}

	aliases, err := a.resolveThread(ctx)
	if err != nil {
		return nil, err
	}
	row := models.Inbound{
		ID: a.in.ID, Channel: a.in.Channel, Account: a.in.Account,
		PlatformMessageID: m.ID, SenderID: m.Sender.ID, Slot: a.in.Slot, Awaited: a.in.Awaited,
		ReceivedAt: a.now, Kind: models.KindMessage,
	}
	if row.ID == "" {
		row.ID = models.NewID("inb")
	}
	refusedWord := false
	if a.verdict == access.Allowed && a.in.Operator == "" {
		env.Message, refusedWord = a.settings.Words.incoming(m)
	}
	a.classify(&row, &env, refusedWord)
	if err := a.limit(&row, &env); err != nil {
		return nil, err
	}
	a.kind = row.Kind
	k, err := a.deriveKey(&env)
	if err != nil {
		return nil, err
	}
	if err := a.routeDecision(ctx, &env, k); err != nil {
		return nil, err
	}
	if a.routed != nil {
		if k, err = a.deriveKey(&env); err != nil {
			return nil, err
		}
	}
	row.SessionKey = k.String()
	if traits := a.traits(); traits.OrderWindow > 0 {
		a.delay, row.CreatedAt = traits.OrderWindow, m.SentAt
	}
	if row.Payload, err = env.encode(); err != nil {
		return nil, err
	}
	fingerprint := sha256.Sum256([]byte(m.Text))
	return &store.AcceptRequest{
		Inbound: row, DedupKeys: a.dedupKeys(row.SessionKey), Fingerprint: fingerprint[:],
		RunAgain: a.in.RunAgain, Delay: a.delay, Aliases: aliases,
		Cap: a.settings.Queue.Cap, Reject: a.in.RejectWhenFull, Rate: a.rate(&env),
		Interrupt: a.settings.Queue.Mode == Interrupt && a.kind == models.KindMessage, Same: samePlace,
		Notice: a.overflowNotice,
	}, nil
}

// judge decides whether the sender may use the bot here. Bots may not, whoever they are.
func (a *acceptance) judge(ctx context.Context, env *envelope, users []string) (err error) {
	m := a.in.Message
	a.verdict = access.Allowed
	if a.in.Operator != "" || m.Sender.IsBot {
		return nil
	}
	a.verdict, err = a.g.admit(ctx, a.chat.Access, a.in.Channel, a.in.Account, env.direct(), m.Chat.ID, users)
	return err
}

// classify decides what the message asks for.
func (a *acceptance) classify(row *models.Inbound, env *envelope, refusedWord bool) {
	m := a.in.Message
	refuse := func(why string) {
		row.Kind, row.Code, row.Error = models.KindIgnored, models.CodeForbidden, why
	}
	switch {
	case a.in.Operator != "":
	case a.verdict != access.Allowed:
		refuse("the sender may not use this bot")
		env.Message = bare(m)
		return
	case m.Sender.IsBot:
		refuse("the sender is a bot")
		env.Message = bare(m)
		return
	case refusedWord:
		refuse(wordRefused)
		env.Message = bare(m)
		if env.direct() || m.Mentioned {
			a.refusal = text.WordRefused
		}
		return
	case !env.direct() && a.chat.RequireMention && !m.Mentioned:
		if a.chat.Observe {
			row.Kind = models.KindObserved
			return
		}
		refuse("talk that is not addressed to the bot is not kept here")
		env.Message = bare(m)
		return
	case a.tooOld():
		row.Kind, env.TooOld = models.KindObserved, true
		return
	case m.Unsupported:
		refuse("the message holds nothing that can be read")
		if env.direct() {
			a.refusal = text.Unsupported
		}
		return
	}
	if a.in.Verbatim {
		return
	}
	if cmd, ok := command.Parse(env.Message.Text); ok {
		row.Kind, env.Command = models.KindCommand, &cmd
	}
}

// limit keeps to what one message may hold. A caller is told; a platform would only
// send the message again, so there its sender is, and the beginning of it is stored.
func (a *acceptance) limit(row *models.Inbound, env *envelope) error {
	limit, n := a.settings.inboundBytes(), len(env.Message.Text)
	if n <= limit {
		if env.fits() {
			return nil
		}
		short := *env.Message
		short.Raw, env.Message = nil, &short
		if env.fits() {
			return nil
		}
	}
	why := fmt.Sprintf("a message of %d bytes, at most %d are allowed", n, limit)
	if a.in.Pulled {
		return fmt.Errorf("%w: %s", store.ErrTooLarge, why)
	}
	short := *env.Message
	short.Text, short.Raw = strings.ToValidUTF8(short.Text[:min(n, limit, maxEscaped)], ""), nil
	env.Message = &short
	if row.Kind == models.KindMessage || row.Kind == models.KindCommand {
		row.Kind, row.Code, row.Error = models.KindIgnored, models.CodeTooLarge, why
		env.Command, a.refusal = nil, text.TooLarge
	}
	return nil
}

func (a *acceptance) tooOld() bool {
	limit, sent := a.settings.MaxInboundAge, a.in.Message.SentAt
	return limit > 0 && !sent.IsZero() && a.now.Sub(sent) > limit
}

func (a *acceptance) deriveKey(env *envelope) (key.Key, error) {
	m := a.in.Message
	r := key.Request{
		AgentID: env.AgentID, Channel: a.in.Channel, Account: a.in.Account,
		Direct: env.direct(), ChatID: m.Chat.ID, UserID: m.Sender.ID, ThreadID: m.Chat.ThreadID,
		Scopes: a.chat.Scopes, IsolateMembers: a.chat.IsolateMembers, Identities: a.settings.Identities,
	}
	k := a.in.Key
	if a.routed != nil {
		k = a.routed
	}
	if k == nil {
		derived, err := key.DeriveAPI(key.APIRequest{
			Request: r, Scope: a.in.Scope, ScopeID: a.in.ScopeID, AllowScopes: a.chat.AllowScopes,
		})
		if err != nil {
			return key.Key{}, err
		}
		k = &derived
	}
	env.belongTo(*k)
	if a.kind == models.KindObserved {
		return k.Background(), nil // what is observed belongs to the chat, not to a member
	}
	return *k, nil
}

// resolveThread gives the thread the name that its first message got, and returns
// all names it is known by: a later message may know it by another one alone.
func (a *acceptance) resolveThread(ctx context.Context) ([]store.ThreadAlias, error) {
	chat := &a.in.Message.Chat
	if chat.ThreadID == "" || a.in.Pulled {
		return nil, nil // a caller's threads have one name
	}
	names := append([]string{chat.ThreadID}, chat.ThreadAliases...)
	thread, err := a.g.store.ResolveThread(ctx, a.in.Channel, a.in.Account, names)
	if err != nil {
		return nil, err
	}
	if thread != "" {
		chat.ThreadID = thread
	}
	slices.Sort(names)
	var aliases []store.ThreadAlias
	for _, name := range slices.Compact(names) {
		aliases = append(aliases, store.ThreadAlias{Channel: a.in.Channel, Account: a.in.Account, Alias: name, Thread: chat.ThreadID})
	}
	return aliases, nil
}

func (a *acceptance) traits() adapters.Traits {
	if adapter := a.g.adapters[accountID{a.in.Channel, a.in.Account}]; adapter != nil {
		return adapter.Traits()
	}
	return adapters.Traits{}
}

// dedupKeys name the message for as long as its platform may send it again. Ids of
// callers (API, terminal, tasks) are theirs to choose: they count per session.
func (a *acceptance) dedupKeys(sessionKey string) []string {
	m := a.in.Message
	if m.ID == "" {
		return nil
	}
	if a.in.Pulled {
		return []string{MessageKey(a.in.Channel, a.in.Account, m.ID) + "\x00" + sessionKey}
	}
	keys := []string{MessageKey(a.in.Channel, a.in.Account, m.ID)}
	if m.EventID != "" {
		keys = append(keys, "event\x00"+a.in.Channel+"\x00"+a.in.Account+"\x00"+m.EventID)
	}
	return keys
}

// MessageKey is the deduplication key of a platform's message.
func MessageKey(channel, account, messageID string) string {
	return "message\x00" + channel + "\x00" + account + "\x00" + messageID
}

// overflowNotice tells each place whose messages were dropped how many they were.
func (a *acceptance) overflowNotice(superseded []*models.Inbound) []*models.Delivery {
	var out []*models.Delivery
	defer func() { a.dropped = out }()
	for len(superseded) > 0 {
		first, rest := superseded[0], superseded[:0:0]
		dropped := 1
		for _, in := range superseded[1:] {
			if sameChat(first, in) {
				dropped++
			} else {
				rest = append(rest, in)
			}
		}
		superseded = rest
		env, err := decodeEnvelope(first)
		if err != nil {
			a.g.log.Error("dropped message cannot be read", "inbound", first.ID, "error", err)
			continue
		}
		chat, _ := a.settings.Chat(first.Channel, first.Account, env.Message.Chat.ID)
		say := text.Say(langOf(chat, env.Message), text.QueueOverflow, dropped)
		out = append(out, a.g.notices(first, env, say)...)
	}
	return out
}

// follow sets going what an accepted message asks for.
func (a *acceptance) follow(accepted *store.Accepted, reserved bool, claimedAt time.Time) {
	g := a.g
	g.ended(accepted.Superseded)
	if in := accepted.Inbound; in != nil && !accepted.Duplicate && !in.State.Final() {
		g.hub.Reopened(in.ID) // it may be an earlier message that runs again
	}
	if accepted.Claim != nil && reserved {
		g.pool.Start(*accepted.Claim, claimedAt, &store.Turn{Claim: *accepted.Claim, Inbounds: []*models.Inbound{accepted.Inbound}})
		return
	}
	if reserved {
		g.pool.Unreserve()
	}
	in := accepted.Inbound
	switch {
	case in == nil:
	case accepted.Limited:
		a.tellLimited(in)
	case accepted.Duplicate && !in.State.Final():
		g.hub.Reopened(in.ID) // it may run again: an earlier outcome does not count
		g.pool.Nudge()
	case accepted.Duplicate:
	case in.Kind == models.KindIgnored && a.verdict != access.Allowed:
		a.tellStranger(in)
	case in.Kind == models.KindIgnored && a.refusal != "":
		a.sayRefused(in)
	case in.Kind == models.KindMessage:
		g.pool.NudgeAfter(a.delay)
	case in.Kind == models.KindCommand:
		g.startCommand(in)
	}
	if len(accepted.Superseded) > 0 {
		g.queued(a.dropped)
	}
}

// sayRefused answers a message that was refused with one polite line.
func (a *acceptance) sayRefused(in *models.Inbound) {
	env := &envelope{Message: a.in.Message, Pulled: a.in.Pulled}
	notices := a.g.notices(in, env, text.Say(langOf(a.chat, a.in.Message), a.refusal))
	a.g.background.start(func(ctx context.Context) {
		if len(notices) == 0 {
			return
		}
		if _, err := a.g.store.Enqueue(ctx, notices, store.Once{Key: "refused\x00" + in.ID}, nil); err != nil {
			a.g.log.Warn("notice could not be stored", "inbound", in.ID, "error", err)
		}
		a.g.queued(notices)
	})
}

// ended tells everybody here that messages have got their outcome from outside
// their turn.
func (g *Gateway) ended(messages []*models.Inbound) {
	ids := make([]string, len(messages))
	for i, in := range messages {
		ids[i] = in.ID
		g.finished(in)
	}
	g.pool.Stop(ids...)
}

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
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// enrichTimeout bounds what the platform is asked about a message.
	enrichTimeout = 10 * time.Second
	// answerReserve is kept free for the answer of an agent without maxTokens.
	answerReserve = 4096
)

// request reads the session and builds what the agent is asked, or returns why
// the turn ends before.
func (r *turn) request(ctx context.Context) (*agents.Request, *result) {
	stored, err := r.g.loadContext(ctx, r.settings, r.head.SessionKey, r.head.Slot)
	if err != nil {
		return nil, r.unreadable(ctx, err)
	}
	r.restored = r.env.Run == nil && stored.Session != nil && stored.Session.State == models.SessionArchived
	if refused := r.checkSlot(stored); refused != nil {
		return nil, refused
	}
	seed, err := r.seed(ctx, stored)
	if err != nil {
		return nil, r.unreadable(ctx, err)
	}
	observed, err := r.observed(ctx, stored.ObservedSeq)
	if err != nil {
		return nil, r.unreadable(ctx, err)
	}
	users, err := r.userMessages(ctx)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return nil, r.unreadable(ctx, err)
	case errors.Is(err, ErrWordRefused):
		return nil, failed(models.InboundIgnored, models.CodeForbidden, wordRefused, text.Say(r.lang, text.WordRefused))
	case err != nil:
		return nil, failed(models.InboundFailed, models.CodeAgentFailed, oneLine(err.Error()), text.Say(r.lang, text.AgentFailed, r.code()))
	}
	r.added = added{seed: seed, observed: observed, users: users}
	r.offered = r.g.offer(ctx, &r.agent, stored.Slot)
	if len(r.offered.left) > 0 {
		r.g.log.Warn("tools are left out: what describes them is more than the context has room for",
			"agent", r.agent.ID, "inbound", r.head.ID, "tools", r.offered.left)
	}
	out, err := r.build(stored, 0)
	if err == nil && r.compactFirst(ctx, stored, out) {
		if stored, err = r.g.loadContext(ctx, r.settings, r.head.SessionKey, r.head.Slot); err != nil {
			return nil, r.unreadable(ctx, err)
		}
		out, err = r.build(stored, 0)
	}
	if errors.Is(err, window.ErrTooLarge) {
		return nil, failed(models.InboundFailed, models.CodeTooLarge, oneLine(err.Error()), text.Say(r.lang, text.TooLarge))
	}
	if err != nil {
		return nil, failed(models.InboundFailed, models.CodeAgentFailed, oneLine(err.Error()), text.Say(r.lang, text.AgentFailed, r.code()))
	}
	return r.ask(ctx, stored, out)
}

// added is what a turn adds to its session before the answer, oldest first.
type added struct{ seed, observed, users []*models.SessionMessage }

func (a added) all() []*models.SessionMessage { return slices.Concat(a.seed, a.observed, a.users) }

// build makes the turn's context of what is stored and what the turn adds, in at most
// so many tokens; zero: as the settings say.
func (r *turn) build(stored *store.SessionContext, most int) (*window.Output, error) {
	in := r.g.windowInput(r.settings, &r.agent, r.chat, stored, r.env)
	in.History = append(in.History, r.added.seed...)
	in.Observed, in.Limits.Tools = r.added.observed, r.offered.tokens
	if most > 0 {
		in = in.Anew()
		in.Limits.MaxTokens = most
	}
	out, users, err := r.fit(in, r.added.users)
	r.added.users, r.room = users, in.Room()
	return out, err
}

// ask is the request for an answer to what a context holds.
func (r *turn) ask(ctx context.Context, stored *store.SessionContext, out *window.Output) (_ *agents.Request, refused *result) {
	r.asked, r.decided = out, out.Decisions
	m := r.env.Message
	request := &agents.Request{
		InboundID: r.head.ID, SessionKey: r.head.SessionKey, Slot: r.head.Slot, AgentID: r.agent.ID,
		Channel: r.head.Channel, Account: r.head.Account,
		Chat:   agents.Chat{ID: m.Chat.ID, Type: string(m.Chat.Type), Name: m.Chat.Name, ThreadID: m.Chat.ThreadID},
		Sender: agents.Sender{ID: m.Sender.ID, Name: m.Sender.Name},
		Text:   ownWords(r.added.users), Messages: out.Models(), Tools: r.offered.tools, Stream: true, MaxTokens: r.agent.MaxTokens,
		Window: r.room,
	}
	request.Keep = r.keepResult
	var err error
	if request.Decided, err = r.decidedCall(ctx); err != nil {
		return nil, r.unreadable(ctx, err)
	}
	request.Variables = stored.Variables
	if stored.Session != nil {
		request.Model = stored.Session.Model
		r.model = stored.Session.Model
	}
	return request, nil
}

// fit builds the context. Messages that were to be answered together and are too much
// for it are answered in several turns: the last of them wait again.
func (r *turn) fit(in window.Input, users []*models.SessionMessage) (*window.Output, []*models.SessionMessage, error) {
	for {
		last := len(users) - 1
		in.Earlier, in.User = users[:last], users[last]
		out, err := window.Build(in)
		if !errors.Is(err, window.ErrTooLarge) || len(r.t.Inbounds) == 1 {
			return out, users, err
		}
		r.t.Inbounds, users = r.t.Inbounds[:len(r.t.Inbounds)-1], users[:last]
	}
}

// unreadable ends a turn whose session could not be read. While the database is away
// it is handed back, to run again once it answers.
func (r *turn) unreadable(ctx context.Context, err error) *result {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTurnTimeout):
		return failed(models.InboundFailed, models.CodeAgentTimeout, oneLine(err.Error()), text.Say(r.lang, text.AgentTimeout, r.code()))
	case cause != nil, errors.Is(err, store.ErrUnavailable):
		return &result{handBack: err}
	}
	r.g.log.Error("session cannot be read", "inbound", r.head.ID, "code", r.code(), "error", err)
	return failed(models.InboundFailed, models.CodeAgentFailed, oneLine(err.Error()), text.Say(r.lang, text.AgentFailed, r.code()))
}

func (r *turn) checkSlot(stored *store.SessionContext) *result {
	switch {
	case stored.Slot == nil && r.g.staticSlot(r.head.SessionKey, r.head.Slot) != nil: // the session begins with it
		return r.readonly()
	case stored.Slot == nil && r.head.Slot != models.DefaultSlot:
		return failed(models.InboundFailed, models.CodeSlotNotFound, fmt.Sprintf("the session has no slot %q", r.head.Slot),
			text.Say(r.lang, text.SlotMissing, r.head.Slot))
	case stored.Slot != nil && stored.Slot.Mode == models.SlotReadonly:
		return r.readonly()
	}
	return nil
}

func (r *turn) readonly() *result {
	return failed(models.InboundFailed, models.CodeSlotReadonly, fmt.Sprintf("the slot %q is read-only", r.head.Slot),
		text.Say(r.lang, text.SlotReadonly, r.head.Slot))
}

// windowInput is the part of a context that comes from stored state and settings.
func (g *Gateway) windowInput(s *Settings, agent *Agent, chat ChatSettings, stored *store.SessionContext, env *envelope) window.Input {
	prompt := agent.SystemPrompt
	if chat.SystemPrompt != "" {
		prompt = chat.SystemPrompt
	}
	in := window.Input{
		History: stored.Messages,
		Pruning: s.Pruning, Forms: formsOf(stored), Cold: g.cold(s, stored), Start: startOf(stored),
		Limits: window.Limits{MaxMessages: s.MaxMessages, MaxTokens: s.MaxTokens, Window: agent.ContextWindow, Answer: answerRoom(agent)},
	}
	if session := stored.Session; session != nil {
		if session.SystemPrompt != "" {
			prompt = session.SystemPrompt
		}
	}
	if slot := stored.Slot; slot != nil {
		in.Budget = slot.Budget
		if slot.Mode == models.SlotFocused {
			in.Focus = slot.Focused
		}
	}
	in.Summary = optionalMessages(stored)
	values := window.Values{Now: g.promptTime(s), Variables: stored.Variables}
	if env != nil {
		in.Named = env.Shared
		values.ChatName, values.SenderName = env.Message.Chat.Name, env.Message.Sender.Name
	}
	in.SystemPrompt = window.Template(prompt, values)
	return in
}

// optionalMessages are the notes and the summary of a context, the most needed
// last. A focused slot's own summary takes the place of the automatic one.
func optionalMessages(stored *store.SessionContext) []*models.SessionMessage {
	out := []*models.SessionMessage{notesMessage(stored.Notes)}
	if s := stored.Slot; s != nil && s.Mode == models.SlotFocused && s.Focused != nil && s.Focused.SummaryOverride != "" {
		return out
	}
	return append(out, titledSummary(stored.Summary))
}

// promptTime is what {{now}} stands for in a system prompt.
func (g *Gateway) promptTime(s *Settings) string {
	return g.now().In(s.Location).Format("2006-01-02 15:04 Monday MST")
}

// tokenLimit is what a context may hold: the smaller of the session's limit and the
// agent's window less the room for its answer.
func tokenLimit(s *Settings, agent *Agent) int {
	limit := s.MaxTokens
	if free := agent.ContextWindow - answerRoom(agent); agent.ContextWindow > 0 && (limit <= 0 || free < limit) {
		limit = free
	}
	return limit
}

// answerRoom is what an agent's window keeps free for the answer.
func answerRoom(agent *Agent) int {
	if agent.MaxTokens > 0 {
		return agent.MaxTokens
	}
	return min(answerReserve, agent.ContextWindow/8)
}

// seed returns a copy of the turn that a new thread grew out of.
func (r *turn) seed(ctx context.Context, stored *store.SessionContext) ([]*models.SessionMessage, error) {
	root := r.env.Message.Chat.ThreadOf
	if stored.Session != nil || root == "" || r.env.Scope != models.ScopeThread {
		return nil, nil
	}
	in, err := r.g.store.FindInbound(ctx, MessageKey(r.head.Channel, r.head.Account, root))
	if err == nil && in.SessionKey != r.head.SessionKey {
		var messages []*models.SessionMessage
		if messages, err = r.g.store.TurnMessages(ctx, in.ID); err == nil {
			copies := models.CloneMessages(messages)
			for _, m := range copies {
				m.ID, m.Seq = models.NewMessageID(r.g.now()), 0
			}
			return r.g.withhold(ctx, r.settings, r.head.SessionKey, copies)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return nil, err
}

// observed returns the group talk since the last turn, as messages of their own.
func (r *turn) observed(ctx context.Context, after int64) ([]*models.SessionMessage, error) {
	limit := r.settings.Observed
	if limit.MaxMessages <= 0 || r.env.Background == "" {
		return nil, nil
	}
	since := time.Time{}
	if limit.MaxAge > 0 {
		since = r.g.now().Add(-limit.MaxAge)
	}
	rows, err := r.g.store.Observed(ctx, r.env.Background, after, since, limit.MaxMessages)
	if err != nil {
		return nil, err
	}
	for _, in := range rows {
		r.observedThrough = max(r.observedThrough, in.Seq)
	}
	rows, envelopes, err := r.heardObserved(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]*models.SessionMessage, 0, len(rows))
	for i, in := range rows {
		env := envelopes[i]
		if env.TooOld {
			r.tooOld++
		}
		m := r.userMessage(in, env, env.Message.Text, nil)
		m.Observed = true
		if env.Own {
			m.Role = models.RoleAssistant
		}
		out = append(out, m)
	}
	return out, nil
}

// userMessages are the messages that the turn answers, oldest first, those that
// were interrupted before them.
func (r *turn) userMessages(ctx context.Context) ([]*models.SessionMessage, error) {
	var out []*models.SessionMessage
	rows := append(append([]*models.Inbound{}, r.t.Interrupted...), r.t.Inbounds...)
	for _, in := range rows {
		env, err := decodeEnvelope(in)
		if err != nil {
			return nil, err
		}
		if in == r.head {
			env = r.env
		}
		r.enrich(ctx, env)
		if err := r.withholdQuote(ctx, in, env.Message); err != nil {
			return nil, err
		}
		content, images := r.read(ctx, env, env.Message.Text)
		m := r.userMessage(in, env, content, images)
		if env.Run == nil && r.settings.Words.reading(m) {
			return nil, ErrWordRefused
		}
		out = append(out, m)
	}
	return out, nil
}

// ownWords is what the person wrote in the messages that are answered together.
func ownWords(users []*models.SessionMessage) string {
	texts := make([]string, len(users))
	for i, m := range users {
		texts[i] = m.Content
	}
	return strings.Join(texts, "\n")
}

func (r *turn) userMessage(in *models.Inbound, env *envelope, content string, images []string) *models.SessionMessage {
	m := &models.SessionMessage{
		ID: models.NewMessageID(r.g.now()), Slot: r.head.Slot, Role: models.RoleUser, Content: content, Images: images,
		SenderID: env.Message.Sender.ID, SenderName: env.Message.Sender.Name, SenderAltIDs: env.Message.Sender.AltIDs,
		PlatformMessageID: in.PlatformMessageID, CreatedAt: in.ReceivedAt,
	}
	if q := env.Message.Quote; q != nil && q.Text != "" {
		m.Quote = &models.Quote{Sender: q.SenderName, SenderID: q.SenderID, Text: q.Text}
	}
	clean(m)
	m.TokenCount = tokens.Message(m, r.g.counter.AtLeast)
	return m
}

// enrich asks the platform for what the message itself does not say.
func (r *turn) enrich(ctx context.Context, env *envelope) {
	e, ok := r.adapter.(adapters.Enricher)
	if !ok {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, enrichTimeout)
	defer cancel()
	if err := e.Enrich(bounded, env.Message); err != nil && ctx.Err() == nil {
		r.g.log.Info("message could not be enriched", "inbound", r.head.ID, "error", err)
	}
}

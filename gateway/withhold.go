package gateway

import (
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// author is who wrote something, and where.
type author struct {
	channel, account, chatID string
	direct                   bool
	policy                   access.Policy
	ids                      []string
}

// authorOf is whoever sent a message to a chat.
func authorOf(s *Settings, in *models.Inbound, m *adapters.Message) author {
	chat, _ := s.Chat(in.Channel, in.Account, m.Chat.ID)
	return author{
		channel: in.Channel, account: in.Account, chatID: m.Chat.ID, direct: m.Chat.Type == adapters.Direct,
		policy: chat.Access, ids: append([]string{m.Sender.ID}, m.Sender.AltIDs...),
	}
}

// heard says of authors whether they may use the bot as it is configured now, whatever
// was the case when they wrote: in one query, where approvals count at all.
func (g *Gateway) heard(ctx context.Context, authors []author) ([]bool, error) {
	out := make([]bool, len(authors))
	asked := map[models.AccessSubject][]int{}
	for i, a := range authors {
		switch a.policy.Judge(a.direct, a.chatID, a.ids...) {
		case access.Allowed:
			out[i] = true
		case access.Unknown:
			for _, s := range access.Subjects(a.channel, a.account, a.direct, a.chatID, a.ids...) {
				asked[s] = append(asked[s], i)
			}
		case access.Refused:
		}
	}
	subjects := make([]models.AccessSubject, 0, len(asked))
	for s := range asked {
		subjects = append(subjects, s)
	}
	for len(subjects) > 0 {
		n := min(len(subjects), maxSubjects)
		approved, err := g.store.Approved(ctx, subjects[:n])
		if err != nil {
			return nil, err
		}
		for _, s := range approved {
			for _, i := range asked[s] {
				out[i] = true
			}
		}
		subjects = subjects[n:]
	}
	return out, nil
}

// maxSubjects is how many subjects one query takes.
const maxSubjects = 1000

// withhold leaves out of a group's or thread's history what people said who may not use
// the bot any more, what they were answered, and what others quoted of them. What begins
// with an answer may begin with one to them.
func (g *Gateway) withhold(ctx context.Context, s *Settings, sessionKey string, messages []*models.SessionMessage) ([]*models.SessionMessage, error) {
	return g.withholdBehind(ctx, s, sessionKey, messages, fromStart(messages))
}

// fromStart reports whether nobody asked for what comes before the first user message:
// nothing of the slot is missing there.
func fromStart(messages []*models.SessionMessage) bool {
	for i, m := range messages {
		if m.Role == models.RoleUser {
			break
		}
		if m.Seq > int64(i)+1 {
			return false
		}
	}
	return true
}

// withholdBehind is withhold; answers says whether to take what comes before the first
// user message.
func (g *Gateway) withholdBehind(ctx context.Context, s *Settings, sessionKey string, messages []*models.SessionMessage, answers bool) ([]*models.SessionMessage, error) {
	k, err := key.Parse(sessionKey)
	if err != nil {
		return messages, nil //nolint:nilerr // it is no session of a chat
	}
	place, ok := k.Place()
	if !ok {
		return messages, nil
	}
	heard, err := g.heardAt(ctx, s, place, messages)
	switch {
	case err != nil:
		return nil, err
	case heard == nil:
		return messages, nil
	}
	var out []*models.SessionMessage
	next := func() (ok bool) { ok, heard = heard[0], heard[1:]; return ok }
	for _, m := range messages {
		if m.Role != models.RoleUser {
			if answers || m.Observed || m.Role == models.RoleSystem {
				out = append(out, m)
			}
			continue
		}
		answers = m.SenderID == "" || next()
		if m.Quote != nil && m.Quote.SenderID != "" && !next() {
			m = m.Clone()
			m.Quote, m.TokenCount = nil, 0
		}
		if answers {
			out = append(out, m)
		}
	}
	return out, nil
}

// heardAt is heard for the authors of messages that were written in a place; nil if all
// are heard. Where accounts of a channel share it, one of them is enough.
func (g *Gateway) heardAt(ctx context.Context, s *Settings, place key.Place, messages []*models.SessionMessage) ([]bool, error) {
	accounts := []string{place.Account}
	if place.Account == "" {
		accounts = nil
		for id := range g.adapters {
			if id.channel == place.Channel {
				accounts = append(accounts, id.account)
			}
		}
	}
	var out []bool
	for _, place.Account = range accounts {
		chat, known := s.Chat(place.Channel, place.Account, place.ChatID)
		if !known || chat.Access.Lenient() {
			return nil, nil
		}
		heard, err := g.heard(ctx, authorsOf(place, chat.Access, messages))
		if err != nil {
			return nil, err
		}
		for i, before := range out {
			heard[i] = heard[i] || before
		}
		out = heard
	}
	return out, nil
}

// HeardMessages leaves those of found messages that a model may be told of: what people said who
// may not use the bot any more is left out.
func (g *Gateway) HeardMessages(ctx context.Context, found []store.FoundMessage) ([]store.FoundMessage, error) {
	s := g.settings.Load()
	out := make([]store.FoundMessage, 0, len(found))
	for _, f := range found {
		kept, err := g.withholdBehind(ctx, s, f.SessionKey, []*models.SessionMessage{f.Message}, true)
		if err != nil {
			return nil, err
		}
		if len(kept) > 0 {
			out = append(out, f)
		}
	}
	return out, nil
}

// authorsOf are those of each message and of its quote, in order, as far as they are known.
func authorsOf(place key.Place, policy access.Policy, messages []*models.SessionMessage) (out []author) {
	for _, m := range messages {
		if m.Role != models.RoleUser {
			continue
		}
		who := author{channel: place.Channel, account: place.Account, chatID: place.ChatID, policy: policy}
		if m.SenderID != "" {
			who.ids = append([]string{m.SenderID}, m.SenderAltIDs...)
			out = append(out, who)
		}
		if m.Quote != nil && m.Quote.SenderID != "" {
			who.ids = []string{m.Quote.SenderID}
			out = append(out, who)
		}
	}
	return out
}

// heardObserved leaves those of a chat's observed messages whose authors may use the bot.
func (r *turn) heardObserved(ctx context.Context, rows []*models.Inbound) ([]*models.Inbound, []*envelope, error) {
	envelopes := make([]*envelope, 0, len(rows))
	kept := make([]*models.Inbound, 0, len(rows))
	authors := make([]author, 0, len(rows))
	for _, in := range rows {
		env, err := decodeEnvelope(in)
		if err != nil {
			r.g.log.Error("observed message cannot be read", "inbound", in.ID, "error", err)
			continue
		}
		who := authorOf(r.settings, in, env.Message)
		if env.Own { // the bot's own words
			who.policy = access.Policy{}
		}
		kept, envelopes, authors = append(kept, in), append(envelopes, env), append(authors, who)
	}
	heard, err := r.g.heard(ctx, authors)
	if err != nil {
		return nil, nil, err
	}
	n := 0
	for i := range kept {
		if !heard[i] {
			continue
		}
		if err := r.withholdQuote(ctx, kept[i], envelopes[i].Message); err != nil {
			return nil, nil, err
		}
		kept[n], envelopes[n] = kept[i], envelopes[i]
		n++
	}
	return kept[:n], envelopes[:n], nil
}

// withholdQuote takes out of a message what it quotes of somebody who may not use the
// bot, pictures and files of the quote included. Whoever it is, the inbox knows best.
func (r *turn) withholdQuote(ctx context.Context, in *models.Inbound, m *adapters.Message) error {
	q, who := m.Quote, authorOf(r.settings, in, m)
	if q == nil || q.FromBot || q.MessageID == m.ID || who.policy.Lenient() {
		return nil
	}
	who.ids = nil
	if q.MessageID != "" {
		quoted, err := r.g.store.FindInbound(ctx, MessageKey(in.Channel, in.Account, q.MessageID))
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		default:
			who.ids = []string{quoted.SenderID}
			if env, err := decodeEnvelope(quoted); err == nil {
				who = authorOf(r.settings, quoted, env.Message)
			}
		}
	}
	if q.SenderID != "" {
		who.ids = append(who.ids, q.SenderID)
	}
	if len(who.ids) == 0 && who.direct {
		return nil // there is nobody else
	}
	if len(who.ids) > 0 {
		q.SenderID = who.ids[0]
	}
	heard, err := r.g.heard(ctx, []author{who})
	if err != nil || heard[0] {
		return err
	}
	m.Quote = nil
	var own []adapters.Attachment
	for _, a := range m.Attachments {
		if !a.Quoted {
			own = append(own, a)
		}
	}
	m.Attachments = own
	return nil
}

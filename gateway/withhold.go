package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// passage is some of a session's messages, in order.
type passage struct {
	sessionKey string
	messages   []*models.SessionMessage
	// answers says whether to take what comes before the first user message.
	answers bool
}

// withhold leaves out of a group's or thread's history what people said who may not use
// the bot any more, what they were answered, and what others quoted of them. What begins
// with an answer may begin with one to them.
func (g *Gateway) withhold(ctx context.Context, s *Settings, sessionKey string, messages []*models.SessionMessage) ([]*models.SessionMessage, error) {
	kept, err := g.withholdAll(ctx, s, []passage{{sessionKey, messages, fromStart(messages)}})
	if err != nil {
		return nil, err
	}
	return kept[0], nil
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

// withholdAll is withhold for many passages, which are looked at together.
func (g *Gateway) withholdAll(ctx context.Context, s *Settings, passages []passage) ([][]*models.SessionMessage, error) {
	asked := make([][][]author, len(passages))
	var all []author
	for i, p := range passages {
		asked[i] = g.authorsOf(s, p)
		for _, authors := range asked[i] {
			all = append(all, authors...)
		}
	}
	heard, err := g.heard(ctx, all)
	if err != nil {
		return nil, err
	}
	out := make([][]*models.SessionMessage, len(passages))
	for i, p := range passages {
		if out[i] = p.messages; asked[i] == nil {
			continue
		}
		authors := make([]bool, len(asked[i][0]))
		for range asked[i] { // one of the accounts that share a place is enough
			for j := range authors {
				authors[j] = authors[j] || heard[j]
			}
			heard = heard[len(authors):]
		}
		out[i] = p.without(authors)
	}
	return out, nil
}

// without leaves out what follows from who of the authors is heard.
func (p *passage) without(heard []bool) (out []*models.SessionMessage) {
	next := func() (ok bool) { ok, heard = heard[0], heard[1:]; return ok }
	answers := p.answers
	for _, m := range p.messages {
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
	return out
}

// authorsOf are the authors of each message and of its quote, in order, as far as they
// are known: for each account that shares the place where they wrote. Nil if all are heard.
func (g *Gateway) authorsOf(s *Settings, p passage) [][]author {
	k, err := key.Parse(p.sessionKey)
	if err != nil {
		return nil // it is no session of a chat
	}
	place, ok := k.Place()
	if !ok {
		return nil
	}
	accounts := []string{place.Account}
	if place.Account == "" {
		accounts = nil
		for id := range g.adapters {
			if id.channel == place.Channel {
				accounts = append(accounts, id.account)
			}
		}
	}
	var out [][]author
	for _, place.Account = range accounts {
		chat, known := s.Chat(place.Channel, place.Account, place.ChatID)
		if !known || chat.Access.Lenient() {
			return nil
		}
		out = append(out, p.authors(place, chat.Access))
	}
	return out
}

func (p *passage) authors(place key.Place, policy access.Policy) (out []author) {
	for _, m := range p.messages {
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

// HeardMessages leaves those of found messages that a model may be told of, as a turn's
// history does. What they answer has to be found with them.
func (g *Gateway) HeardMessages(ctx context.Context, found []store.FoundMessage) ([]store.FoundMessage, error) {
	passages := make([]passage, len(found))
	for i, f := range found {
		passages[i] = passage{sessionKey: f.SessionKey, messages: []*models.SessionMessage{f.Message}, answers: f.Message.Seq == 1}
		if f.Asked != nil {
			passages[i].messages = []*models.SessionMessage{f.Asked, f.Message}
		}
	}
	kept, err := g.withholdAll(ctx, g.settings.Load(), passages)
	if err != nil {
		return nil, err
	}
	out := make([]store.FoundMessage, 0, len(found))
	for i, f := range found {
		if n := len(kept[i]); n > 0 && kept[i][n-1].Seq == f.Message.Seq {
			f.Message = kept[i][n-1]
			out = append(out, f)
		}
	}
	return out, nil
}

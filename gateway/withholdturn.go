package gateway

import (
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

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

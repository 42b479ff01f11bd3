package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
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

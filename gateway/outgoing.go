package gateway

import (
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// deliveries turns an answer to a message into what is sent, piece by piece.
// Where the answer is fetched it is one piece, delivered by being stored.
func (g *Gateway) deliveries(in *models.Inbound, env *envelope, answer string, kind models.DeliveryKind) []*models.Delivery {
	if strings.TrimSpace(answer) == "" || env.Run != nil && env.Run.Target == nil {
		return nil
	}
	now := g.now()
	proto := models.Delivery{
		InboundID: in.ID, SessionKey: in.SessionKey, Channel: in.Channel, Account: in.Account,
		Target: env.target(), State: models.DeliveryPending, Kind: kind, CreatedAt: now, Trace: env.Trace,
	}
	if env.Pulled {
		proto.State, proto.DeliveredAt = models.DeliveryDelivered, &now
		return pieces(proto, answer)
	}
	adapter := g.adapters[accountID{in.Channel, in.Account}]
	if adapter == nil {
		return pieces(proto, answer) // a replica that has the account will send it
	}
	texts := adapter.Render(adapters.Answer{Text: answer, Target: proto.Target, MentionID: g.mention(in, env), Kind: kind})
	if len(texts) == 0 { // nothing of it can be shown: whoever asked must learn that it was answered
		chat, _ := g.settings.Load().Chat(in.Channel, in.Account, env.Message.Chat.ID)
		say := text.Say(langOf(chat, env.Message), text.EmptyAnswer)
		texts = adapter.Render(adapters.Answer{Text: say, Target: proto.Target, Kind: kind})
	}
	return pieces(proto, texts...)
}

func pieces(proto models.Delivery, texts ...string) []*models.Delivery {
	out := make([]*models.Delivery, len(texts))
	for i, text := range texts {
		d := proto
		d.ID, d.Text, d.Part, d.Parts = models.NewID("dlv"), text, i+1, len(texts)
		out[i] = &d
	}
	return out
}

// mention is whom a group's answer addresses.
func (g *Gateway) mention(in *models.Inbound, env *envelope) string {
	chat, ok := g.settings.Load().Chat(in.Channel, in.Account, env.Message.Chat.ID)
	if !ok || !chat.Mention || env.direct() {
		return ""
	}
	return env.Message.Sender.ID
}

// notices are what the gateway itself has to say about a message. Whoever fetches
// the outcome learns it from there.
func (g *Gateway) notices(in *models.Inbound, env *envelope, say string) []*models.Delivery {
	if env.Pulled || env.Run != nil || in.Channel == key.ChannelTask {
		return nil
	}
	return g.deliveries(in, env, say, models.DeliveryNotice)
}

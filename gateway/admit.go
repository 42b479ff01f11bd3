package gateway

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// refusalLife is how long somebody who was refused is not told so again in a chat.
	refusalLife = 30 * 24 * time.Hour
	// codeTries bounds how often a code is drawn again because it is taken.
	codeTries = 3
)

// admit judges a person in a chat. Approvals are looked up only where the policy asks
// for one: in one query.
func (g *Gateway) admit(ctx context.Context, p access.Policy, channel, account string, direct bool, chatID string, users []string) (access.Verdict, error) {
	verdict := p.Judge(direct, chatID, users...)
	if verdict != access.Unknown {
		return verdict, nil
	}
	approved, err := g.store.Approved(ctx, access.Subjects(channel, account, direct, chatID, users...))
	if err == nil && len(approved) > 0 {
		verdict = access.Allowed
	}
	return verdict, err
}

// bare is a refused message without anything that its sender said: that is not kept.
func bare(m *adapters.Message) *adapters.Message {
	return &adapters.Message{
		ID: m.ID, EventID: m.EventID, Chat: m.Chat, Sender: m.Sender, Mentioned: m.Mentioned, SentAt: m.SentAt, Ref: m.Ref,
	}
}

// refusedKey is by what it is remembered that somebody was refused in a chat.
func refusedKey(in *models.Inbound, m *adapters.Message) string {
	return strings.Join([]string{"refused", in.Channel, in.Account, m.Chat.ID, m.Sender.ID}, "\x00")
}

// tellStranger tells a person who was refused, once per chat: how to be let in, where
// that can be asked for, else that it cannot be.
func (a *acceptance) tellStranger(in *models.Inbound) {
	m := a.in.Message
	env := &envelope{Message: bare(m), Pulled: a.in.Pulled, Pressed: a.in.Pressed}
	if a.in.Pulled || m.Sender.IsBot || !env.direct() && !m.Mentioned || a.tooOld() {
		return
	}
	g, lang, verdict := a.g, langOf(a.chat, m), a.verdict
	key := refusedKey(in, m)
	if g.told.knows(key, a.now) {
		return
	}
	g.background.start(func(ctx context.Context) {
		say := text.Say(lang, text.AccessDenied, m.Sender.ID, m.Chat.ID)
		until, once := a.now.Add(refusalLife), key
		if verdict == access.Unknown {
			request, err := g.askForAccess(ctx, in, m, lang, a.now)
			switch {
			case errors.Is(err, store.ErrQueueFull):
			case err != nil:
				g.log.Error("request for access could not be stored", "channel", in.Channel, "account", in.Account, "error", err)
				return
			case request.State != models.AccessPending:
				g.told.add(key, a.now)
				return // it was decided, and the person told
			default:
				say = text.Say(lang, text.AccessCode, request.Code)
				if !env.direct() {
					say = text.Say(lang, text.AccessCodeGroup, request.Code)
				}
				once, until = "access\x00"+request.ID, request.ExpiresAt
			}
		}
		if g.tellOnce(ctx, once, until, g.notices(in, env, say)) {
			g.told.add(key, a.now)
		}
	})
}

// askForAccess returns the request of whoever sent a message, or of the group it was
// sent to, as it was made or decided.
func (g *Gateway) askForAccess(ctx context.Context, in *models.Inbound, m *adapters.Message, lang text.Lang, now time.Time) (*models.AccessGrant, error) {
	direct := m.Chat.Type == adapters.Direct
	subjects := access.Subjects(in.Channel, in.Account, direct, m.Chat.ID, m.Sender.ID)
	request := &models.AccessGrant{
		AccessSubject: subjects[len(subjects)-1], Name: clip(m.Sender.Name), UserID: m.Sender.ID, ChatID: m.Chat.ID,
		State: models.AccessPending, Language: string(lang), RequestedAt: now, ExpiresAt: now.Add(access.Expiry),
	}
	if !direct {
		request.Name = clip(m.Chat.Name)
	}
	for try := 1; ; try++ {
		request.ID, request.Code = models.NewID("acc"), access.NewCode()
		stored, fresh, err := g.store.RequestAccess(ctx, request, access.MaxPending)
		if err == nil && fresh {
			g.log.Info("somebody asks for access", "channel", in.Channel, "account", in.Account, "kind", request.Kind, "id", request.ID)
		}
		if !errors.Is(err, store.ErrExists) || try == codeTries {
			return stored, err
		}
	}
}

// DecideAccess approves or denies the request of a code for the operator, and tells
// whoever asked. [store.ErrNotFound] if there is none, or it has expired.
func (g *Gateway) DecideAccess(ctx context.Context, code string, approve bool) (*models.AccessGrant, error) {
	state := models.AccessDenied
	if approve {
		state = models.AccessApproved
	}
	grant, err := g.store.DecideAccess(ctx, store.AccessDecision{Code: access.ReadCode(code), State: state, By: byOperator, Now: g.now()})
	if err != nil {
		return nil, err
	}
	g.tellDecided(ctx, grant)
	return grant, nil
}

// tellDecided tells whoever asked for access what became of it.
func (g *Gateway) tellDecided(ctx context.Context, grant *models.AccessGrant) {
	g.log.Info("access decided", "channel", grant.Channel, "account", grant.Account, "kind", grant.Kind, "id", grant.ID, "state", grant.State, "by", grant.DecidedBy)
	target := models.Target{ChatID: grant.ChatID}
	if grant.Kind == models.AccessUser {
		target.UserID, target.Direct = grant.UserID, true
	}
	id := text.AccessWasDenied
	if grant.State == models.AccessApproved {
		id = text.AccessGranted
	}
	say := text.Say(text.Lang(grant.Language), id)
	proto := models.Delivery{
		Channel: grant.Channel, Account: grant.Account, Target: target,
		State: models.DeliveryPending, Kind: models.DeliveryNotice, CreatedAt: g.now(),
	}
	texts := []string{say}
	if adapter := g.sender(grant.Channel, grant.Account); adapter != nil {
		texts = adapter.Render(adapters.Answer{Text: say, Target: target, Kind: models.DeliveryNotice})
	}
	g.tellOnce(ctx, "decided\x00"+grant.ID, g.now().Add(refusalLife), pieces(proto, texts...))
}

// rate bounds how often the sender of a message that asks for a turn may write; nil:
// it does not.
func (a *acceptance) rate(env *envelope) *store.Rate {
	id := a.in.Message.Sender.ID
	if a.kind != models.KindMessage || env.Admin || a.settings.Limits.Exempts(a.in.Channel, a.in.Account, id) {
		return nil
	}
	return a.settings.Limits.Rate(a.settings.person(a.in.Channel, a.in.Account, id))
}

// tellLimited tells a person, once a while, to write more slowly.
func (a *acceptance) tellLimited(in *models.Inbound) {
	g, m := a.g, a.in.Message
	g.metrics.Refused("rate")
	notices := g.notices(in, &envelope{Message: bare(m), Pulled: a.in.Pulled},
		text.Say(langOf(a.chat, m), text.RateLimited, a.settings.Limits.MessagesPerMinute))
	key := strings.Join([]string{"rate", in.Channel, in.Account, m.Chat.ID, m.Sender.ID}, "\x00")
	if len(notices) == 0 || g.told.knows(key, a.now) {
		return
	}
	g.background.start(func(ctx context.Context) {
		if g.tellOnce(ctx, key, a.now.Add(limit.Window), notices) {
			g.told.add(key, a.now)
		}
	})
}

package main

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// channelCLI is the channel of terminal sessions, and the name of its one account.
const channelCLI = key.ChannelCLI

// settingsOf translates the configuration into what the gateway goes by.
func settingsOf(cfg *config.Config, agents map[string]gateway.Agent) (gateway.Settings, error) {
	identities, err := key.NewIdentities(cfg.Identities)
	if err != nil {
		return gateway.Settings{}, fmt.Errorf("identities: %w", err)
	}
	zone, err := time.LoadLocation(cfg.Timezone)
	if err != nil {
		return gateway.Settings{}, fmt.Errorf("timezone: %w", err)
	}
	return gateway.Settings{
		Agents: agents, Chat: chatSettings(cfg), Identities: identities, Location: zone,
		StaticSlots: staticSlots(cfg),
		Queue: gateway.Queue{
			Mode: gateway.QueueMode(cfg.Session.Queue.Mode), Debounce: cfg.Session.Queue.Debounce.Std(), Cap: cfg.Session.Queue.Cap,
		},
		Observed:    gateway.Observed{MaxMessages: cfg.Session.Observed.MaxMessages, MaxAge: cfg.Session.Observed.MaxAge.Std()},
		MaxMessages: cfg.Session.MaxMessages, MaxTokens: cfg.Session.MaxTokenCount,
		MaxInboundAge: cfg.Limits.MaxInboundAge.Std(), MaxInboundBytes: int(cfg.Limits.MaxInboundBytes),
		MaxDeliveryAge: cfg.Limits.MaxDeliveryAge.Std(),
		Retention: store.Retention{
			Inbound: cfg.Retention.Inbound.Std(), Deliveries: cfg.Retention.Deliveries.Std(),
			Deduplication: cfg.Retention.Deduplication.Std(), Resets: cfg.Retention.Resets.Std(),
		},
	}, nil
}

// staticSlots are the slots that the configuration gives to every session of an agent.
func staticSlots(cfg *config.Config) map[string][]slot.Static {
	out := map[string][]slot.Static{}
	for _, s := range cfg.Session.Slots {
		messages := make([]*models.SessionMessage, len(s.Messages))
		for i, m := range s.Messages {
			messages[i] = &models.SessionMessage{Role: models.Role(m.Role), Content: m.Content}
		}
		out[s.Agent] = append(out[s.Agent], slot.NewStatic(s.ID, messages))
	}
	return out
}

// chatSettings finds what applies to a chat of an account.
func chatSettings(cfg *config.Config) func(channel, account, chatID string) (gateway.ChatSettings, bool) {
	type id struct{ channel, account string }
	accounts := map[id]func(chatID string) gateway.ChatSettings{}
	for _, f := range cfg.Channels.Feishu {
		accounts[id{config.ChannelFeishu, f.Account}] = func(chatID string) gateway.ChatSettings { return chat(f.For(chatID)) }
	}
	for _, d := range cfg.Channels.DingTalk {
		accounts[id{config.ChannelDingTalk, d.Account}] = func(chatID string) gateway.ChatSettings { return chat(d.For(chatID)) }
	}
	for _, a := range cfg.Channels.API {
		settings := gateway.ChatSettings{
			Agent: a.Agent, Scopes: scopes(a.Scope), RequireMention: true, Observe: true,
			Access: access.Policy{Direct: access.Open, Groups: access.Open},
		}
		for _, s := range a.AllowScopes {
			settings.AllowScopes = append(settings.AllowScopes, models.Scope(s))
		}
		accounts[id{config.ChannelAPI, a.Account}] = func(string) gateway.ChatSettings { return settings }
	}
	terminal := gateway.ChatSettings{Agent: cfg.Agents[0].ID, Access: access.Policy{Direct: access.Open, Admins: []string{"*"}}}
	accounts[id{channelCLI, channelCLI}] = func(string) gateway.ChatSettings { return terminal }

	return func(channel, account, chatID string) (gateway.ChatSettings, bool) {
		find, ok := accounts[id{channel, account}]
		if !ok {
			return gateway.ChatSettings{}, false
		}
		return find(chatID), true
	}
}

func chat(c config.ChatSettings) gateway.ChatSettings {
	return gateway.ChatSettings{
		Agent: c.Agent, Scopes: scopes(c.Scope), IsolateMembers: c.Group.IsolateMembers,
		RequireMention: c.Group.RequireMention, Observe: c.Group.Observe,
		Streaming: c.Reply.Streaming != config.StreamingOff, WorkingSign: c.Reply.WorkingSign, Mention: c.Reply.Mention,
		Language: string(c.Language), SystemPrompt: c.SystemPrompt,
		Access: access.Policy{
			Direct: access.Mode(c.Access.Direct), Groups: access.Mode(c.Access.Groups),
			AllowUsers: c.Access.AllowUsers, DenyUsers: c.Access.DenyUsers,
			AllowChats: c.Access.AllowChats, Admins: c.Access.Admins,
		},
	}
}

func scopes(s config.Scope) key.Scopes {
	return key.Scopes{Direct: models.Scope(s.Direct), Group: models.Scope(s.Group), Thread: models.Scope(s.Thread)}
}

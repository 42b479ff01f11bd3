package main

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/wordlist"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
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
	words, err := wordsOf(cfg)
	if err != nil {
		return gateway.Settings{}, err
	}
	zone, err := time.LoadLocation(cfg.Timezone)
	if err != nil {
		return gateway.Settings{}, fmt.Errorf("timezone: %w", err)
	}
	hooks, hookGuard, err := taskHooks(cfg)
	if err != nil {
		return gateway.Settings{}, err
	}
	roles, err := rolesOf(cfg)
	if err != nil {
		return gateway.Settings{}, err
	}
	return gateway.Settings{
		Roles: roles, ApprovalExpiry: cfg.Approvals.ExpireAfter.Std(),
		Help:   map[text.Lang]string{text.English: cfg.Commands.Help.En, text.Chinese: cfg.Commands.Help.Zh},
		Agents: agents, Chat: chatSettings(cfg), Identities: identities, Location: zone,
		StaticSlots: staticSlots(cfg), TaskHooks: hooks, CheckTaskURL: hookGuard.CheckURL,
		Queue: gateway.Queue{
			Mode: gateway.QueueMode(cfg.Session.Queue.Mode), Debounce: cfg.Session.Queue.Debounce.Std(), Cap: cfg.Session.Queue.Cap,
		},
		Observed:    gateway.Observed{MaxMessages: cfg.Session.Observed.MaxMessages, MaxAge: cfg.Session.Observed.MaxAge.Std()},
		MaxMessages: cfg.Session.MaxMessages, MaxTokens: cfg.Session.MaxTokenCount,
		Compaction: gateway.Compaction{
			Enabled: cfg.Session.Compaction.Enabled, MaxTokens: cfg.Session.Compaction.MaxTokenCount,
			Threshold: cfg.Session.Compaction.TriggerThreshold, KeepRecent: cfg.Session.Compaction.KeepRecentCount,
			MinMessages: cfg.Session.Compaction.MinMessagesToCompact, Agent: cfg.Session.Compaction.Agent,
		},
		Pruning: prune.Settings{
			Enabled: cfg.Session.Pruning.Enabled, Mode: prune.Mode(cfg.Session.Pruning.Mode),
			KeepRecent: cfg.Session.Pruning.KeepRecentCount, MaxResultSize: cfg.Session.Pruning.MaxToolResultSize,
			SaveToolCalls: cfg.Session.Pruning.SaveToolCalls, KeepToolCalls: cfg.Session.Pruning.KeepToolCallsCount,
			CacheTTL: cfg.Session.Pruning.CacheTTL.Std(),
		},
		MaxInboundAge: cfg.Limits.MaxInboundAge.Std(), MaxInboundBytes: int(cfg.Limits.MaxInboundBytes),
		MaxDeliveryAge: cfg.Limits.MaxDeliveryAge.Std(),
		Lifecycle:      lifecycleOf(cfg, zone),
		Retention: store.Retention{
			Inbound: cfg.Retention.Inbound.Std(), Deliveries: cfg.Retention.Deliveries.Std(),
			Deduplication: cfg.Retention.Deduplication.Std(), Resets: cfg.Retention.Resets.Std(),
			Usage: cfg.Retention.Usage.Std(),
		},
		Limits: limitsOf(cfg), Words: words,
	}, nil
}

// lifecycleOf says when sessions that nobody uses change, and when the jobs run.
func lifecycleOf(cfg *config.Config, zone *time.Location) lifecycle.Settings {
	l, s := cfg.Lifecycle, cfg.Session
	return lifecycle.Settings{
		Schedules: map[string]string{
			lifecycle.Prune: l.Prune, lifecycle.Compact: l.Compact, lifecycle.Idle: l.Idle,
			lifecycle.Archive: l.Archive, lifecycle.Expire: l.Expire,
		},
		Location: zone, IdleTimeout: s.IdleTimeout.Std(), ArchiveAfter: s.ArchiveAfter.Std(), TTL: s.TTL.Std(), ExportDir: s.ExportDir,
	}
}

// limitsOf are what people, chats and agents may use.
func limitsOf(cfg *config.Config) limit.Limits {
	l := cfg.Limits
	return limit.Limits{
		MessagesPerMinute: l.MessagesPerMinutePerUser, Turns: l.TurnsPerUser, Exempt: l.Exempt,
		TokensPerDay: map[store.BudgetKind]int64{
			store.BudgetUser: l.TokensPerDayPerUser, store.BudgetSession: l.TokensPerDayPerSession, store.BudgetChat: l.TokensPerDayPerChat,
			store.BudgetAgent: l.TokensPerDayPerAgent, store.BudgetTask: l.TokensPerDayPerTask,
		},
	}
}

// wordsOf reads the lists of words.
func wordsOf(cfg *config.Config) (gateway.Words, error) {
	var in, out []wordlist.Rule
	for i, list := range cfg.Limits.Words {
		words, err := wordlist.Load(list.File)
		if err != nil {
			return gateway.Words{}, fmt.Errorf("limits.words[%d].file: %w", i, err)
		}
		for _, way := range []struct {
			action config.WordAction
			rules  *[]wordlist.Rule
		}{{list.In, &in}, {list.Out, &out}} {
			if way.action != config.WordsOff {
				*way.rules = append(*way.rules, wordlist.Rule{Words: words, Refuse: way.action == config.WordsRefuse})
			}
		}
	}
	return gateway.Words{In: wordlist.New(in...), Out: wordlist.New(out...)}, nil
}

// rolesOf is the library of prompts.
func rolesOf(cfg *config.Config) ([]command.Role, error) {
	library, err := cfg.Roles.Library()
	if err != nil {
		return nil, fmt.Errorf("roles: %w", err)
	}
	roles := make([]command.Role, len(library))
	for i, r := range library {
		roles[i] = command.Role(r)
	}
	return roles, nil
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

package main

import (
	"context"
	"slices"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// examined is how many sessions, the newest, are looked at, page by page.
	examined     = 2000
	examinedPage = 200
)

// checkOrphans warns of sessions that nobody reaches any more, as the configuration no
// longer has their agent or account.
func checkOrphans(ctx context.Context, cfg *config.Config, sessions store.Sessions, r *report) {
	const check = "sessions"
	seen, orphans, example := 0, 0, ""
	for cursor, more := "", true; more && seen < examined; more = cursor != "" {
		page, next, err := sessions.ListSessions(ctx, store.SessionQuery{Limit: examinedPage, Cursor: cursor})
		if err != nil {
			r.add(check, levelError, "%s", explain(err))
			return
		}
		for _, s := range page {
			seen++
			if reachable(cfg, s.AgentID, s.Channel, s.Account) {
				continue
			}
			if orphans++; example == "" {
				example = s.Key
			}
		}
		cursor = next
	}
	if orphans == 0 {
		return
	}
	r.add(check, levelWarning, "%d of the newest %d belong to an agent or account that is not configured, and nobody reaches them, such as %s; "+
		"configure it again, or give them another key with chatkeep session move", orphans, seen, example)
}

// reachable reports whether messages may still come to a session.
func reachable(cfg *config.Config, agent, channel, account string) bool {
	if !slices.ContainsFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == agent }) {
		return false
	}
	switch channel {
	case config.ChannelFeishu:
		return slices.ContainsFunc(cfg.Channels.Feishu, func(c config.FeishuChannel) bool { return c.Account == account })
	case config.ChannelDingTalk:
		return slices.ContainsFunc(cfg.Channels.DingTalk, func(c config.DingTalkChannel) bool { return c.Account == account })
	case key.ChannelAPI:
		return slices.ContainsFunc(cfg.Channels.API, func(c config.APIAccount) bool { return c.Account == account })
	}
	return true // a terminal's, a task's, or one that nobody wrote to yet
}

// checkScopes warns of memories that people may not know they share.
func checkScopes(cfg *config.Config, r *report) {
	warn := func(channel, account string, s config.Scope) {
		for _, of := range []struct {
			scope config.ScopeType
			key   string
			who   string
		}{
			{s.Direct, "direct", "everybody who writes to the bot shares one memory"},
			{s.Group, "group", "all groups share one memory"},
			{s.Thread, "thread", "all threads share one memory"},
		} {
			if of.scope == config.ScopeMain {
				r.add(channel+"/"+account, levelWarning, "scope.%s is main: %s", of.key, of.who)
			}
		}
	}
	for _, c := range cfg.Channels.Feishu {
		warn(config.ChannelFeishu, c.Account, c.Scope)
	}
	for _, c := range cfg.Channels.DingTalk {
		warn(config.ChannelDingTalk, c.Account, c.Scope)
	}
	for _, c := range cfg.Channels.API {
		warn(config.ChannelAPI, c.Account, c.Scope)
	}
}

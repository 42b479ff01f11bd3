package config

import (
	"slices"
	"strings"
)

func (k *checker) channels() {
	seen := names{}
	for i, f := range k.config.Channels.Feishu {
		path := at("channels.feishu", i)
		k.name(seen, path+".account", f.Account)
		k.required(path+".appId", f.AppID, "copy it from the app's credentials page")
		k.required(path+".appSecret", string(f.AppSecret), "copy it from the app's credentials page, or name a file in appSecretFile")
		if f.Mode == FeishuWebhook {
			k.required(path+".encryptKey", string(f.EncryptKey), "webhook mode needs it: copy it from the app's event page, or use mode: websocket")
		}
		k.url(path+".baseUrl", f.BaseURL, "write https://open.feishu.cn, or https://open.larksuite.com for Lark")
		k.chatSettings(path, f.ChatSettings)
		k.overrides(path+".overrides", f.Overrides)
	}
	seen = names{}
	for i, d := range k.config.Channels.DingTalk {
		path := at("channels.dingtalk", i)
		k.name(seen, path+".account", d.Account)
		k.required(path+".clientId", d.ClientID, "copy it from the app's credentials page")
		k.required(path+".clientSecret", string(d.ClientSecret), "copy it from the app's credentials page, or name a file in clientSecretFile")
		k.url(path+".baseUrl", d.BaseURL, "write https://api.dingtalk.com")
		k.url(path+".oapiBaseUrl", d.OAPIBaseURL, "write https://oapi.dingtalk.com")
		k.chatSettings(path, d.ChatSettings)
		k.overrides(path+".overrides", d.Overrides)
	}
	k.apiAccounts()
}

func (k *checker) apiAccounts() {
	seen := names{}
	owners := map[Secret]string{}
	for i, a := range k.config.Channels.API {
		path := at("channels.api", i)
		k.name(seen, path+".account", a.Account)
		k.agent(path+".agent", a.Agent)
		k.scope(path+".scope", a.Scope)
		for j, s := range a.AllowScopes {
			if s != ScopeMain && s != ScopePerChannelPeer && slices.Contains(s.values(), string(s)) {
				k.fail(at(path+".allowScopes", j), "needs main or per_channel_peer: the others are always allowed")
			}
		}
		for j, token := range a.Tokens {
			k.token(at(path+".tokens", j), path, token, owners)
		}
		if len(a.Tokens) == 0 && !isLoopback(k.config.Server.Listen) {
			k.fail(path+".tokens", "is empty while server.listen is open beyond this machine: add a token, or listen on 127.0.0.1")
		}
	}
}

// token checks one bearer token; a token belongs to one account.
func (k *checker) token(path, account string, token Secret, owners map[Secret]string) {
	switch owner := owners[token]; {
	case token == "":
		k.fail(path, "is empty: write a token, or remove the entry")
	case hasControl(string(token)) || strings.ContainsRune(string(token), ' '):
		k.fail(path, "holds a blank or control character: a bearer token cannot")
	case owner != "" && owner != account:
		k.fail(path, "is also a token of %s: give every account its own", owner)
	default:
		owners[token] = account
	}
}

func (k *checker) scope(path string, s Scope) {
	for _, kind := range []struct {
		key   string
		value ScopeType
	}{{"direct", s.Direct}, {"group", s.Group}} {
		if kind.value == ScopeParent || kind.value == ScopeThread {
			k.fail(path+"."+kind.key, "%s is for threads: use per_peer", kind.value)
		}
	}
}

func (k *checker) chatSettings(path string, s ChatSettings) {
	k.agent(path+".agent", s.Agent)
	k.scope(path+".scope", s.Scope)
	k.access(path+".access", s.Access)
}

// access checks ids; the resolved settings of overrides come here too.
func (k *checker) access(path string, a Access) {
	for _, list := range []struct {
		key string
		ids []string
	}{{"allowUsers", a.AllowUsers}, {"denyUsers", a.DenyUsers}, {"allowChats", a.AllowChats}, {"admins", a.Admins}} {
		for i, id := range list.ids {
			k.foreignID(at(path+"."+list.key, i), id)
		}
	}
}

func (k *checker) overrides(path string, overrides map[string]ChatOverride) {
	for _, chatID := range sortedNames(overrides) {
		o := overrides[chatID]
		here := join(path, chatID)
		k.foreignID(here, chatID)
		if o.Agent != nil {
			k.agent(here+".agent", *o.Agent)
		}
		// An empty base shows the rules only what the override itself says.
		own := ChatSettings{}.with(o)
		k.scope(here+".scope", own.Scope)
		k.access(here+".access", own.Access)
	}
}

// account tells whether a channel has an account, and which it has.
func (c *Config) account(channel, account string) (found bool, accounts []string) {
	switch channel {
	case ChannelFeishu:
		for _, f := range c.Channels.Feishu {
			accounts = append(accounts, f.Account)
		}
	case ChannelDingTalk:
		for _, d := range c.Channels.DingTalk {
			accounts = append(accounts, d.Account)
		}
	case ChannelAPI:
		for _, a := range c.Channels.API {
			accounts = append(accounts, a.Account)
		}
	}
	return slices.Contains(accounts, account), accounts
}

func channelNames() []string { return []string{ChannelFeishu, ChannelDingTalk, ChannelAPI} }

// identities checks that every entry is channel/account/id and belongs to one
// person.
func (k *checker) identities() {
	owners := map[string]string{}
	for _, name := range sortedNames(k.config.Identities) {
		path := join("identities", name)
		k.foreignID(path, name)
		for i, link := range k.config.Identities[name] {
			here := at(path, i)
			channel, rest, _ := strings.Cut(link, "/")
			account, id, ok := strings.Cut(rest, "/")
			switch {
			case !ok || id == "" || len(id) > 256 || !ownName.MatchString(account):
				k.fail(here, "needs channel/account/id such as feishu/main/ou_123, not %q", clip(link))
			case !slices.Contains(channelNames(), channel):
				k.fail(here, "no channel %q: %s", clip(channel), didYouMean(channel, channelNames()))
			case owners[link] != "":
				k.fail(here, "%q belongs to %s already: one person per id", clip(link), owners[link])
			default:
				owners[link] = name
			}
		}
	}
}

func sortedNames[V any](m map[string]V) []string {
	sorted := make([]string, 0, len(m))
	for name := range m {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}

package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/cronspec"
)

// A rule is a document that breaks exactly one, and its message; ok documents
// are near misses that must pass.
type rule struct {
	document string
	want     string // path: message, empty for what must pass
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.document, func(t *testing.T) {
			_, err := Parse("x", []byte(r.document), nil)
			got := ""
			if err != nil {
				lines := make([]string, 0, 1)
				for _, p := range err.(Errors) {
					lines = append(lines, p.Path+": "+p.Message)
				}
				got = strings.Join(lines, "\n")
			}
			if got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
			}
		})
	}
}

func TestServerRules(t *testing.T) {
	const openAdmin = "server.listen: opens the admin API beyond this machine without a token: set server.adminToken, move the admin API by server.adminListen: 127.0.0.1:8081, or listen on 127.0.0.1"
	const openAPI = "channels.api[0].tokens: is empty while server.listen is open beyond this machine: add a token, or listen on 127.0.0.1"
	checkRules(t, []rule{
		{"server: {listen: 127.0.0.1}", `server.listen: needs host:port such as 127.0.0.1:8080, not "127.0.0.1"`},
		{"server: {listen: '127.0.0.1:99999'}", `server.listen: needs a port from 0 to 65535, not "99999"`},
		{"server: {listen: '127.0.0.1:http'}", `server.listen: needs a port from 0 to 65535, not "http"`},
		{"server: {listen: '127.0.0.1:0', adminListen: '127.0.0.1:0'}", ""},
		{"server: {listen: '127.0.0.1:80', adminListen: '127.0.0.1:80'}", "server.adminListen: is the same as server.listen: choose another port, or leave it empty"},
		{"server: {listen: 'localhost:80'}", ""},
		{"server: {listen: '[::1]:80'}", ""},
		{"server: {listen: '[::ffff:127.0.0.1]:80'}", ""},
		{"server: {listen: '127.9.9.9:80'}", ""},
		{"{server: {listen: ':80'}, channels: {}}", openAdmin},
		{"{server: {listen: '[::]:80'}, channels: {}}", openAdmin},
		{"{server: {listen: 'example.com:80'}, channels: {}}", openAdmin},
		{"{server: {listen: '10.0.0.1:80', adminToken: t}, channels: {}}", ""},
		{"{server: {adminToken: 'a b'}}", "server.adminToken: holds a blank or control character: a bearer token cannot"},
		{"{server: {listen: '10.0.0.1:80', adminListen: '127.0.0.1:81'}, channels: {}}", ""},
		{"{server: {listen: '127.0.0.1:80', adminListen: ':81'}}", "server.adminListen: opens the admin API beyond this machine without a token: set server.adminToken, or listen on 127.0.0.1"},
		{"{server: {listen: ':80', adminToken: t}}", openAPI},
		{"{server: {listen: ':80', adminListen: 'localhost:81'}}", openAPI},
		{"{server: {listen: ':80', adminToken: t}, channels: {api: [{account: a, tokens: [x]}]}}", ""},
		{"{server: {listen: ':80', adminToken: t}, channels: {api: [{account: a, tokens: [x]}, {account: b}]}}", strings.Replace(openAPI, "[0]", "[1]", 1)},
		{"server: {trustedProxies: [10.0.0.0/8, '::1', proxy]}", `server.trustedProxies[2]: needs an address or CIDR such as 10.0.0.0/8, not "proxy"`},
		{"server: {shutdownGrace: 0s}", ""},
		{"server: {shutdownGrace: -1s}", "server.shutdownGrace: must not be negative"},
		{"timezone: Mars/Olympus", `timezone: no time zone "Mars/Olympus": write an IANA name such as Asia/Shanghai, or Local`},
		{"timezone: ''", "timezone: is missing: write an IANA name such as Asia/Shanghai, or Local"},
		{"timezone: ../../etc/passwd", `timezone: no time zone "../../etc/passwd": write an IANA name such as Asia/Shanghai, or Local`},
		{"timezone: Asia/Shanghai", ""},
	})
}

func TestStorageRules(t *testing.T) {
	checkRules(t, []rule{
		{"storage: {driver: postgres}", `storage.driver: must be one of sqlite, mysql, file, memory, not "postgres"`},
		{"storage: {dsn: ' '}", "storage.dsn: is missing: name the database's file, such as ./data/chatkeep.db"},
		{"storage: {driver: mysql}", "storage.dsn: is missing: write user:pass@tcp(host:3306)/db"},
		{"storage: {driver: mysql, dsn: 'root@tcp(h'}", "storage.dsn: is no MySQL DSN: write user:pass@tcp(host:3306)/db"},
		{"storage: {driver: mysql, dsn: 'root@tcp(h:3306)/'}", "storage.dsn: names no database: write user:pass@tcp(host:3306)/db"},
		{"storage: {driver: mysql, dsn: 'tcp(h:3306)/db'}", "storage.dsn: names no user: write user:pass@tcp(host:3306)/db"},
		{"storage: {driver: mysql, dsn: 'root@tcp(h:3306)/db'}", ""},
		{"storage: {driver: mysql, dsn: 'root:p@unix(/run/mysqld.sock)/db?tls=false'}", ""},
		{"storage: {driver: memory}", ""},
		{"storage: {driver: file, dsn: /var/lib/chatkeep}", ""},
		{"storage: {lease: 0s}", "storage.lease: must be at least 100ms: 10s suits most"},
		{"storage: {lease: -1s}", "storage.lease: must not be negative"},
		{"storage: {maxOpenConns: -1}", "storage.maxOpenConns: must not be negative"},
	})
}

func agentWith(keys string) string { return "agents: [{id: a, kind: echo, " + keys + "}]" }

func TestAgentRules(t *testing.T) {
	checkRules(t, []rule{
		{"agents: []", "agents: needs at least one agent: add one, or remove the key to keep the built-in echo agent"},
		{"agents: [{id: a}]", "agents[0].kind: is missing: choose one of echo, openai, webhook"},
		{"agents: [{kind: echo}]", "agents[0].id: is missing: give it a name"},
		{"agents: [{id: 'a b', kind: echo}]", `agents[0].id: must be 1 to 64 letters, digits, dots, underscores or hyphens, not "a b"`},
		{"agents: [{id: " + strings.Repeat("a", 65) + ", kind: echo}]", fmt.Sprintf("agents[0].id: must be 1 to 64 letters, digits, dots, underscores or hyphens, not %q", strings.Repeat("a", 60)+"…")},
		{"agents: [{id: " + strings.Repeat("a", 64) + ", kind: echo}]", ""},
		{"agents: [{id: A.b_c-1, kind: echo}]", ""},
		{"agents: [{id: a, kind: echo}, {id: a, kind: echo}]", `agents[1].id: "a" is already the name at agents[0].id: choose another`},
		{"agents: [{id: a, kind: echo}, {id: A, kind: echo}]", ""},
		{"agents: [{id: a, kind: openai, baseUrl: https://x/v1}]", "agents[0].model: is missing: name the model, such as deepseek-chat"},
		{"agents: [{id: a, kind: openai, model: m}]", "agents[0].baseUrl: is missing: write the provider's address, such as https://api.deepseek.com/v1"},
		{"agents: [{id: a, kind: openai, model: m, baseUrl: api.x.com}]", "agents[0].baseUrl: needs a URL that begins with https:// or http:// and names a host"},
		{"agents: [{id: a, kind: openai, model: m, baseUrl: 'http://'}]", "agents[0].baseUrl: needs a URL that begins with https:// or http:// and names a host"},
		{"agents: [{id: a, kind: openai, model: m, baseUrl: 'file:///etc'}]", "agents[0].baseUrl: needs a URL that begins with https:// or http:// and names a host"},
		{"agents: [{id: a, kind: openai, model: m, baseUrl: http://x, url: http://y}]", "agents[0].url: belongs to agents of kind webhook: use baseUrl, or remove it"},
		{"agents: [{id: a, kind: webhook}]", "agents[0].url: is missing: write the address of your service"},
		{"agents: [{id: a, kind: webhook, url: http://x, secret: s}]", ""},
		{"agents: [{id: a, kind: webhook, url: http://x, delay: 1s}]", "agents[0].delay: belongs to agents of kind echo: remove it"},
		{agentWith("delay: 10ms, chunkSize: 3"), ""},
		{agentWith("chunkSize: -1"), "agents[0].chunkSize: must not be negative"},
		{agentWith("secret: s"), "agents[0].secret: belongs to agents of kind webhook: use apiKey, or remove it"},
		{agentWith("contextWindow: 0"), "agents[0].contextWindow: must be the model's window in tokens, such as 128000"},
		{agentWith("temperature: -0.1"), "agents[0].temperature: must not be negative"},
		{agentWith("maxTokens: -1"), "agents[0].maxTokens: must not be negative"},
		{agentWith("timeout: -1s"), "agents[0].timeout: must not be negative"},
		{agentWith("headers: {'X Y': v}"), `agents[0].headers: "X Y" is no HTTP header name: use letters, digits and hyphens`},
		{agentWith("headers: {X-Y: v}"), ""},
		{agentWith("tools: [remember, clock]") + "\nmcpServers: [{name: clock, command: [c]}]", ""},
		{agentWith("tools: [clok]") + "\nmcpServers: [{name: clock, command: [c]}]", `agents[0].tools[0]: no tool or MCP server "clok": did you mean "clock"?`},
		{agentWith("sendTo: [api/default/a/b]"), ""},
		{agentWith("sendTo: [oc_abc]"), `agents[0].sendTo[0]: must be channel/account/chatId, such as feishu/main/oc_abc, not "oc_abc"`},
		{agentWith("sendTo: [api/default/]"), `agents[0].sendTo[0]: must be channel/account/chatId, such as feishu/main/oc_abc, not "api/default/"`},
		{agentWith("sendTo: [api/defalt/a]"), `agents[0].sendTo[0]: api has no account "defalt": did you mean "default"?`},
		{agentWith("sendTo: [apo/default/a]"), `agents[0].sendTo[0]: must be one of feishu, dingtalk, api, not "apo": did you mean "api"?`},
		{agentWith("fallbacks: [b]"), `agents[0].fallbacks[0]: no agent "b": there is a`},
		{agentWith("fallbacks: [a]"), "agents[0].fallbacks: go in a circle (a → a): remove one of them"},
		{"agents: [{id: x, kind: echo, fallbacks: [a]}, {id: a, kind: echo, fallbacks: [b]}, {id: b, kind: echo, fallbacks: [a]}]", "agents[1].fallbacks: go in a circle (a → b → a): remove one of them"},
		{"agents: [{id: x, kind: echo, fallbacks: [a, b]}, {id: a, kind: echo, fallbacks: [b]}, {id: b, kind: echo}]", ""},
		{"mcpServers: [{name: a}]", "mcpServers[0]: needs command (a list) or url"},
		{"mcpServers: [{name: a, command: [x], url: http://x}]", "mcpServers[0]: has both command and url: keep one"},
		{"mcpServers: [{name: a, command: ['']}]", "mcpServers[0].command[0]: is missing: name the program"},
		{"mcpServers: [{name: a, url: x}]", "mcpServers[0].url: needs a URL that begins with https:// or http:// and names a host"},
		{"mcpServers: [{name: a, url: http://x}, {name: a, url: http://x}]", `mcpServers[1].name: "a" is already the name at mcpServers[0].name: choose another`},
		{"mcpServers: [{name: recall, url: http://x}]", `mcpServers[0].name: "recall" is a built-in tool: choose another name`},
	})
}

func feishuWith(keys string) string {
	return "channels: {feishu: [{account: main, appId: i, appSecret: s, " + keys + "}]}"
}

func dingTalkWith(keys string) string {
	return "channels: {dingtalk: [{account: main, clientId: i, clientSecret: s, " + keys + "}]}"
}

func apiWith(keys string) string { return "channels: {api: [{account: main, " + keys + "}]}" }

func TestChannelRules(t *testing.T) {
	checkRules(t, []rule{
		{feishuWith("mode: webhook"), "channels.feishu[0].encryptKey: is missing: webhook mode needs it: copy it from the app's event page, or use mode: websocket"},
		{feishuWith("mode: webhook, encryptKey: k"), ""},
		{feishuWith("mode: stream"), `channels.feishu[0].mode: must be one of websocket, webhook, not "stream"`},
		{feishuWith("baseUrl: open.feishu.cn"), "channels.feishu[0].baseUrl: needs a URL that begins with https:// or http:// and names a host"},
		{feishuWith("baseUrl: ''"), "channels.feishu[0].baseUrl: is missing: write https://open.feishu.cn, or https://open.larksuite.com for Lark"},
		{feishuWith("agent: helper"), `channels.feishu[0].agent: no agent "helper": there is assistant`},
		{feishuWith("agent: asistant"), `channels.feishu[0].agent: no agent "asistant": did you mean "assistant"?`},
		{feishuWith("scope: {direct: parent}"), "channels.feishu[0].scope.direct: parent is for threads: use per_peer"},
		{feishuWith("scope: {group: thread}"), "channels.feishu[0].scope.group: thread is for threads: use per_peer"},
		{feishuWith("scope: {thread: parent, direct: main, group: per_account_channel_peer}"), ""},
		{feishuWith("scope: {direct: task}"), `channels.feishu[0].scope.direct: must be one of main, per_peer, per_channel_peer, per_account_channel_peer, thread, parent, not "task"`},
		{feishuWith("group: {replyInThread: sometimes}"), `channels.feishu[0].group.replyInThread: must be one of auto, always, never, not "sometimes"`},
		{feishuWith("reply: {streaming: off}"), ""},
		{feishuWith("reply: {streaming: on}"), `channels.feishu[0].reply.streaming: must be one of auto, off, not "on"`},
		{feishuWith("access: {groups: pairing, admins: [ou_1]}"), ""},
		{feishuWith("access: {denyUsers: ['']}"), "channels.feishu[0].access.denyUsers[0]: is empty: write the id, or remove the entry"},
		{feishuWith("language: fr"), `channels.feishu[0].language: must be one of auto, zh, en, not "fr"`},
		{feishuWith("overrides: {oc_1: {scope: {direct: thread}}}"), "channels.feishu[0].overrides.oc_1.scope.direct: thread is for threads: use per_peer"},
		{feishuWith("overrides: {oc_1: {agent: x}}"), `channels.feishu[0].overrides.oc_1.agent: no agent "x": there is assistant`},
		{feishuWith("overrides: {oc_1: {mode: x}}"), `channels.feishu[0].overrides.oc_1.mode: unknown key: there is agent, scope, group, reply, access, language, systemPrompt`},
		{feishuWith("overrides: {oc_1: {access: {admins: ['']}}}"), "channels.feishu[0].overrides.oc_1.access.admins[0]: is empty: write the id, or remove the entry"},
		{feishuWith("overrides: {'cid+/=a.b': {language: french}}"), `channels.feishu[0].overrides["cid+/=a.b"].language: must be one of auto, zh, en, not "french"`},
		{"channels: {feishu: [{account: a, appId: i, appSecret: s}, {account: a, appId: i, appSecret: s}]}", `channels.feishu[1].account: "a" is already the name at channels.feishu[0].account: choose another`},
		{"channels: {feishu: [{account: a, appId: i, appSecret: s}], api: [{account: a}]}", ""},
		{"channels: {slack: []}", "channels.slack: unknown key: there is feishu, dingtalk, api"},
		{"channels: {dingtalk: [{account: a, clientSecret: s}]}", "channels.dingtalk[0].clientId: is missing: copy it from the app's credentials page"},
		{"channels: {dingtalk: [{account: a, clientId: s}]}", "channels.dingtalk[0].clientSecret: is missing: copy it from the app's credentials page, or name a file in clientSecretFile"},
		{dingTalkWith("mode: webhook"), ""},
		{dingTalkWith("mode: websocket"), `channels.dingtalk[0].mode: must be one of stream, webhook, not "websocket"`},
		{dingTalkWith("oapiBaseUrl: x"), "channels.dingtalk[0].oapiBaseUrl: needs a URL that begins with https:// or http:// and names a host"},
		{dingTalkWith("robotCode: r"), ""},
		{apiWith("tokens: ['']"), "channels.api[0].tokens[0]: is empty: write a token, or remove the entry"},
		{apiWith("tokens: ['a b']"), "channels.api[0].tokens[0]: holds a blank or control character: a bearer token cannot"},
		{"channels: {api: [{account: a, tokens: [t]}, {account: b, tokens: [t]}]}", "channels.api[1].tokens[0]: is also a token of channels.api[0]: give every account its own"},
		{apiWith("allowScopes: [main, per_channel_peer]"), ""},
		{apiWith("allowScopes: [per_peer]"), "channels.api[0].allowScopes[0]: needs main or per_channel_peer: the others are always allowed"},
		{apiWith("scope: {group: parent}"), "channels.api[0].scope.group: parent is for threads: use per_peer"},
		{apiWith("agent: x"), `channels.api[0].agent: no agent "x": there is assistant`},
		{"identities: {lin: [feishu/main/ou_123, dingtalk/main/a/b+c=]}", ""},
		{"identities: {lin: [feishu/main]}", `identities.lin[0]: needs channel/account/id such as feishu/main/ou_123, not "feishu/main"`},
		{"identities: {lin: [feishu/main/]}", `identities.lin[0]: needs channel/account/id such as feishu/main/ou_123, not "feishu/main/"`},
		{"identities: {lin: [fieshu/main/x]}", `identities.lin[0]: no channel "fieshu": did you mean "feishu"?`},
		{"identities: {a: [feishu/m/x], b: [feishu/m/x]}", `identities.b[0]: "feishu/m/x" belongs to a already: one person per id`},
		{"identities: {小林: [feishu/m/x]}", ""},
		{"identities: {'': [feishu/m/x]}", `identities[""]: is empty: write the id, or remove the entry`},
	})
}

func taskWith(keys string) string {
	return "tasks: [{id: t, prompt: p, " + keys + "}]"
}

func TestSessionAndTaskRules(t *testing.T) {
	checkRules(t, []rule{
		{"session: {maxMessages: 0, maxTokenCount: 0, ttl: 0s}", ""},
		{"session: {maxMessages: -1}", "session.maxMessages: must not be negative"},
		{"session: {idleTimeout: -1h}", "session.idleTimeout: must not be negative"},
		{"session: {pruning: {mode: cache_ttl}}", ""},
		{"session: {pruning: {mode: gentle}}", `session.pruning.mode: must be one of soft, hard, cache_ttl, not "gentle"`},
		{"session: {queue: {mode: collect, cap: 0}}", ""},
		{"session: {compaction: {triggerThreshold: 1}}", ""},
		{"session: {compaction: {triggerThreshold: 0}}", "session.compaction.triggerThreshold: must be above 0 and at most 1: 0.8 starts at 80 %"},
		{"session: {compaction: {agent: x}}", `session.compaction.agent: no agent "x": there is assistant`},
		{"session: {slots: [{id: default, messages: [{role: system, content: c}]}]}", "session.slots[0].id: every session has a slot default of its own: choose another"},
		{"session: {slots: [{id: a}]}", "session.slots[0].messages: needs at least one message"},
		{"session: {slots: [{id: a, messages: [{role: tool, content: c}]}]}", `session.slots[0].messages[0].role: must be one of system, user, assistant, not "tool"`},
		{"session: {slots: [{id: a, messages: [{role: user}]}]}", "session.slots[0].messages[0].content: is missing: write the text"},
		{"session: {slots: [{id: a, agent: x, messages: [{role: user, content: c}]}]}", `session.slots[0].agent: no agent "x": there is assistant`},
		{"agents: [{id: x, kind: echo}, {id: y, kind: echo}]\nsession: {slots: [{id: a, agent: x, messages: [{role: user, content: c}]}, {id: a, agent: y, messages: [{role: user, content: c}]}]}", ""},
		{"session: {slots: [{id: a, messages: [{role: user, content: c}]}, {id: a, messages: [{role: user, content: c}]}]}", `session.slots[1].id: "a" is already the name at session.slots[0].id: choose another`},
		{"lifecycle: {idle: '@every 500ms'}", "lifecycle.idle: must be @every 1s or more"},
		{"lifecycle: {idle: '0 3 * * *'}", ""},
		{"lifecycle: {idle: ''}", ""},
		{"lifecycle: {idle: often}", `lifecycle.idle: needs 5 cron fields such as "0 9 * * 1-5", or @every 10m`},

		{taskWith("schedule: '@every 1s'"), ""},
		{taskWith("at: 2026-12-01T09:00:00Z"), ""},
		{taskWith("at: '2026-12-01T09:00:00+08:00', timezone: Asia/Shanghai"), ""},
		{taskWith("at: 2026-12-01T09:00:00"), `tasks[0].at: needs a time with its zone, such as 2026-12-01T09:00:00+08:00, not "2026-12-01T09:00:00"`},
		{taskWith("at: 2026-12-01T09:00:00Z, schedule: '@every 1m'"), "tasks[0]: has both schedule and at: keep one"},
		{taskWith("grace: 15s"), "tasks[0]: needs schedule or at"},
		{taskWith("schedule: '@every 1m', timezone: Nowhere"), `tasks[0].timezone: no time zone "Nowhere": write an IANA name such as Asia/Shanghai, or Local`},
		{taskWith("schedule: '@every 1m', agent: x"), `tasks[0].agent: no agent "x": there is assistant`},
		{taskWith("schedule: '@every 1m', session: fresh"), `tasks[0].session: must be one of persistent, isolated, not "fresh"`},
		{taskWith("schedule: '@every 1m', missed: all"), `tasks[0].missed: must be one of once, skip, not "all"`},
		{taskWith("schedule: '@every 1m', grace: -1s"), "tasks[0].grace: must not be negative"},
		{taskWith("schedule: '@every 1m', grace: 25h"), "tasks[0].grace: must be 24h or less"},
		{taskWith("schedule: '@every 1m', timeout: 25h"), "tasks[0].timeout: must be more than 0s and at most 24h"},
		{taskWith("schedule: '@every 1m', timeout: 0s"), "tasks[0].timeout: must be more than 0s and at most 24h"},
		{taskWith("schedule: '@every 1m', retries: 11"), "tasks[0].retries: must be 10 or less"},
		{taskWith("schedule: '@every 1m', pauseAfter: -1"), "tasks[0].pauseAfter: must not be negative"},
		{taskWith("schedule: '@every 1m', until: 2026-12-01"), `tasks[0].until: needs a time with its zone, such as 2026-12-01T09:00:00+08:00, not "2026-12-01"`},
		{taskWith("at: 2026-12-01T09:00:00Z, until: 2026-11-01T09:00:00Z"), "tasks[0].until: is before at: the task would never run"},
		{taskWith("schedule: '@every 1m', retries: 0, notifyAfter: 1, pauseAfter: 2, maxRuns: 3, until: 2026-12-01T09:00:00+08:00"), ""},
		{"tasks: [{id: t, schedule: '@every 1m'}]", "tasks[0].prompt: is missing: write what the agent is to do"},
		{"tasks: [{prompt: p, schedule: '@every 1m'}]", "tasks[0].id: is missing: give it a name"},
		{"tasks: [{id: t, prompt: p, schedule: '@every 1m'}, {id: t, prompt: p, schedule: '@every 1m'}]", `tasks[1].id: "t" is already the name at tasks[0].id: choose another`},
	})
}

func TestDeliverRules(t *testing.T) {
	deliver := func(keys string) string {
		return taskWith("schedule: '@every 1m', deliver: {"+keys+"}") + "\n" + feishuWith("mode: websocket")
	}
	checkRules(t, []rule{
		{deliver("channel: feishu, account: main, chatId: oc_1"), ""},
		{deliver("channel: feishu, account: main, chatId: oc_1, threadId: omt_1"), ""},
		{deliver("channel: feishu, account: main, userId: ou_1"), ""},
		{deliver("url: https://example.com/hook"), ""},
		{deliver("url: https://example.com/hook, secret: s"), ""},
		{deliver("channel: feishu, account: main, chatId: oc_1, secret: s"), "tasks[0].deliver.secret: signs what is posted to a url: name the url, or remove it"},
		{deliver(""), "tasks[0].deliver: needs exactly one of chatId, userId and url"},
		{deliver("channel: feishu, account: main"), "tasks[0].deliver: needs exactly one of chatId, userId and url"},
		{deliver("channel: feishu, account: main, chatId: a, userId: b"), "tasks[0].deliver: needs exactly one of chatId, userId and url"},
		{deliver("url: https://x, userId: b"), "tasks[0].deliver: needs exactly one of chatId, userId and url"},
		{deliver("url: x"), "tasks[0].deliver.url: needs a URL that begins with https:// or http:// and names a host"},
		{deliver("url: https://x, channel: feishu"), "tasks[0].deliver: has a url beside a channel or account: keep one"},
		{deliver("url: https://x, threadId: a"), "tasks[0].deliver.threadId: needs chatId beside it: remove it, or name the chat"},
		{deliver("channel: feishu, account: main, userId: a, threadId: b"), "tasks[0].deliver.threadId: needs chatId beside it: remove it, or name the chat"},
		{deliver("channel: wechat, account: main, userId: a"), `tasks[0].deliver.channel: must be one of feishu, dingtalk, api, not "wechat"`},
		{deliver("userId: a"), "tasks[0].deliver.channel: is missing: choose one of feishu, dingtalk, api"},
		{deliver("channel: feishu, userId: a"), "tasks[0].deliver.account: is missing: there is main"},
		{deliver("channel: feishu, account: mian, userId: a"), `tasks[0].deliver.account: feishu has no account "mian": did you mean "main"?`},
		{deliver("channel: dingtalk, account: main, userId: a"), `tasks[0].deliver.account: dingtalk has no account "main": there is none`},
		{deliver("channel: feishu, account: main, userId: " + strings.Repeat("a", 257)), "tasks[0].deliver.userId: is longer than 256 bytes: no id is"},
	})
}

func TestOperationRules(t *testing.T) {
	checkRules(t, []rule{
		{"limits: {workers: 0, tokensPerDayPerUser: 0, maxInboundAge: 0s}", ""},
		{"limits: {tokensPerDayPerUser: 9223372036854775807}", ""},
		{"limits: {messagesPerMinutePerUser: -1}", "limits.messagesPerMinutePerUser: must not be negative"},
		{"limits: {maxInboundBytes: -1}", "limits.maxInboundBytes: must not be negative"},
		{"limits: {maxDeliveryAge: -1s}", "limits.maxDeliveryAge: must not be negative"},
		{"retention: {resets: -1s}", "retention.resets: must not be negative"},
		{"retention: {inbound: 0s}", ""},
		{"egress: {allowPrivate: [db, db.local, 10.0.0.0/8, '::1', 'fd00::/8', _x.y]}", ""},
		{"egress: {allowPrivate: [10.0.0.256]}", `egress.allowPrivate[0]: needs a host without port, an address or a CIDR, not "10.0.0.256"`},
		{"egress: {allowPrivate: ['http://db']}", `egress.allowPrivate[0]: needs a host without port, an address or a CIDR, not "http://db"`},
		{"egress: {allowPrivate: ['']}", `egress.allowPrivate[0]: needs a host without port, an address or a CIDR, not ""`},
		{"log: {level: debug, format: json}", ""},
		{"log: {format: xml}", `log.format: must be one of text, json, not "xml"`},
		{"tracing: {endpoint: http://localhost:4318}", ""},
		{"tracing: {endpoint: 'https://collector.example/otlp'}", ""},
		{"tracing: {endpoint: 'localhost:4317'}", "tracing.endpoint: needs the URL of an OTLP/HTTP receiver such as http://localhost:4318; OTLP over gRPC (host:4317) is not spoken"},
		{"tracing: {endpoint: localhost}", "tracing.endpoint: needs the URL of an OTLP/HTTP receiver such as http://localhost:4318; OTLP over gRPC (host:4317) is not spoken"},
		{"tracing: {passTo: [llm.internal, 10.0.0.7, '::1']}", ""},
		{"tracing: {passTo: ['llm.internal:80']}", `tracing.passTo[0]: needs a host without port or an address, not "llm.internal:80"`},
		{"tracing: {passTo: ['10.0.0.0/8']}", `tracing.passTo[0]: needs a host without port or an address, not "10.0.0.0/8"`},
		{"tracing: {endpoint: 'ftp://x'}", "tracing.endpoint: needs a URL that begins with https:// or http:// and names a host"},
	})
}

func TestSchedules(t *testing.T) {
	for spec, want := range map[string]error{
		"0 9 * * 1-5":                          nil,
		"*/5 * * * *":                          nil,
		"0 0 29 2 *":                           nil,
		"@every 1s":                            nil,
		"@every 1h30m":                         nil,
		"@daily":                               cronspec.ErrSpec,
		"@hourly":                              cronspec.ErrSpec,
		"":                                     cronspec.ErrSpec,
		"* * * *":                              cronspec.ErrSpec,
		"0 0 9 * * 1":                          cronspec.ErrSpec,
		"60 * * * *":                           cronspec.ErrSpec,
		"0 0 * * 7":                            cronspec.ErrSpec,
		"@every":                               cronspec.ErrSpec,
		"@every soon":                          cronspec.ErrSpec,
		"@reboot":                              cronspec.ErrSpec,
		"@every 999ms":                         cronspec.ErrShort,
		"@every -5s":                           cronspec.ErrShort,
		"@every 0s":                            cronspec.ErrShort,
		"0 0 30 2 *":                           cronspec.ErrNever,
		"0 0 31 4,6 *":                         cronspec.ErrNever,
		"TZ=0":                                 cronspec.ErrZone,
		"TZ=":                                  cronspec.ErrZone,
		"CRON_TZ=Asia/Shanghai":                cronspec.ErrZone,
		"TZ=UTC 0 9 * * *":                     cronspec.ErrZone,
		"0 " + strings.Repeat("9", 300):        cronspec.ErrLong,
		strings.Repeat("0,", 60) + "0 * * * *": nil,
	} {
		if got := checkSchedule(spec); got != want {
			t.Errorf("%q: got %v, want %v", clip(spec), got, want)
		}
	}
}

// Validate alone knows no places, but the same rules.
func TestValidate(t *testing.T) {
	c := Default()
	c.Log.Level = "loud"
	c.Limits.Workers = -1
	want := "limits.workers: must not be negative\nlog.level: must be one of debug, info, warn, error, not \"loud\""
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

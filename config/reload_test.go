package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

const reloadBase = `
agents: [{id: a, kind: echo}, {id: b, kind: echo}]
channels:
  feishu: [{account: main, appId: i, appSecret: s, overrides: {oc_1: {language: zh, agent: b}}}]
  api: [{account: default, tokens: [t]}]
tasks: [{id: t, schedule: '@every 1m', prompt: p}]
`

func TestDiff(t *testing.T) {
	tests := []struct {
		name          string
		change        func(*Config)
		safe, restart string
	}{
		{"nothing", func(c *Config) {}, "", ""},
		{"log level", func(c *Config) { c.Log.Level = LogDebug }, "log.level", ""},
		{"log format", func(c *Config) { c.Log.Format = LogJSON }, "", "log.format"},
		{"limits", func(c *Config) { c.Limits.MaxInboundBytes = 5; c.Limits.Workers = 3 }, "limits.maxInboundBytes", "limits.workers"},
		{"listener", func(c *Config) { c.Server.Listen = "127.0.0.1:1" }, "", "server.listen"},
		{"token", func(c *Config) { c.Server.AdminToken = "x" }, "", "server.adminToken"},
		{"storage", func(c *Config) { c.Storage.DSN = "x" }, "", "storage.dsn"},
		{"timezone", func(c *Config) { c.Timezone = "UTC" }, "", "timezone"},
		{"tracing", func(c *Config) { c.Tracing.Endpoint, c.Tracing.PassTo = "x:1", []string{"x"} }, "", "tracing.endpoint tracing.passTo"},
		{"prompt", func(c *Config) { c.Agents[1].SystemPrompt = "x" }, "agents.b.systemPrompt", ""},
		{"model", func(c *Config) { c.Agents[1].Model = "x" }, "", "agents.b.model"},
		{"agent added", func(c *Config) { c.Agents = append(c.Agents, Agent{ID: "c"}) }, "", "agents.c"},
		{"agent gone", func(c *Config) { c.Agents = c.Agents[:1] }, "", "agents.b"},
		{"account gone", func(c *Config) { c.Channels.Feishu = nil }, "", "channels.feishu.main"},
		{"account added", func(c *Config) { c.Channels.DingTalk = []DingTalkChannel{{Account: "d"}} }, "", "channels.dingtalk.d"},
		{"access", func(c *Config) { c.Channels.Feishu[0].Access.DenyUsers = []string{"u"} }, "channels.feishu.main.access", ""},
		{"language", func(c *Config) { c.Channels.Feishu[0].Language = LanguageEnglish }, "channels.feishu.main.language", ""},
		{"app secret", func(c *Config) { c.Channels.Feishu[0].AppSecret = "x" }, "", "channels.feishu.main.appSecret"},
		{"api tokens", func(c *Config) { c.Channels.API[0].Tokens = []Secret{"x"} }, "", "channels.api.default.tokens"},
		{"override", func(c *Config) {
			zh := LanguageEnglish
			c.Channels.Feishu[0].Overrides["oc_1"] = ChatOverride{Language: &zh, Agent: c.Channels.Feishu[0].Overrides["oc_1"].Agent}
		}, "channels.feishu.main.overrides.oc_1.language", ""},
		{"override added", func(c *Config) {
			zh, agent := LanguageChinese, "a"
			c.Channels.Feishu[0].Overrides["oc_2"] = ChatOverride{Language: &zh, Agent: &agent}
		}, "channels.feishu.main.overrides.oc_2.language", "channels.feishu.main.overrides.oc_2.agent"},
		{"override gone", func(c *Config) { c.Channels.Feishu[0].Overrides = map[string]ChatOverride{} },
			"channels.feishu.main.overrides.oc_1.language", "channels.feishu.main.overrides.oc_1.agent"},
		{"session", func(c *Config) { c.Session.MaxMessages = 1; c.Session.Pruning.Enabled = true; c.Session.Queue.Cap = 3 },
			"session.maxMessages session.pruning session.queue", ""},
		{"summarising agent", func(c *Config) { c.Session.Compaction.Agent = "b" }, "", "session.compaction.agent"},
		{"slots", func(c *Config) {
			c.Session.Slots = []StaticSlot{{ID: "x", Agent: "a", Messages: []SlotMessage{{Role: "user", Content: "c"}}}}
		}, "session.slots", ""},
		{"identities", func(c *Config) { c.Identities = map[string][]string{"l": {"api/a/b"}} }, "identities", ""},
		{"retention", func(c *Config) { c.Retention.Inbound = 1 }, "retention", ""},
		{"task", func(c *Config) { c.Tasks[0].Prompt = "x" }, "tasks", ""},
		{"no tasks", func(c *Config) { c.Tasks = []Task{} }, "tasks", ""},
		{"lifecycle", func(c *Config) { c.Lifecycle.Idle = "@every 1s" }, "lifecycle", ""},
		{"egress", func(c *Config) { c.Egress.AllowPrivate = []string{"x"} }, "", "egress.allowPrivate"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			running, next := load(t, reloadBase), load(t, reloadBase)
			test.change(next)
			before := asJSON(t, running)
			safe, restart := Diff(running, next)
			if got := strings.Join(safe, " "); got != test.safe {
				t.Errorf("safe = %s, want %s", got, test.safe)
			}
			if got := strings.Join(restart, " "); got != test.restart {
				t.Errorf("restart = %s, want %s", got, test.restart)
			}
			if asJSON(t, running) != before {
				t.Error("the running configuration was changed")
			}

			// What is merged differs from next only by what needs a restart.
			merged, _, _ := Merge(running, next)
			if safe, again := Diff(merged, next); len(safe) != 0 || !slices.Equal(again, restart) {
				t.Errorf("after merging: safe %v, restart %v", safe, again)
			}
			if _, again := Diff(running, merged); len(again) != 0 {
				t.Errorf("merging took over %v", again)
			}
			if len(restart) == 0 && !reflect.DeepEqual(merged, next) {
				t.Error("all was safe, but not all was taken over")
			}
			if err := merged.Validate(); err != nil {
				t.Errorf("merged: %v", err)
			}
		})
	}
}

// A pattern that matches no key is a mistyped one.
func TestReloadablePatternsMatchKeys(t *testing.T) {
	full := full(reflect.TypeFor[Config]())
	var paths [][]string
	var collect func(path []string, v reflect.Value)
	collect = func(path []string, v reflect.Value) {
		paths = append(paths, path)
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if isLeaf(v.Type()) {
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for _, f := range fieldsOf(v.Type()) {
				collect(step(path, f.name), v.FieldByIndex(f.index))
			}
		case reflect.Slice:
			collect(step(path, "id"), v.Index(0))
		case reflect.Map:
			collect(step(path, "id"), v.MapIndex(v.MapKeys()[0]))
		}
	}
	collect(nil, full)
	for _, pattern := range reloadable {
		steps := strings.Split(pattern, ".")
		if !slices.ContainsFunc(paths, func(path []string) bool {
			return len(path) == len(steps) && !slices.ContainsFunc(steps, func(s string) bool {
				i := slices.Index(steps, s)
				return s != "*" && s != path[i]
			})
		}) {
			t.Errorf("no key matches %s", pattern)
		}
	}
}

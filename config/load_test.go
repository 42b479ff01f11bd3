package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// load parses a document that must be right.
func load(t *testing.T, document string, env ...string) *Config {
	t.Helper()
	c, err := Parse("chatkeep.yaml", []byte(document), env)
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return c
}

// refuse parses a document that must be wrong and returns the error's text.
func refuse(t *testing.T, document string, env ...string) string {
	t.Helper()
	_, err := Parse("chatkeep.yaml", []byte(document), env)
	if err == nil {
		t.Fatal("Parse accepted the document")
	}
	if _, ok := err.(Errors); !ok {
		t.Fatalf("error is a %T, want Errors", err)
	}
	return err.Error()
}

func TestDefaultIsValidAndWhatLoadGivesWithoutFile(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Fatal(err)
	}
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := asJSON(t, c), asJSON(t, Default()); got != want {
		t.Errorf("Load without a file differs from Default:\n%s\n%s", got, want)
	}
	if len(c.Agents) != 1 || c.Agents[0].ID != "assistant" || c.Agents[0].Kind != AgentEcho {
		t.Errorf("agents = %v", c.Agents)
	}
	if len(c.Channels.API) != 1 || c.Channels.API[0].Account != "default" || c.Channels.API[0].Agent != "assistant" {
		t.Errorf("API accounts = %v", c.Channels.API)
	}
}

func asJSON(t *testing.T, c *Config) string {
	t.Helper()
	document, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

// A document that other programs write; it is accepted as it is.
const acceptedUnchanged = `{"session":{"maxMessages":100,"maxTokenCount":128000,"pruning":{"enabled":true,"mode":"soft","keepRecentCount":10,"maxToolResultSize":2000,"saveToolCalls":true,"keepToolCallsCount":5},"compaction":{"enabled":true,"triggerThreshold":0.8,"keepRecentCount":10,"minMessagesToCompact":20}}}`

func TestSessionDocumentIsAcceptedUnchanged(t *testing.T) {
	for _, name := range []string{"session.json", "session.yaml"} {
		c, err := Parse(name, []byte(acceptedUnchanged), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := Default()
		want.Session.Pruning.Enabled = true
		want.Session.Compaction.Enabled = true
		if got := asJSON(t, c); got != asJSON(t, want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestYAMLAndJSONAreTheSame(t *testing.T) {
	fromYAML := load(t, "server:\n  listen: 127.0.0.1:9\nlimits: {workers: 3}\nagents:\n- id: a\n  kind: echo\n  extraBody: {a: [1, 2.5, true, null, \"x\\u4e2d\"]}\n")
	fromJSON := load(t, `{"server":{"listen":"127.0.0.1:9"},"limits":{"workers":3},"agents":[{"id":"a","kind":"echo","extraBody":{"a":[1,2.5,true,null,"x\u4e2d"]}}]}`)
	if a, b := asJSON(t, fromYAML), asJSON(t, fromJSON); a != b {
		t.Errorf("differ:\n%s\n%s", a, b)
	}
	if got := string(fromYAML.Agents[0].ExtraBody["a"]); got != `[1,2.5,true,null,"x中"]` {
		t.Errorf("extraBody.a = %s", got)
	}
}

func TestBuiltInPartsGiveWayOnlyToWhatIsNamed(t *testing.T) {
	const agents = "agents: [{id: helper, kind: echo}, {id: other, kind: echo}]\n"
	const channels = "channels: {dingtalk: [{account: main, clientId: c, clientSecret: s}]}\n"
	tests := []struct {
		name, document, agents, api string
	}{
		{"neither", "timezone: UTC", "assistant", "default→assistant"},
		{"agents", agents, "helper other", "default→helper"},
		{"channels", channels, "assistant", ""},
		{"both", agents + channels, "helper other", ""},
		{"empty channels", "channels:", "assistant", "default→assistant"},
		{"the built-in name is preferred to the first", "agents: [{id: helper, kind: echo}, {id: assistant, kind: echo}]", "helper assistant", "default→assistant"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := load(t, test.document)
			var ids, accounts []string
			for _, a := range c.Agents {
				ids = append(ids, a.ID)
			}
			for _, a := range c.Channels.API {
				accounts = append(accounts, a.Account+"→"+a.Agent)
			}
			if got := strings.Join(ids, " "); got != test.agents {
				t.Errorf("agents = %s, want %s", got, test.agents)
			}
			if got := strings.Join(accounts, " "); got != test.api {
				t.Errorf("API accounts = %s, want %s", got, test.api)
			}
		})
	}
}

func TestImplicitValues(t *testing.T) {
	c := load(t, `
timezone: Asia/Shanghai
storage: {driver: file}
agents: [{id: helper, kind: echo}]
channels:
  dingtalk: [{account: main, clientId: ding1, clientSecret: s}]
  feishu: [{account: main, appId: a, appSecret: s}]
session:
  slots: [{id: handbook, messages: [{role: system, content: x}]}]
tasks: [{id: t, at: 2026-12-01T09:00:00+08:00, prompt: p}]
`)
	for got, want := range map[string]string{
		string(c.Storage.DSN):              "./data",
		c.Channels.DingTalk[0].RobotCode:   "ding1",
		c.Channels.DingTalk[0].Agent:       "helper",
		c.Channels.Feishu[0].Agent + "/fs": "helper/fs",
		c.Session.Slots[0].Agent + "/slot": "helper/slot",
		c.Tasks[0].Agent + "/task":         "helper/task",
		c.Tasks[0].Timezone:                "Asia/Shanghai",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if want := time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC); !c.Tasks[0].At.Equal(want) {
		t.Errorf("at = %v, want %v", c.Tasks[0].At, want)
	}
}

func TestLayersWinInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chatkeep.yaml")
	if err := os.WriteFile(path, []byte("server: {listen: '127.0.0.1:2', adminListen: '127.0.0.1:12', shutdownGrace: 2s}"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"CHATKEEP_SERVER_LISTEN=127.0.0.1:3", "CHATKEEP_SERVER_ADMIN_LISTEN=127.0.0.1:13"}
	c, err := Load(path, env, func(c *Config) { c.Server.Listen = "127.0.0.1:4" })
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Listen != "127.0.0.1:4" || c.Server.AdminListen != "127.0.0.1:13" || c.Server.ShutdownGrace.String() != "2s" || c.Storage.Lease.String() != "10s" {
		t.Errorf("server = %+v", c.Server)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := Load("/does/not/exist.yaml", nil)
	if want := "cannot read /does/not/exist.yaml: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	c := load(t, `
agents:
  - &base {id: a, kind: echo, timeout: 5s, maxToolRounds: 3}
  - <<: *base
    id: b
    timeout: 6s
`)
	b := c.Agents[1]
	if b.ID != "b" || b.Kind != AgentEcho || b.Timeout.String() != "6s" || b.MaxToolRounds != 3 {
		t.Errorf("merged agent = %+v", b)
	}
}

func TestNullKeepsTheDefault(t *testing.T) {
	c := load(t, "server:\n  listen:\nlog:\nagents: [{id: a, kind: echo, timeout: null, temperature: null}]")
	if c.Server.Listen != "127.0.0.1:8080" || c.Log.Level != LogInfo || c.Agents[0].Timeout.String() != "2m" {
		t.Errorf("server %v, log %v, agent %v", c.Server, c.Log, c.Agents[0])
	}
	if c.Agents[0].Temperature != nil {
		t.Errorf("temperature = %v, want none: null is how it is left out", *c.Agents[0].Temperature)
	}
}

func TestEmptyDocuments(t *testing.T) {
	for _, document := range []string{"", "# nothing\n", "---\n", "{}", "null", "\xef\xbb\xbf# mark\n"} {
		if got, want := asJSON(t, load(t, document)), asJSON(t, Default()); got != want {
			t.Errorf("%q differs from the default", document)
		}
	}
}

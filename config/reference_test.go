package config

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var referenceEnv = []string{"DEEPSEEK_API_KEY=k", "FEISHU_SECRET=f", "DINGTALK_SECRET=d"}

func TestReferenceHoldsTheDefaults(t *testing.T) {
	got := load(t, Reference(), referenceEnv...)
	want := Default()

	agent := DefaultAgent()
	agent.ID, agent.Kind = "assistant", AgentOpenAI
	agent.BaseURL, agent.APIKey, agent.Model = "https://api.deepseek.com/v1", "k", "deepseek-chat"
	want.Agents = []Agent{agent}

	want.MCPServers = []MCPServer{
		{Name: "clock", Command: []string{"clock-mcp"}, Timeout: Duration(time.Minute)},
		{Name: "search", URL: "http://127.0.0.1:9000/mcp", Timeout: Duration(time.Minute)},
	}

	feishu := DefaultFeishu()
	feishu.Account, feishu.AppID, feishu.AppSecret = "main", "cli_x", "f"
	english := LanguageEnglish
	feishu.Overrides = map[string]ChatOverride{"oc_abc": {Language: &english}}
	want.Channels.Feishu = []FeishuChannel{feishu}

	dingTalk := DefaultDingTalk()
	dingTalk.Account, dingTalk.ClientID, dingTalk.ClientSecret = "main", "ding_x", "d"
	want.Channels.DingTalk = []DingTalkChannel{dingTalk}

	want.Identities = map[string][]string{"lin": {"feishu/main/ou_123", "dingtalk/main/emp0042"}}
	want.Session.Slots = []StaticSlot{{ID: "handbook", Messages: []SlotMessage{{Role: "system", Content: "Holidays are listed in the handbook."}}}}

	task := DefaultTask()
	task.ID, task.Schedule, task.Timezone, task.Prompt = "standup", "0 9 * * 1-5", "Asia/Shanghai", "Summarise yesterday."
	task.Deliver = &Deliver{Channel: "feishu", Account: "main", ChatID: "oc_abc"}
	want.Tasks = []Task{task}
	want.fill()

	if !reflect.DeepEqual(got, want) {
		t.Errorf("the reference and the defaults differ:\ngot  %s\nwant %s", asJSON(t, got), asJSON(t, want))
	}
}

// Strict decoding finds keys of the file that no struct has; this finds keys of
// the structs that the file does not explain.
func TestReferenceExplainsEveryKey(t *testing.T) {
	// What the reference shows by way of example in other places.
	same := map[string]string{
		"ScopeOverride": "Scope", "GroupOverride": "Group", "ReplyOverride": "Reply",
		"AccessOverride": "Access", "ChatOverride": "ChatSettings",
	}
	eachStruct(func(name string, fields []field) {
		if same[name] != "" {
			return
		}
		for _, f := range fields {
			if !regexp.MustCompile(`(^|[\s{#-])`+f.name+`: `).MatchString(Reference()) &&
				!regexp.MustCompile(`(?m)(^|[\s{#-])`+f.name+`:$`).MatchString(Reference()) {
				t.Errorf("the reference does not show %s.%s", name, f.name)
			}
		}
	})
}

// Keys that are written as comments must be real ones, at their place.
func TestCommentedKeysOfTheReferenceAreReal(t *testing.T) {
	commented := regexp.MustCompile(`(?m)^( *(?:- )?)# ([a-zA-Z]+: .*)$`)
	matches := commented.FindAllStringSubmatch(Reference(), -1)
	checked := 0
	for _, m := range matches {
		if !strings.HasPrefix(m[1], "  ") {
			continue // prose at the margin
		}
		checked++
		document := strings.Replace(Reference(), m[0], m[1]+m[2], 1)
		_, err := Parse("reference.yaml", []byte(document), append([]string{"AGENT_SECRET=s"}, referenceEnv...))
		if err != nil && strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s:\n%v", m[2], err)
		}
	}
	if checked < 12 {
		t.Errorf("only %d commented keys found", checked)
	}
}

func TestReferenceNamesTheBuiltinTools(t *testing.T) {
	if want := strings.Join(BuiltinTools(), ", "); !strings.Contains(Reference(), want) {
		t.Errorf("the reference does not list %s", want)
	}
}

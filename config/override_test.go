package config

import (
	"reflect"
	"testing"
)

func TestOverridesChangeOnlyWhatIsPresent(t *testing.T) {
	c := load(t, `
agents: [{id: a, kind: echo}, {id: b, kind: echo}]
channels:
  feishu:
    - account: main
      appId: i
      appSecret: s
      agent: a
      group: {requireMention: false, isolateMembers: true}
      access: {allowUsers: [u1], admins: [u1]}
      systemPrompt: base
      overrides:
        all:
          agent: b
          scope: {direct: main, group: per_account_channel_peer, thread: parent}
          group: {requireMention: true, isolateMembers: false, observe: false, replyInThread: always}
          reply: {streaming: off, workingSign: false, mention: false}
          access: {direct: disabled, groups: pairing, allowUsers: [x], denyUsers: [y], allowChats: [z], admins: [w]}
          language: zh
          systemPrompt: other
        some:
          group: {requireMention: true}
          access: {allowUsers: [], denyUsers: [u2]}
          systemPrompt: ""
  dingtalk:
    - {account: main, clientId: i, clientSecret: s, agent: a, overrides: {cid1: {language: en}}}
`)
	feishu := c.Channels.Feishu[0]
	base := feishu.ChatSettings

	all := ChatSettings{
		Agent:        "b",
		Scope:        Scope{Direct: ScopeMain, Group: ScopePerAccountChannelPeer, Thread: ScopeParent},
		Group:        Group{RequireMention: true, ReplyInThread: ThreadReplyAlways},
		Reply:        Reply{Streaming: StreamingOff},
		Access:       Access{Direct: AccessDisabled, Groups: AccessPairing, AllowUsers: []string{"x"}, DenyUsers: []string{"y"}, AllowChats: []string{"z"}, Admins: []string{"w"}},
		Language:     LanguageChinese,
		SystemPrompt: "other",
	}
	some := base
	some.Group.RequireMention = true
	some.Access.AllowUsers, some.Access.DenyUsers = []string{}, []string{"u2"}
	some.SystemPrompt = ""

	for chat, want := range map[string]ChatSettings{"all": all, "some": some, "none": base, "": base} {
		if got := feishu.For(chat); !reflect.DeepEqual(got, want) {
			t.Errorf("For(%q):\ngot  %+v\nwant %+v", chat, got, want)
		}
	}
	if !reflect.DeepEqual(feishu.ChatSettings, base) {
		t.Error("For changed the account's settings")
	}
	if got := c.Channels.DingTalk[0].For("cid1"); got.Language != LanguageEnglish || got.Agent != "a" {
		t.Errorf("DingTalk: %+v", got)
	}
}

// Every setting of a chat can be overridden, under the same keys.
func TestOverridesCoverAllSettings(t *testing.T) {
	var compare func(settings, override reflect.Type)
	compare = func(settings, override reflect.Type) {
		for _, f := range fieldsOf(settings) {
			o, ok := fieldNamed(fieldsOf(override), f.name)
			if !ok {
				t.Errorf("%s lacks %s", override.Name(), f.name)
				continue
			}
			if f.typ.Kind() == reflect.Struct {
				compare(f.typ, o.typ.Elem())
			}
		}
		if a, b := len(fieldsOf(settings)), len(fieldsOf(override)); a != b {
			t.Errorf("%s has %d keys, %s has %d", settings.Name(), a, override.Name(), b)
		}
	}
	compare(reflect.TypeFor[ChatSettings](), reflect.TypeFor[ChatOverride]())
}

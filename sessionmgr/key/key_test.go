package key

import (
	"errors"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func TestEscape(t *testing.T) {
	for id, want := range map[string]string{
		"":                     "",
		"ou_AbC":               "ou_AbC",
		"$:LWCP_v1:$x+/=":      "$%3ALWCP_v1%3A$x+%2F=",
		"a b\t\x00\x7f%":       "a%20b%09%00%7F%25",
		"你好😀":                  "你好😀",
		strings.Repeat("/", 3): "%2F%2F%2F",
	} {
		if got := Escape(id); got != want {
			t.Errorf("Escape(%q) = %q, want %q", id, got, want)
		}
		if got, err := Unescape(want); err != nil || got != id {
			t.Errorf("Unescape(%q) = %q, %v", want, got, err)
		}
	}
}

func TestUnescapeRefusesOtherSpellings(t *testing.T) {
	for _, s := range []string{"a:b", "a/b", "a b", "%", "%2", "%2f", "%3a", "%41", "%zz", "\x7f", "a%", "%E4"} {
		if got, err := Unescape(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("Unescape(%q) = %q, %v; want ErrInvalid", s, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	id256 := strings.Repeat("x", models.MaxForeignID)
	for _, s := range []string{
		"agent:assistant:channel:any:scope:main:main",
		"agent:assistant:channel:any:scope:per_peer:lin",
		"agent:assistant:channel:any:scope:per_peer:feishu/main/ou_1",
		"agent:assistant:channel:any:scope:per_peer:feishu/main/group/oc_1/ou_1",
		"agent:a.b-c_d:channel:feishu:scope:per_channel_peer:a%3Ab",
		"agent:a:channel:dingtalk:scope:per_account_channel_peer:main/group/cid%2F+=",
		"agent:a:channel:feishu:scope:thread:main/oc_1/omt_1",
		"agent:a:channel:task:scope:task:standup",
		"agent:a:channel:feishu:scope:task:standup/run_1",
		"agent:a:channel:cli:scope:per_channel_peer:0123456789ab/default",
		"agent:a:channel:any:scope:per_peer:" + id256,
	} {
		k, err := Parse(s)
		if err != nil {
			t.Errorf("Parse(%q): %v", s, err)
		} else if k.String() != s {
			t.Errorf("Parse(%q).String() = %q", s, k)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, s := range map[string]string{
		"empty":                  "",
		"other words":            "agent:a:chan:any:scope:main:main",
		"too few segments":       "agent:a:channel:any:scope:main",
		"too many segments":      "agent:a:channel:any:scope:main:main:x",
		"blank in agent":         "agent:a b:channel:any:scope:main:main",
		"long agent":             "agent:" + strings.Repeat("a", 65) + ":channel:any:scope:main:main",
		"unknown scope":          "agent:a:channel:any:scope:all:main",
		"main of a channel":      "agent:a:channel:feishu:scope:main:main",
		"main of another":        "agent:a:channel:any:scope:main:x",
		"per_peer of a channel":  "agent:a:channel:feishu:scope:per_peer:x",
		"thread of any":          "agent:a:channel:any:scope:thread:main/c/t",
		"thread of task":         "agent:a:channel:task:scope:thread:main/c/t",
		"per_channel_peer any":   "agent:a:channel:any:scope:per_channel_peer:x",
		"empty scopeId":          "agent:a:channel:any:scope:per_peer:",
		"empty part":             "agent:a:channel:any:scope:per_peer:feishu//x",
		"lower-case hex":         "agent:a:channel:any:scope:per_peer:feishu/main/a%3ab",
		"escape without need":    "agent:a:channel:any:scope:per_peer:feishu/main/%41",
		"blank":                  "agent:a:channel:any:scope:per_peer:feishu/main/a b",
		"too many parts":         "agent:a:channel:any:scope:per_peer:a/b/c/d/e/f",
		"too many task parts":    "agent:a:channel:task:scope:task:a/b/c",
		"too many thread parts":  "agent:a:channel:feishu:scope:thread:a/b/c/d",
		"long id":                "agent:a:channel:any:scope:per_peer:" + strings.Repeat("x", 257),
		"long escaped id":        "agent:a:channel:any:scope:per_peer:" + strings.Repeat("%2F", 257),
		"not UTF-8":              "agent:a:channel:any:scope:per_peer:\xff",
		"longer than any key is": "agent:a:channel:any:scope:per_peer:" + strings.Repeat("x/", models.MaxKey),
	} {
		if k, err := Parse(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: Parse = %v, %v; want ErrInvalid", name, k, err)
		}
	}
}

func TestLongestKeyFits(t *testing.T) {
	id, name := strings.Repeat("/", models.MaxForeignID), strings.Repeat("n", models.MaxName)
	r := Request{AgentID: name, Channel: name, Account: name, ChatID: id, UserID: id, ThreadID: id, IsolateMembers: true}
	for _, scope := range []models.Scope{models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer, models.ScopeThread} {
		r.Scopes.Thread = scope
		k, err := Derive(r)
		if err != nil {
			t.Fatalf("%s: %v", scope, err)
		}
		if _, err := Parse(k.String()); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"", "a", "%2F", "%2f", "%", "a:b", "你", "%E4%BD"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := Unescape(Escape(s)); err != nil || got != s {
			t.Fatalf("Unescape(Escape(%q)) = %q, %v", s, got, err)
		}
		if id, err := Unescape(s); err == nil && Escape(id) != s {
			t.Fatalf("Unescape accepts %q, which Escape does not write", s)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("agent:assistant:channel:any:scope:per_peer:feishu/main/group/oc_1/ou_1")
	f.Add("agent:a:channel:dingtalk:scope:per_account_channel_peer:main/cid%2F+=")
	f.Add("agent:a:channel:task:scope:task:standup/run_1")
	f.Add("agent:a:channel:any:scope:main:main")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := Parse(s)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("Parse(%q): %v is no ErrInvalid", s, err)
			}
			return
		}
		if k.String() != s {
			t.Fatalf("Parse(%q) writes %q", s, k)
		}
	})
}

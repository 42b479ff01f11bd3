package filestore_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/store/filestore"
)

func TestSessionDirIsReadable(t *testing.T) {
	for key, want := range map[string]string{
		"agent:assistant:channel:cli:scope:per_channel_peer:3fa2b1c4d5e6/default":   "cli-3fa2b1c4d5e6-default-",
		"agent:assistant:channel:cli:scope:per_channel_peer:3fa2b1c4d5e6/周报":        "cli-3fa2b1c4d5e6-周报-",
		"agent:assistant:channel:any:scope:per_peer:feishu/main/ou_123":             "feishu-main-ou_123-",
		"agent:assistant:channel:any:scope:per_peer:dingtalk/main/group/cid0%2Fx==": "dingtalk-main-group.cid0_2Fx__-",
		"agent:assistant:channel:any:scope:per_peer:lin":                            "any-any-lin-",
		"agent:assistant:channel:any:scope:main:main":                               "any-any-main-",
		"agent:assistant:channel:feishu:scope:thread:main/oc_1/omt_2":               "feishu-main-oc_1.omt_2-",
		"agent:assistant:channel:feishu:scope:per_account_channel_peer:main/ou_1":   "feishu-main-ou_1-",
		"agent:assistant:channel:task:scope:task:standup/run_1":                     "task-any-standup.run_1-",
		"something else": "other-any-something_else-",
		"agent:assistant:channel:any:scope:per_peer:api/default/" + strings.Repeat("%2F", 256): "api-default-" + strings.Repeat("_2F", 32) + "-",
		"agent:assistant:channel:any:scope:per_peer:api/default/" + strings.Repeat("😀", 64):    "api-default-" + strings.Repeat("_", 64) + "-",
		"agent:assistant:channel:any:scope:per_peer:api/default/" + strings.Repeat("语", 85):    "api-default-" + strings.Repeat("语", 32) + "-",
	} {
		if got := filestore.SessionDir(key); !strings.HasPrefix(got, want) || len(got) != len(want)+24 {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// usable are names that every file system takes: no separators, no devices, not too
// long, nothing at the ends that some drop.
func usable(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	return len(name) <= 255 && utf8.ValidString(name) && !strings.ContainsAny(name, `/\:*?"<>|`+"\x00") && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") &&
		!regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`).MatchString(base)
}

// Whatever ids are, names can be used, and differ even where case does not count.
func TestNamesAreInjective(t *testing.T) {
	ids := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("aA.-_~/%语É")), 1, 4, -1),
		rapid.SampledFrom([]string{".", "..", "con", "CON", "con.txt", "nul", "default", "Default", "work", "Work", "work~", "a.", ".a", "work~3ee8f9a1b2c3d4e5f6a7b8c9", strings.Repeat("x", 64), strings.Repeat("X", 64)}),
		rapid.String(),
	)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := ids.Draw(rt, "a"), ids.Draw(rt, "b")
		for what, name := range map[string]func(string) string{
			"slot": func(id string) string { return strings.TrimPrefix(filestore.SlotFile(id), "slots/") },
			"session": func(id string) string {
				return filestore.SessionDir("agent:assistant:channel:any:scope:per_peer:api/default/" + id)
			},
		} {
			if !usable(name(a)) {
				rt.Fatalf("%s %q is called %q", what, a, name(a))
			}
			if (a == b) != strings.EqualFold(name(a), name(b)) {
				rt.Fatalf("%s %q and %q are called %q and %q", what, a, b, name(a), name(b))
			}
		}
	})
	for slot, want := range map[string]string{"default": "messages.jsonl", "work": "slots/work.jsonl", "re-view_2": "slots/re-view_2.jsonl"} {
		if got := filestore.SlotFile(slot); got != want {
			t.Errorf("slot %s is in %s", slot, got)
		}
	}
	for _, slot := range []string{"Work", "..", "con", "a.b"} {
		if got := filestore.SlotFile(slot); !regexp.MustCompile(`^slots/[A-Za-z_]+~[0-9a-f]{24}\.jsonl$`).MatchString(got) {
			t.Errorf("slot %s is in %s", slot, got)
		}
	}
}

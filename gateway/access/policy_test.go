package access

import "testing"

func TestAllows(t *testing.T) {
	p := Policy{
		Direct: Allowlist, Groups: Open,
		AllowUsers: []string{"ou_lin", "emp*"}, DenyUsers: []string{"ou_eve", "*bot*"},
		AllowChats: []string{"oc_1"}, Admins: []string{"ou_root"},
	}
	for _, c := range []struct {
		name   string
		direct bool
		chat   string
		users  []string
		want   bool
	}{
		{"named", true, "c", []string{"ou_lin"}, true},
		{"by glob", true, "c", []string{"emp0042"}, true},
		{"by another id", true, "c", []string{"ou_x", "emp1"}, true},
		{"case matters", true, "c", []string{"OU_LIN"}, false},
		{"not named", true, "c", []string{"ou_x"}, false},
		{"open group", false, "c", []string{"ou_x"}, true},
		{"denied in an open group", false, "c", []string{"ou_eve"}, false},
		{"denied by glob", false, "c", []string{"a-bot-1"}, false},
		{"administrator", true, "c", []string{"ou_root"}, true},
		{"chats are for groups", true, "oc_1", []string{"ou_x"}, false},
		{"an empty id matches nothing", true, "c", []string{""}, false},
	} {
		if got := p.Allows(c.direct, c.chat, c.users...); got != c.want {
			t.Errorf("%s: Allows = %v, want %v", c.name, got, c.want)
		}
	}
	denied := Policy{Direct: Open, Groups: Disabled, Admins: []string{"a"}, DenyUsers: []string{"a"}}
	if denied.Allows(true, "c", "a") {
		t.Error("a denied administrator was let in")
	}
	if denied.Allows(false, "c", "b") {
		t.Error("a disabled group let somebody in")
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{
		{"*", "anything", true}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "abd", false},
		{"a*b*c", "a-b-c", true}, {"a*a", "a", false}, {"", "", true}, {"", "x", false}, {"a", "a ", false},
	} {
		if got := match(c.pattern, c.id); got != c.want {
			t.Errorf("match(%q, %q) = %v, want %v", c.pattern, c.id, got, c.want)
		}
	}
}

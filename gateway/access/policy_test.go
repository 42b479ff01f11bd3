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
		if got := p.Judge(c.direct, c.chat, c.users...); (got == Allowed) != c.want {
			t.Errorf("%s: %v, want allowed %v", c.name, got, c.want)
		}
	}
	denied := Policy{Direct: Open, Groups: Disabled, Admins: []string{"a"}, DenyUsers: []string{"a"}}
	if denied.Judge(true, "c", "a") != Refused {
		t.Error("a denied administrator was let in")
	}
	if denied.Judge(false, "c", "b") != Refused {
		t.Error("a disabled group let somebody in")
	}
}

func TestPairing(t *testing.T) {
	p := Policy{Direct: Pairing, Groups: Pairing, AllowUsers: []string{"ou_lin"}, AllowChats: []string{"oc_1"}, DenyUsers: []string{"ou_eve"}, Admins: []string{"ou_root"}}
	for _, c := range []struct {
		direct     bool
		chat, user string
		want       Verdict
	}{
		{true, "c", "ou_x", Unknown}, {false, "c", "ou_x", Unknown}, {true, "c", "ou_lin", Allowed}, {false, "c", "ou_lin", Allowed},
		{false, "oc_1", "ou_x", Allowed}, {true, "oc_1", "ou_x", Unknown}, {false, "oc_1", "ou_eve", Refused}, {true, "c", "ou_root", Allowed},
	} {
		if got := p.Judge(c.direct, c.chat, c.user); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if p.Lenient() || !(Policy{Admins: []string{"a"}, AllowUsers: []string{"b"}}).Lenient() || (Policy{DenyUsers: []string{"a"}}).Lenient() {
		t.Error("lenient")
	}
}

func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		code := NewCode()
		if !IsCode(code) || seen[code] {
			t.Fatalf("code %q", code)
		}
		seen[code] = true
	}
	for _, c := range []struct {
		said, want string
		ok         bool
	}{
		{"P-7K3F9Q", "P-7K3F9Q", true}, {"p-7k3f9q", "P-7K3F9Q", true}, {"`P-7K3F9Q`", "P-7K3F9Q", true}, {"7K3F9Q", "7K3F9Q", false},
		{"P-7K3F9", "P-7K3F9", false}, {"P-7K3F90", "P-7K3F90", false}, {"", "", false},
	} {
		if got := ReadCode(c.said); got != c.want || IsCode(got) != c.ok {
			t.Errorf("%q is read as %q, a code: %v", c.said, got, IsCode(got))
		}
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
		if got := Match(c.pattern, c.id); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.id, got, c.want)
		}
	}
}

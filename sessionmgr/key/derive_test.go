package key

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func identities(t testing.TB) Identities {
	t.Helper()
	ids, err := NewIdentities(map[string][]string{"lin": {"feishu/main/ou_123", "dingtalk/main/emp/0042"}})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestDerive(t *testing.T) {
	direct := Request{AgentID: "assistant", Channel: "feishu", Account: "main", Direct: true, ChatID: "oc_p2p", UserID: "ou_1"}
	group := Request{AgentID: "assistant", Channel: "feishu", Account: "main", ChatID: "oc_1", UserID: "ou_1"}
	thread := group
	thread.ThreadID = "omt_1"
	with := func(r Request, change func(*Request)) Request { change(&r); return r }
	scoped := func(r Request, s models.Scope) Request {
		r.Scopes = Scopes{Direct: s, Group: s, Thread: s}
		return r
	}
	linked := with(direct, func(r *Request) { r.UserID, r.Identities = "ou_123", identities(t) })

	for name, c := range map[string]struct {
		r    Request
		want string
	}{
		"direct":                       {direct, "any:scope:per_peer:feishu/main/ou_1"},
		"group":                        {group, "any:scope:per_peer:feishu/main/group/oc_1"},
		"member":                       {with(group, func(r *Request) { r.IsolateMembers = true }), "any:scope:per_peer:feishu/main/group/oc_1/ou_1"},
		"thread":                       {thread, "feishu:scope:thread:main/oc_1/omt_1"},
		"thread in its parent":         {with(thread, func(r *Request) { r.Scopes.Thread = ThreadParent }), "any:scope:per_peer:feishu/main/group/oc_1"},
		"thread in its member":         {with(thread, func(r *Request) { r.Scopes.Thread, r.IsolateMembers = ThreadParent, true }), "any:scope:per_peer:feishu/main/group/oc_1/ou_1"},
		"direct thread in its parent":  {with(linked, func(r *Request) { r.Scopes.Thread, r.ThreadID = ThreadParent, "omt" }), "any:scope:per_peer:lin"},
		"direct main":                  {scoped(direct, models.ScopeMain), "any:scope:main:main"},
		"group main":                   {scoped(group, models.ScopeMain), "any:scope:main:main"},
		"direct per_channel_peer":      {scoped(direct, models.ScopePerChannelPeer), "feishu:scope:per_channel_peer:ou_1"},
		"group per_channel_peer":       {scoped(group, models.ScopePerChannelPeer), "feishu:scope:per_channel_peer:group/oc_1"},
		"direct per account":           {scoped(direct, models.ScopePerAccountChannelPeer), "feishu:scope:per_account_channel_peer:main/ou_1"},
		"group per account":            {scoped(group, models.ScopePerAccountChannelPeer), "feishu:scope:per_account_channel_peer:main/group/oc_1"},
		"identity":                     {linked, "any:scope:per_peer:lin"},
		"identity of other scope":      {scoped(linked, models.ScopePerChannelPeer), "feishu:scope:per_channel_peer:ou_123"},
		"identity in a group":          {with(linked, func(r *Request) { r.Direct, r.IsolateMembers = false, true }), "any:scope:per_peer:feishu/main/group/oc_p2p/ou_123"},
		"identity with a slash inside": {with(linked, func(r *Request) { r.Channel, r.UserID = "dingtalk", "emp/0042" }), "any:scope:per_peer:lin"},
		"base64 id":                    {with(direct, func(r *Request) { r.Channel, r.UserID = "dingtalk", "$:LWCP_v1:$ab+/==" }), "any:scope:per_peer:dingtalk/main/$%3ALWCP_v1%3A$ab+%2F=="},
	} {
		want := "agent:assistant:channel:" + c.want
		if got, err := Derive(c.r); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

func TestDeriveRefuses(t *testing.T) {
	ok := Request{AgentID: "a", Channel: "feishu", Account: "main", ChatID: "c", UserID: "u"}
	for name, change := range map[string]func(*Request){
		"no agent":          func(r *Request) { r.AgentID = "" },
		"no account":        func(r *Request) { r.Account = "" },
		"no channel":        func(r *Request) { r.Channel = "" },
		"channel any":       func(r *Request) { r.Channel = ChannelAny },
		"channel task":      func(r *Request) { r.Channel = ChannelTask },
		"no user":           func(r *Request) { r.Direct, r.UserID = true, "" },
		"no chat":           func(r *Request) { r.ChatID = "" },
		"no member":         func(r *Request) { r.IsolateMembers, r.UserID = true, "" },
		"no chat of thread": func(r *Request) { r.ThreadID, r.ChatID = "t", "" },
		"thread without id": func(r *Request) { r.Scopes.Group = models.ScopeThread },
		"task":              func(r *Request) { r.Scopes.Group = models.ScopeTask },
		"unknown scope":     func(r *Request) { r.Scopes.Group = "everybody" },
		"parent of a group": func(r *Request) { r.Scopes.Group = ThreadParent },
		"long id":           func(r *Request) { r.ChatID = strings.Repeat("x", 257) },
		"not UTF-8":         func(r *Request) { r.ChatID = "\xff" },
	} {
		r := ok
		change(&r)
		if got, err := Derive(r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, %v; want ErrInvalid", name, got, err)
		}
	}
}

func TestDeriveBackground(t *testing.T) {
	r := Request{AgentID: "a", Channel: "feishu", Account: "main", ChatID: "c", UserID: "u", IsolateMembers: true}
	got, err := DeriveBackground(r)
	if want := "agent:a:channel:any:scope:per_peer:feishu/main/group/c"; err != nil || got.String() != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}

func TestDeriveAPI(t *testing.T) {
	base := Request{AgentID: "a", Channel: ChannelAPI, Account: "default", Direct: true, UserID: "u"}
	all := []models.Scope{models.ScopeMain, models.ScopePerChannelPeer}
	for name, c := range map[string]struct {
		r    APIRequest
		want string
		err  error
	}{
		"plain":              {APIRequest{Request: base}, "any:scope:per_peer:api/default/u", nil},
		"scopeId alone":      {APIRequest{Request: base, ScopeID: "group/x"}, "any:scope:per_peer:api/default/group%2Fx", nil},
		"per_peer":           {APIRequest{Request: base, Scope: models.ScopePerPeer, ScopeID: "s"}, "any:scope:per_peer:api/default/s", nil},
		"per account":        {APIRequest{Request: base, Scope: models.ScopePerAccountChannelPeer, ScopeID: "s"}, "api:scope:per_account_channel_peer:default/s", nil},
		"thread":             {APIRequest{Request: base, Scope: models.ScopeThread, ScopeID: "c/t"}, "api:scope:thread:default/c%2Ft", nil},
		"main refused":       {APIRequest{Request: base, Scope: models.ScopeMain}, "", ErrScopeNotAllowed},
		"channel refused":    {APIRequest{Request: base, Scope: models.ScopePerChannelPeer, ScopeID: "s"}, "", ErrScopeNotAllowed},
		"main allowed":       {APIRequest{Request: base, Scope: models.ScopeMain, AllowScopes: all}, "any:scope:main:main", nil},
		"channel allowed":    {APIRequest{Request: base, Scope: models.ScopePerChannelPeer, ScopeID: "s", AllowScopes: all}, "api:scope:per_channel_peer:s", nil},
		"main has one":       {APIRequest{Request: base, Scope: models.ScopeMain, ScopeID: "x", AllowScopes: all}, "", ErrInvalid},
		"task":               {APIRequest{Request: base, Scope: models.ScopeTask, ScopeID: "x", AllowScopes: all}, "", ErrInvalid},
		"unknown":            {APIRequest{Request: base, Scope: "x", ScopeID: "x"}, "", ErrInvalid},
		"thread without ids": {APIRequest{Request: base, Scope: models.ScopeThread}, "", ErrInvalid},
		"long scopeId":       {APIRequest{Request: base, ScopeID: strings.Repeat("x", 257)}, "", ErrInvalid},
	} {
		got, err := DeriveAPI(c.r)
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%s: %v, %v; want %v", name, got, err, c.err)
			}
			continue
		}
		if want := "agent:a:channel:" + c.want; err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

func TestDeriveCaller(t *testing.T) {
	base := CallerRequest{AgentID: "a", Channel: "feishu", Account: "main", ChatID: "c", ThreadID: "t", UserID: "u"}
	with := func(change func(*CallerRequest)) CallerRequest { r := base; change(&r); return r }
	for name, c := range map[string]struct {
		r    CallerRequest
		want string
	}{
		"default":            {base, "any:scope:per_peer:feishu/main/c"},
		"user":               {with(func(r *CallerRequest) { r.ChatID = "" }), "any:scope:per_peer:feishu/main/u"},
		"thread for want":    {with(func(r *CallerRequest) { r.ChatID, r.UserID = "", "" }), "any:scope:per_peer:feishu/main/t"},
		"given":              {with(func(r *CallerRequest) { r.ScopeID = "lin" }), "any:scope:per_peer:lin"},
		"given parts":        {with(func(r *CallerRequest) { r.ScopeID = "feishu/main/group/a%3Ab" }), "any:scope:per_peer:feishu/main/group/a%3Ab"},
		"main":               {CallerRequest{AgentID: "a", Scope: models.ScopeMain}, "any:scope:main:main"},
		"channel":            {with(func(r *CallerRequest) { r.Scope = models.ScopePerChannelPeer }), "feishu:scope:per_channel_peer:c"},
		"account":            {with(func(r *CallerRequest) { r.Scope = models.ScopePerAccountChannelPeer }), "feishu:scope:per_account_channel_peer:main/c"},
		"thread":             {with(func(r *CallerRequest) { r.Scope = models.ScopeThread }), "feishu:scope:thread:main/c/t"},
		"thread, user alone": {with(func(r *CallerRequest) { r.Scope, r.ChatID, r.ThreadID = models.ScopeThread, "", "" }), "feishu:scope:thread:main/u"},
		"task":               {with(func(r *CallerRequest) { r.Scope = models.ScopeTask }), "feishu:scope:task:c"},
		"task of no channel": {CallerRequest{AgentID: "a", Scope: models.ScopeTask, ScopeID: "standup"}, "task:scope:task:standup"},
		"no account":         {with(func(r *CallerRequest) { r.Account = "" }), "any:scope:per_peer:feishu/c"},
		"escaped":            {with(func(r *CallerRequest) { r.ChatID = "a:b" }), "any:scope:per_peer:feishu/main/a%3Ab"},
	} {
		want := "agent:a:channel:" + c.want
		if got, err := DeriveCaller(c.r); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	for name, r := range map[string]CallerRequest{
		"empty":          {},
		"no ids":         {AgentID: "a", Channel: "feishu", Account: "main"},
		"no channel":     {AgentID: "a", Account: "main", UserID: "u"},
		"no agent":       with(func(r *CallerRequest) { r.AgentID = "" }),
		"not canonical":  with(func(r *CallerRequest) { r.ScopeID = "a:b" }),
		"main of x":      {AgentID: "a", Scope: models.ScopeMain, ScopeID: "x"},
		"unknown scope":  with(func(r *CallerRequest) { r.Scope = "x" }),
		"bad account":    with(func(r *CallerRequest) { r.Account = "a/b" }),
		"unused channel": {AgentID: "a", Scope: models.ScopeMain, Channel: "\xff"},
	} {
		if got, err := DeriveCaller(r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, %v; want ErrInvalid", name, got, err)
		}
	}
}

func TestNewIdentitiesRefuses(t *testing.T) {
	for name, links := range map[string]map[string][]string{
		"two names": {"lin": {"feishu/main/u"}, "wang": {"feishu/main/u"}},
		"no id":     {"lin": {"feishu/main"}},
		"empty id":  {"lin": {"feishu/main/"}},
		"bad name":  {"lin x": {"feishu/main/u"}},
		"channel":   {"lin": {"fei shu/main/u"}},
		"account":   {"lin": {"feishu//u"}},
	} {
		if _, err := NewIdentities(links); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v; want ErrInvalid", name, err)
		}
	}
}

func TestCLI(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	plain, err := WorkdirHash(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if linked, err := WorkdirHash(link, ""); err != nil || linked != plain {
		t.Errorf("link hashes to %s, %v; want %s", linked, err, plain)
	}
	if spaced, err := WorkdirHash(dir, "ci"); err != nil || spaced == plain {
		t.Errorf("namespace changes nothing: %s, %v", spaced, err)
	}
	t.Chdir(dir)
	if here, err := WorkdirHash(".", ""); err != nil || here != plain {
		t.Errorf(". hashes to %s, %v; want %s", here, err, plain)
	}
	if _, err := WorkdirHash(filepath.Join(dir, "absent"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent directory: %v", err)
	}

	k, err := CLI("a", plain, "")
	if want := "agent:a:channel:cli:scope:per_channel_peer:" + plain + "/default"; err != nil || k.String() != want {
		t.Errorf("%v, %v; want %s", k, err, want)
	}
	if _, err := CLI("a", "XYZ", "n"); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad hash: %v", err)
	}
}

func TestWorkdirHashKnown(t *testing.T) {
	// printf / | sha256sum
	if got, err := WorkdirHash("/", ""); err != nil || got != "8a5edab28263" {
		t.Errorf("hash of / = %s, %v", got, err)
	}
}

func TestTask(t *testing.T) {
	for _, c := range []struct{ channel, run, want string }{
		{"", "", "task:scope:task:standup"},
		{"feishu", "", "feishu:scope:task:standup"},
		{"feishu", "run_1", "feishu:scope:task:standup/run_1"},
	} {
		k, err := Task("a", c.channel, "standup", c.run)
		if want := "agent:a:channel:" + c.want; err != nil || k.String() != want {
			t.Errorf("%v, %v; want %s", k, err, want)
		}
	}
	if _, err := Task("a", "", "a/b", ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad task id: %v", err)
	}
}

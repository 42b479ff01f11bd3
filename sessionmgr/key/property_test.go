package key

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
)

// The draws come from small sets of awkward ids, so that two requests meet often.
var (
	ids      = rapid.SampledFrom([]string{"a", "b", "group", "main", "any", "lin", "a/b", "a:b", "a%2Fb", "%", "group/a", "feishu", "A", "a ", "😀"})
	names    = rapid.SampledFrom([]string{"main", "group", "feishu", "a", "lin"})
	channels = rapid.SampledFrom([]string{"feishu", "dingtalk", "group", "main", "a"})
	scopes   = rapid.SampledFrom([]models.Scope{"", models.ScopeMain, models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer})
)

func drawRequest(t *rapid.T, label string, linked Identities) Request {
	r := Request{
		AgentID:        names.Draw(t, label+".agent"),
		Channel:        channels.Draw(t, label+".channel"),
		Account:        names.Draw(t, label+".account"),
		Direct:         rapid.Bool().Draw(t, label+".direct"),
		ChatID:         ids.Draw(t, label+".chat"),
		UserID:         ids.Draw(t, label+".user"),
		IsolateMembers: rapid.Bool().Draw(t, label+".isolate"),
		Scopes: Scopes{
			Direct: scopes.Draw(t, label+".directScope"),
			Group:  scopes.Draw(t, label+".groupScope"),
			Thread: rapid.SampledFrom([]models.Scope{"", models.ScopeThread, ThreadParent, models.ScopeMain}).Draw(t, label+".threadScope"),
		},
		Identities: linked,
	}
	if rapid.Bool().Draw(t, label+".inThread") {
		r.ThreadID = ids.Draw(t, label+".thread")
	}
	return r
}

// place is what a request means, in fields that cannot run into each other.
type place struct {
	agent, channel, account, chat, user, thread, identity string
	scope                                                 models.Scope
	group                                                 bool
}

func placeOf(r Request) place {
	p := place{agent: r.AgentID, scope: r.scope()}
	switch p.scope {
	case models.ScopeMain:
		return p
	case models.ScopeThread:
		p.channel, p.account, p.chat, p.thread = r.Channel, r.Account, r.ChatID, r.ThreadID
		return p
	}
	if r.Direct && p.scope == models.ScopePerPeer {
		if name, ok := r.Identities.Name(r.Channel, r.Account, r.UserID); ok {
			p.identity = name
			return p
		}
	}
	p.channel = r.Channel
	if p.scope != models.ScopePerChannelPeer {
		p.account = r.Account
	}
	if p.group = !r.Direct; p.group {
		p.chat = r.ChatID
	}
	if r.Direct || r.IsolateMembers {
		p.user = r.UserID
	}
	return p
}

func TestDifferentRequestsNeverShareAKey(t *testing.T) {
	linked, err := NewIdentities(map[string][]string{"lin": {"feishu/main/a", "dingtalk/main/a/b"}, "group": {"main/main/group"}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRequest(t, "a", linked), drawRequest(t, "b", linked)
		ka, err := Derive(a)
		if err != nil {
			t.Fatal(err)
		}
		kb, err := Derive(b)
		if err != nil {
			t.Fatal(err)
		}
		if (ka.String() == kb.String()) != (placeOf(a) == placeOf(b)) {
			t.Fatalf("keys %s and %s, places %+v and %+v", ka, kb, placeOf(a), placeOf(b))
		}
		if parsed, err := Parse(ka.String()); err != nil || parsed != ka {
			t.Fatalf("Parse(%s) = %+v, %v", ka, parsed, err)
		}
	})
}

// A caller's scopeId may spell a person, as userId does, but never a group, a
// thread in a chat, another account or an identity.
func TestScopeIDStaysBelowTheAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, "r", Identities{})
		r.Channel = ChannelAPI
		given := APIRequest{Request: r, ScopeID: ids.Draw(t, "scopeId"), Scope: rapid.SampledFrom([]models.Scope{models.ScopePerPeer, models.ScopePerAccountChannelPeer, models.ScopeThread}).Draw(t, "scope")}
		k, err := DeriveAPI(given)
		if err != nil {
			t.Fatal(err)
		}
		if account := Escape(r.Account) + "/"; !strings.HasPrefix(strings.TrimPrefix(k.ScopeID, "api/"), account) {
			t.Fatalf("%s is not below %s", k, r.Account)
		}
		other := drawRequest(t, "other", Identities{})
		other.Channel = rapid.SampledFrom([]string{ChannelAPI, "feishu"}).Draw(t, "other.channel2")
		ko, err := Derive(other)
		if err != nil {
			t.Fatal(err)
		}
		if k != ko {
			return
		}
		p := placeOf(other)
		if p.group || p.thread != "" || p.identity != "" || p.account != r.Account || p.channel != ChannelAPI || p.user != given.ScopeID {
			t.Fatalf("scopeId %q reaches %+v by %s", given.ScopeID, p, k)
		}
	})
}

func TestCLIKeysMeetNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.StringMatching(`[0-9a-f]{12}`)
		a, b := hash.Draw(t, "a"), hash.Draw(t, "b")
		na, nb := ids.Draw(t, "na"), ids.Draw(t, "nb")
		ka, errA := CLI("a", a, na)
		kb, errB := CLI("a", b, nb)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (ka == kb) != (a == b && na == nb) {
			t.Fatalf("%s and %s", ka, kb)
		}
		if parsed, err := Parse(ka.String()); err != nil || parsed != ka {
			t.Fatalf("Parse(%s) = %+v, %v", ka, parsed, err)
		}
		r := drawRequest(t, "r", Identities{})
		r.AgentID, r.Channel = "a", ChannelCLI
		r.Scopes.Direct, r.Scopes.Group = models.ScopePerChannelPeer, models.ScopePerChannelPeer
		if k, err := Derive(r); err != nil || k == ka {
			t.Fatalf("chat message reaches %s: %v", ka, err)
		}
	})
}

// Complete requests of Go programs (both account and the scope's own ids given)
// share a key only where they mean the same chat, thread or person.
func TestCallerKeys(t *testing.T) {
	type target struct{ agent, channel, account, peer, thread string }
	draw := func(t *rapid.T, label string, scope models.Scope) (CallerRequest, target) {
		r := CallerRequest{AgentID: names.Draw(t, label+".agent"), Channel: channels.Draw(t, label+".channel"), Account: names.Draw(t, label+".account"), Scope: scope, ChatID: ids.Draw(t, label+".chat"), ThreadID: ids.Draw(t, label+".thread")}
		p := target{r.AgentID, r.Channel, r.Account, r.ChatID, ""}
		switch scope {
		case models.ScopeThread:
			p.thread = r.ThreadID
		case models.ScopePerChannelPeer:
			p.account = ""
		}
		return r, p
	}
	rapid.Check(t, func(t *rapid.T) {
		scope := rapid.SampledFrom([]models.Scope{models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer, models.ScopeThread}).Draw(t, "scope")
		a, pa := draw(t, "a", scope)
		b, pb := draw(t, "b", scope)
		ka, errA := DeriveCaller(a)
		kb, errB := DeriveCaller(b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (ka == kb) != (pa == pb) {
			t.Fatalf("%s and %s", ka, kb)
		}
		again := a
		again.ScopeID = ka.ScopeID
		if k, err := DeriveCaller(again); err != nil || k != ka {
			t.Fatalf("its own scopeId gives %v, %v; want %s", k, err, ka)
		}
	})
}

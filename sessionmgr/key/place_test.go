package key

import (
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func TestPlace(t *testing.T) {
	request := Request{AgentID: "a", Channel: "feishu", Account: "main", ChatID: "oc/1", UserID: "ou_1", ThreadID: "t"}
	for _, c := range []struct {
		name   string
		scope  models.Scope
		change func(*Request)
		want   bool
	}{
		{"group", models.ScopePerPeer, func(*Request) {}, true},
		{"member", models.ScopePerPeer, func(r *Request) { r.IsolateMembers = true }, true},
		{"of an account", models.ScopePerAccountChannelPeer, func(*Request) {}, true},
		{"everybody", models.ScopeMain, func(*Request) {}, false},
		{"direct", models.ScopePerPeer, func(r *Request) { r.Direct = true }, false},
		{"direct of an account", models.ScopePerAccountChannelPeer, func(r *Request) { r.Direct = true }, false},
	} {
		r := request
		r.ThreadID = ""
		r.Scopes = Scopes{Direct: c.scope, Group: c.scope}
		c.change(&r)
		k, err := Derive(r)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := k.Place()
		if ok != c.want || ok && got != (Place{"feishu", "main", "oc/1"}) {
			t.Errorf("%s: %s is %+v, %v", c.name, k, got, ok)
		}
	}
	thread := request
	thread.Scopes = Scopes{Thread: models.ScopeThread}
	k, err := Derive(thread)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := k.Place(); !ok || got != (Place{"feishu", "main", "oc/1"}) {
		t.Errorf("%s: %+v, %v", k, got, ok)
	}
	shared := request
	shared.ThreadID, shared.Scopes, shared.IsolateMembers = "", Scopes{Group: models.ScopePerChannelPeer}, true
	if k, err = Derive(shared); err != nil {
		t.Fatal(err)
	}
	if got, ok := k.Place(); !ok || got != (Place{Channel: "feishu", ChatID: "oc/1"}) {
		t.Errorf("%s: %+v, %v", k, got, ok)
	}
	shared.Direct, shared.Scopes = true, Scopes{Direct: models.ScopePerChannelPeer}
	if k, err = Derive(shared); err != nil {
		t.Fatal(err)
	}
	if got, ok := k.Place(); ok {
		t.Errorf("%s: %+v", k, got)
	}
	task, err := Task("a", "feishu", "t", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := task.Place(); ok {
		t.Errorf("%s: %+v", task, got)
	}
}

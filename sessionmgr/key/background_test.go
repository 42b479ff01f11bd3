package key_test

import (
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

func TestBackgroundIsTheGroupsSession(t *testing.T) {
	for _, scope := range []models.Scope{
		models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer, models.ScopeThread, models.ScopeMain,
	} {
		for _, direct := range []bool{false, true} {
			for _, thread := range []string{"", "omt/1"} {
				for _, isolate := range []bool{false, true} {
					r := key.Request{
						AgentID: "assistant", Channel: "feishu", Account: "main", Direct: direct, ChatID: "group", UserID: "li:n/%",
						ThreadID: thread, IsolateMembers: isolate,
						Scopes: key.Scopes{Direct: scope, Group: scope, Thread: key.ThreadParent},
					}
					if scope == models.ScopeThread {
						r.Scopes, r.ThreadID = key.Scopes{}, thread+"t"
					}
					k, err := key.Derive(r)
					if err != nil {
						t.Fatal(err)
					}
					want, err := key.DeriveBackground(r)
					if err != nil {
						t.Fatal(err)
					}
					if got := k.Background(); got != want {
						t.Errorf("background of %s is %s, want %s", k, got, want)
					}
				}
			}
		}
	}
}

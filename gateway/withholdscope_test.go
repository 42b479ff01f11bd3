package gateway_test

import (
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// A group's session that accounts of a channel share is looked through as well.
func TestDeniedInASharedScope(t *testing.T) {
	t.Parallel()
	for _, isolate := range []bool{false, true} {
		r := newRig(t)
		r.chat.Scopes, r.chat.IsolateMembers = key.Scopes{Group: models.ScopePerChannelPeer}, isolate
		r.start()
		r.say(said("m1", "eve", canary))
		r.ends("m1", models.InboundDone)
		r.say(overheard("m2", "eve", canary))
		r.say(said("m3", "ann", "hello"))
		r.ends("m3", models.InboundDone)
		r.deny(nil)
		before := r.requests()
		r.say(said("m4", "ann", "what was said?"))
		r.ends("m4", models.InboundDone)
		r.silent(before)
	}
}

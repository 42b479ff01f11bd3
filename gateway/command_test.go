package gateway_test

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

func TestCommandsDoNotWaitBehindATurn(t *testing.T) {
	t.Parallel()
	r := busy(t, func(*rig) {})
	r.say(said("c1", "bob", "/status"))
	in := r.ends("c1", models.InboundDone)
	if in.Reply == nil || in.Reply.Content == "" {
		t.Errorf("reply %+v", in.Reply)
	}
	if !r.mind.working(wait) {
		t.Error("the turn ended")
	}
	r.mind.release()
	r.ends("m0", models.InboundDone)
	equal(t, "history holds no command", r.history("m0"), "user "+wait, "assistant re: "+wait)
}

func TestStopEndsWhatItsSenderHas(t *testing.T) {
	t.Parallel()
	r := busy(t, func(*rig) {})
	r.say(said("m1", "ann", "one"))
	r.say(said("m2", "bob", "two"))
	r.say(said("c1", "ann", "停止"))
	r.ends("c1", models.InboundDone)
	for _, id := range []string{"m0", "m1"} {
		if in := r.ends(id, models.InboundCancelled); in.Code != models.CodeCancelled {
			t.Errorf("%s: code %q", id, in.Code)
		}
	}
	r.ends("m2", models.InboundDone)
	r.say(said("c2", "ann", "/stop"))
	if in := r.ends("c2", models.InboundDone); in.Reply.Content != text.Say(text.English, text.NothingToStop) {
		t.Errorf("reply %q", in.Reply.Content)
	}
}

func TestStopOfAnAdminEndsAll(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.chat.Access.Admins = []string{"boss"} })
	r.say(said("m1", "bob", "one"))
	r.say(said("c1", "boss", "/stop"))
	r.ends("m0", models.InboundCancelled)
	r.ends("m1", models.InboundCancelled)
}

func TestResetOfASharedSessionIsForAdmins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.Admins = []string{"boss"}
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.say(said("c1", "ann", "/reset"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.NeedsAdmin) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	if len(r.history("m1")) != 2 {
		t.Error("the session was reset all the same")
	}
	r.say(said("m2", "ann", wait))
	r.running(wait)
	r.say(said("m3", "bob", "three"))
	r.say(said("c2", "boss", "/reset"))
	in := r.ends("c2", models.InboundDone)
	if !strings.Contains(in.Reply.Content, text.Say(text.English, text.ResetSuperseded, 2)) {
		t.Errorf("the answer does not say that two messages were dropped: %q", in.Reply.Content)
	}
	r.ends("m2", models.InboundSuperseded)
	r.ends("m3", models.InboundSuperseded)
	equal(t, "history", r.history("m1"))
	r.say(said("m4", "ann", "afresh"))
	r.ends("m4", models.InboundDone)
	equal(t, "history after the next turn", r.history("m4"), "user afresh", "assistant re: afresh")
}

func TestNewOpensASlot(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.say(said("c1", "ann", "/new trip"))
	r.ends("c1", models.InboundDone)
	r.say(said("m2", "ann", "where to?"))
	if in := r.ends("m2", models.InboundDone); in.Slot != "trip" {
		t.Errorf("the next message is in slot %q", in.Slot)
	}
	equal(t, "history of the new slot", r.history("m2"), "user where to?", "assistant re: where to?")
	equal(t, "history of the old slot", r.history("m1"), "user hello", "assistant re: hello")
}

func TestRetryRunsTheSendersLastFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.does(fails(agents.Permanent))
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundFailed)
	r.mind.does(nil)
	r.say(said("c1", "bob", "/retry"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.NothingToRetry) {
		t.Errorf("bob's retry: %q", in.Reply.Content)
	}
	r.say(said("c2", "ann", "/retry"))
	r.ends("c2", models.InboundDone)
	r.until("the message runs again", func() bool { return r.inbound("m1").State == models.InboundDone })
	equal(t, "history", r.history("m1"), "user hello", "assistant re: hello")
}

func TestCommandRunsOnceHoweverOftenItComes(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for range 3 {
		r.say(said("c1", "ann", "/new"))
	}
	r.ends("c1", models.InboundDone)
	r.say(said("c2", "ann", "/new"))
	if in := r.ends("c2", models.InboundDone); !strings.Contains(in.Reply.Content, "chat-3") {
		t.Errorf("the second slot is not the second: %q", in.Reply.Content)
	}
	if n := len(r.delivered()); n != 2 {
		t.Errorf("%d answers to two commands", n)
	}
}

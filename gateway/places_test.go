package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

func aside(id, user, words string) *adapters.Message {
	m := said(id, user, words)
	m.Mentioned = false
	return m
}

// shown is all that the agent was sent in its latest turn.
func (r *rig) shown() string {
	var b strings.Builder
	for _, m := range r.mind.last().Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

func TestOverflowIsSaidWhereItHappened(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) {
		r.settings.Queue = gateway.Queue{Mode: gateway.Followup, Cap: 1}
		r.chat.Scopes = key.Scopes{Thread: key.ThreadParent}
	})
	there := said("m1", "bob", "one")
	there.Chat.ThreadID = "omt_1"
	r.say(there)
	r.say(said("m2", "ann", "two"))
	r.ends("m1", models.InboundSuperseded)
	for _, d := range r.deliveries() {
		if d.Kind == models.DeliveryNotice && (d.Target.ThreadID != "omt_1" || d.Target.UserID != "bob") {
			t.Errorf("the notice goes to %+v", d.Target)
		}
	}
	r.mind.release()
	r.ends("m2", models.InboundDone)
}

func TestTalkIsNotKeptWhereItIsNotToBe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Observe = false
	r.start()
	r.say(aside("m1", "bob", "the door code is 1234"))
	if in := r.ends("m1", models.InboundIgnored); strings.Contains(string(in.Payload), "1234") {
		t.Errorf("its text is stored: %s", in.Payload)
	}
	r.say(said("m2", "ann", "hello"))
	r.ends("m2", models.InboundDone)
	if strings.Contains(r.shown(), "1234") {
		t.Errorf("the agent was told: %q", r.shown())
	}
}

func TestRecalledTalkIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(aside("m1", "bob", "the door code is 1234"))
	r.say(aside("m2", "bob", "the train leaves at nine"))
	r.event(&adapters.Event{ID: "recall", Kind: adapters.Recalled, MessageID: "m1"})
	if in := r.ends("m1", models.InboundCancelled); len(in.Payload) > 0 {
		t.Errorf("its text is still stored: %s", in.Payload)
	}
	r.say(said("m3", "ann", "hello"))
	r.ends("m3", models.InboundDone)
	if shown := r.shown(); strings.Contains(shown, "1234") || !strings.Contains(shown, "nine") {
		t.Errorf("the agent was told %q", shown)
	}
}

func TestRecalledMessageIsNotTakenAlong(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Interrupt} })
	r.say(said("m1", "ann", "also "+hold))
	both := wait + "\nalso " + hold
	r.running(both)
	r.event(&adapters.Event{ID: "recall", Kind: adapters.Recalled, MessageID: "m0"})
	r.running("also " + hold) // asked anew
	r.mind.release()
	r.ends("m1", models.InboundDone)
	r.ends("m0", models.InboundCancelled)
	equal(t, "history", r.history("m1"), "user also "+hold, "assistant re: also "+hold)
	r.say(said("c1", "ann", "/retry"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.NothingToRetry) {
		t.Errorf("a recalled message can be retried: %q", in.Reply.Content)
	}
}

func isolated(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.chat.IsolateMembers = true
	r.settings.MaxInboundAge = 10 * time.Minute
	return r.start()
}

func TestThreadIsSharedAlthoughMembersAreIsolated(t *testing.T) {
	t.Parallel()
	r := isolated(t)
	reset := said("c1", "ann", "/reset")
	reset.Chat.ThreadID = "omt_1"
	r.say(reset)
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.NeedsAdmin) {
		t.Errorf("in a thread: %q", in.Reply.Content)
	}
	r.say(said("c2", "ann", "/reset"))
	if in := r.ends("c2", models.InboundDone); in.Reply.Content == text.Say(text.English, text.NeedsAdmin) {
		t.Errorf("in her own session: %q", in.Reply.Content)
	}
}

func TestResetOfAMemberLeavesLaterTalk(t *testing.T) {
	t.Parallel()
	r := isolated(t)
	r.say(aside("a1", "bob", "said before"))
	for _, id := range []string{"m1", "m2", "m3"} {
		r.say(said(id, "ann", "hello"))
		r.ends(id, models.InboundDone)
	}
	r.say(aside("a2", "bob", "said just before"))
	r.say(said("c1", "ann", "/reset"))
	r.ends("c1", models.InboundDone)
	r.say(aside("a3", "bob", "said after"))
	r.say(said("m4", "ann", "what was said?"))
	in := r.ends("m4", models.InboundDone)
	equal(t, "history", r.history("m4"), "user said after", "user what was said?", "assistant re: what was said?")
	if _, err := r.gateway.Reset(context.Background(), in.SessionKey, false); err != nil {
		t.Fatal(err)
	}
	r.say(aside("a4", "bob", "said last"))
	r.say(said("m5", "ann", "and now?"))
	r.ends("m5", models.InboundDone)
	equal(t, "history", r.history("m5"), "user said last", "user and now?", "assistant re: and now?")
}

func TestOldMessageOfAMemberIsBackground(t *testing.T) {
	t.Parallel()
	r := isolated(t)
	old := said("m1", "ann", "is anybody there?")
	old.SentAt = time.Now().Add(-time.Hour)
	r.say(old)
	r.ends("m1", models.InboundObserved)
	r.say(said("m2", "ann", "hello"))
	r.ends("m2", models.InboundDone)
	if !slices.Contains(r.history("m2"), "user is anybody there?") {
		t.Errorf("history %q", r.history("m2"))
	}
}

func TestTopicKeepsItsNameWithoutAliases(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	root := said("m1", "ann", "a topic")
	root.Chat.ThreadID = "om_1" // the event names no thread: its first message stands for it
	r.say(root)
	first := r.ends("m1", models.InboundDone)
	reply := said("m2", "ann", "more on it")
	reply.Chat.ThreadID, reply.Chat.ThreadAliases = "omt_1", []string{"om_1"}
	r.say(reply)
	if second := r.ends("m2", models.InboundDone); second.SessionKey != first.SessionKey {
		t.Errorf("the reply is in %s, its topic in %s", second.SessionKey, first.SessionKey)
	}
}

func TestWhatCanNeverBeStoredIsNotSentAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxInboundBytes = 100
	r.start()
	ctx, sink := context.Background(), r.platform.events()
	if err := sink.Accept(ctx, said("m1", strings.Repeat("u", 300), "hello")); err != nil {
		t.Errorf("a message whose sender has no usable id: %v", err)
	}
	if err := sink.Accept(ctx, said("m2", "ann", strings.Repeat("é", 60))); err != nil {
		t.Errorf("a message that is too large: %v", err)
	}
	if in := r.ends("m2", models.InboundIgnored); in.Code != models.CodeTooLarge {
		t.Errorf("code %q", in.Code)
	}
	r.until("its sender is told", func() bool { return len(r.platform.screen()) > 0 })
	equal(t, "screen", r.delivered(), text.Say(text.English, text.TooLarge))
	if err := sink.Accept(ctx, aside("m3", "ann", strings.Repeat("y", 150))); err != nil {
		t.Errorf("talk that is too large: %v", err)
	}
	r.ends("m3", models.InboundObserved)
	r.say(said("m4", "ann", "hello"))
	r.ends("m4", models.InboundDone)
	if h := r.history("m4"); h[0] != "user "+strings.Repeat("y", 100) {
		t.Errorf("history %q", h)
	}
}

func TestPushToADirectChatIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	direct := said("m1", "ann", "hello")
	direct.Chat = adapters.Chat{ID: "dm", Type: adapters.Direct}
	r.say(direct)
	r.ends("m1", models.InboundDone)
	r.delivered()
	_, err := r.gateway.Push(context.Background(), gateway.Push{
		Channel: "chat", Account: "main", Target: models.Target{ChatID: "dm"}, Text: "lunch is ready", Remember: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.until("it is remembered where she reads it", func() bool {
		return slices.Contains(r.history("m1"), "assistant lunch is ready")
	})
}

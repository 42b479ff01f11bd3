package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

func TestAnswerGoesWhereTheMessageCameFrom(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(said("m1", "ann", "hello"))
	in := r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), "re: hello")
	equal(t, "places", r.platform.where(), "group/: re: hello")
	equal(t, "history", r.history("m1"), "user hello", "assistant re: hello")
	if in.Reply == nil || in.Reply.Content != "re: hello" || in.FinishReason != "stop" {
		t.Errorf("the stored reply is %+v, finish reason %q", in.Reply, in.FinishReason)
	}
	r.until("the working sign is taken back", func() bool { return len(r.platform.working()) == 0 })
}

func TestDuplicatesRunOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { r.say(said("m1", "ann", "hello")) })
	}
	all.Wait()
	r.ends("m1", models.InboundDone)
	r.say(said("m1", "ann", "hello"))
	again := said("m2", "ann", "hello")
	again.EventID = "event-m1" // the platform repeats the event under another message id
	r.say(again)
	r.say(said("m3", "ann", "and more"))
	r.ends("m3", models.InboundDone)
	equal(t, "asked", r.mind.asked(), "hello", "and more")
	equal(t, "screen", r.delivered(), "re: hello", "re: and more")
}

func TestWhoMayNotTalkIsNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.DenyUsers = []string{"eve", "alt-mallory"}
	r.start()
	mallory := said("m2", "mallory", "hello")
	mallory.Sender.AltIDs = []string{"alt-mallory"}
	robot := said("m3", "robot", "hello")
	robot.Sender.IsBot = true
	sticker := said("m4", "ann", "[sticker]")
	sticker.Unsupported = true
	for _, m := range []*adapters.Message{said("m1", "eve", "hello"), mallory, robot, sticker, said("m5", "eve", "/help")} {
		r.say(m)
		if in := r.ends(m.ID, models.InboundIgnored); in.Code != models.CodeForbidden || in.Error == "" {
			t.Errorf("%s: code %q, error %q", m.ID, in.Code, in.Error)
		}
	}
	equal(t, "asked", r.mind.asked())
	r.until("both were told", func() bool { return len(r.delivered()) >= 2 })
	for _, said := range r.delivered() {
		if !strings.HasPrefix(said, "You may not use this bot here.") {
			t.Errorf("said %q", said)
		}
	}
}

func TestAccessModes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access = access.Policy{Direct: access.Disabled, Groups: access.Allowlist, AllowUsers: []string{"ann"}}
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.say(said("m2", "bob", "hello"))
	r.ends("m2", models.InboundIgnored)
	direct := said("m3", "ann", "hello")
	direct.Chat = adapters.Chat{ID: "dm", Type: adapters.Direct}
	r.say(direct)
	r.ends("m3", models.InboundIgnored)
}

func TestTalkThatIsNotForTheBotIsBackground(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	aside := said("m1", "bob", "the train leaves at nine")
	aside.Mentioned = false
	r.say(aside)
	r.ends("m1", models.InboundObserved)
	r.say(said("m2", "ann", "when does it leave?"))
	r.ends("m2", models.InboundDone)
	equal(t, "screen", r.delivered(), "re: when does it leave?")
	context := ""
	for _, m := range r.mind.last().Messages {
		context += m.Content + "\n"
	}
	if !strings.Contains(context, "the train leaves at nine") {
		t.Errorf("the agent was not shown what was said before: %q", context)
	}
	equal(t, "history", r.history("m2"), "user the train leaves at nine", "user when does it leave?", "assistant re: when does it leave?")
	r.say(said("m3", "ann", "thanks"))
	r.ends("m3", models.InboundDone)
	if n := len(r.history("m3")); n != 5 {
		t.Errorf("background is taken in once: the history has %d messages, want 5", n)
	}
}

func TestOldMessagesAreNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxInboundAge = 10 * time.Minute
	r.start()
	old := said("m1", "ann", "is anybody there?")
	old.SentAt = time.Now().Add(-time.Hour)
	r.say(old)
	r.ends("m1", models.InboundObserved)
	r.say(said("m2", "ann", "hello"))
	r.ends("m2", models.InboundDone)
	screen := r.delivered()
	if len(screen) != 2 || screen[0] != "re: hello" || !strings.Contains(screen[1], "1") {
		t.Errorf("the next answer says how many came too late: %q", screen)
	}
}

func TestMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxInboundBytes = 100
	r.start()
	pulled := func(in *gateway.Incoming) { in.Pulled = true }
	if err := r.accept(said("m1", "ann", strings.Repeat("x", 101)), pulled); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("error is %v", err)
	}
	if r.inbound("m1") != nil {
		t.Error("stored all the same")
	}
}

func TestThreadsAreOneSessionByAllTheirNames(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	root := said("m1", "ann", "a topic")
	root.Chat.ThreadID, root.Chat.ThreadAliases = "root-m1", []string{"root-m1"}
	r.say(root)
	first := r.ends("m1", models.InboundDone)
	reply := said("m2", "ann", "more on it")
	reply.Chat.ThreadID, reply.Chat.ThreadAliases = "omt_1", []string{"root-m1"}
	r.say(reply)
	if second := r.ends("m2", models.InboundDone); second.SessionKey != first.SessionKey {
		t.Errorf("the reply is in %s, its topic in %s", second.SessionKey, first.SessionKey)
	}
	later := said("m3", "ann", "and more")
	later.Chat.ThreadID, later.Chat.ThreadAliases = "omt_1", []string{"omt_1"}
	r.say(later)
	if third := r.ends("m3", models.InboundDone); third.SessionKey != first.SessionKey {
		t.Errorf("the later reply is in %s, its topic in %s", third.SessionKey, first.SessionKey)
	}
}

func TestThreadStartsWithACopyOfTheTurnItGrewOutOf(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(said("m1", "ann", "what is a lane?"))
	r.ends("m1", models.InboundDone)
	r.say(said("m2", "ann", "and something else"))
	r.ends("m2", models.InboundDone)
	r.delivered()
	thread := said("m3", "bob", "tell me more")
	thread.Chat.ThreadID, thread.Chat.ThreadOf = "omt_1", "m1"
	r.say(thread)
	r.ends("m3", models.InboundDone)
	equal(t, "history of the thread", r.history("m3"),
		"user what is a lane?", "assistant re: what is a lane?", "user tell me more", "assistant re: tell me more")
	equal(t, "history of the chat", r.history("m1"),
		"user what is a lane?", "assistant re: what is a lane?", "user and something else", "assistant re: and something else")
	r.delivered()
	equal(t, "places", r.platform.where()[2:], "group/omt_1: re: tell me more")
}

func TestMembersWithSessionsOfTheirOwnShareTheBackground(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.IsolateMembers = true
	r.chat.Scopes = key.Scopes{Group: models.ScopePerPeer}
	r.start()
	aside := said("m1", "cleo", "the door code is new")
	aside.Mentioned = false
	r.say(aside)
	r.say(said("m2", "ann", "hello"))
	r.say(said("m3", "bob", "hi"))
	ann, bob := r.ends("m2", models.InboundDone), r.ends("m3", models.InboundDone)
	if ann.SessionKey == bob.SessionKey {
		t.Error("two members share a session")
	}
	for _, id := range []string{"m2", "m3"} {
		if !slices.Contains(r.history(id), "user the door code is new") {
			t.Errorf("%s was not shown the chat's background: %q", id, r.history(id))
		}
	}
}

func TestRecall(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	recall := func(id string) { r.event(&adapters.Event{ID: "recall-" + id, Kind: adapters.Recalled, MessageID: id}) }

	recall("m0") // overtakes its message
	r.say(said("m0", "ann", "never mind"))

	r.say(said("m1", "ann", "one, please "+hold))
	r.running("one, please " + hold)
	r.say(said("m2", "ann", "two"))
	recall("m2") // waits
	recall("m1") // runs
	for _, id := range []string{"m1", "m2"} {
		if in := r.ends(id, models.InboundCancelled); in.Code != models.CodeCancelled {
			t.Errorf("%s: code %q", id, in.Code)
		}
	}
	r.until("the turn is cut", func() bool { return !r.mind.working("one, please " + hold) })
	r.say(said("m3", "ann", "three"))
	r.ends("m3", models.InboundDone)
	recall("m3") // is done: it stays
	r.ends("m3", models.InboundDone)
	equal(t, "asked", r.mind.asked(), "one, please "+hold, "three")
	equal(t, "screen", r.delivered(), "re: three")
	equal(t, "history", r.history("m3"), "user three", "assistant re: three")
	if r.platform.open() > 0 {
		t.Error("the card of the recalled turn was never finished")
	}
}

func TestStopButtonIsForTheAskerAndAdmins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.Admins = []string{"boss"}
	r.start()
	for i, who := range []string{"ann", "boss"} {
		id := []string{"m1", "m2"}[i]
		text := id + ", please " + hold
		r.say(said(id, "ann", text))
		r.running(text)
		press := func(user string) {
			r.event(&adapters.Event{
				ID: "press", Kind: adapters.ActionStop, InboundID: r.inbound(id).ID,
				Chat: adapters.Chat{ID: "group"}, Sender: adapters.Sender{ID: user},
			})
		}
		press("bob")
		if in := r.inbound(id); in.State != models.InboundRunning {
			t.Fatalf("somebody else's press made it %s", in.State)
		}
		press(who)
		r.ends(id, models.InboundCancelled)
	}
}

func TestAcceptFromAnUnknownAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	_, err := r.gateway.Accept(context.Background(), &gateway.Incoming{Channel: "chat", Account: "other", Message: said("m1", "ann", "hello")})
	if err == nil {
		t.Error("accepted")
	}
}

package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

const wait = "please " + hold

// busy starts a gateway whose group session is at work on a message of ann.
func busy(t *testing.T, change func(*rig)) *rig {
	t.Helper()
	r := newRig(t)
	change(r)
	r.start()
	r.say(said("m0", "ann", wait))
	r.running(wait)
	return r
}

func TestCollectMergesWhatOnePersonSaid(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Collect, Debounce: 10 * time.Second} })
	r.say(said("m1", "ann", "one"))
	r.say(said("m2", "ann", "two"))
	r.say(said("m3", "bob", "three"))
	r.say(said("m4", "ann", "four"))
	awaited := func(in *gateway.Incoming) { in.Awaited = true }
	if err := r.accept(said("m5", "ann", "five"), awaited); err != nil {
		t.Fatal(err)
	}
	r.say(said("m6", "ann", "six"))
	r.mind.release()
	for _, id := range []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6"} {
		r.ends(id, models.InboundDone)
	}
	equal(t, "asked", r.mind.asked(), wait, "one\ntwo", "three", "four", "five", "six")
	equal(t, "screen", r.delivered(), "re: "+wait, "re: one\ntwo", "re: three", "re: four", "re: five", "re: six")
	if merged := r.inbound("m2"); merged.MergedInto != r.inbound("m1").ID {
		t.Errorf("m2 is merged into %q", merged.MergedInto)
	}
	equal(t, "history", r.history("m0")[:5],
		"user "+wait, "assistant re: "+wait, "user one", "user two", "assistant re: one\ntwo")
}

func TestCollectKeepsPausesApart(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Collect, Debounce: time.Nanosecond} })
	r.say(said("m1", "ann", "one"))
	r.say(said("m2", "ann", "two"))
	r.mind.release()
	r.ends("m2", models.InboundDone)
	equal(t, "asked", r.mind.asked(), wait, "one", "two")
}

func TestCollectKeepsThreadsApart(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) {
		r.settings.Queue = gateway.Queue{Mode: gateway.Collect, Debounce: 10 * time.Second}
		r.chat.Scopes = key.Scopes{Thread: key.ThreadParent} // one session for the whole chat
	})
	here, there := said("m1", "ann", "one"), said("m2", "ann", "two")
	there.Chat.ThreadID = "omt_1"
	r.say(here)
	r.say(there)
	r.mind.release()
	r.ends("m2", models.InboundDone)
	r.delivered()
	equal(t, "places", r.platform.where(), "group/: re: "+wait, "group/: re: one", "group/omt_1: re: two")
}

func TestFollowupAnswersOneAfterTheOther(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Followup, Debounce: 10 * time.Second} })
	r.say(said("m1", "ann", "one"))
	r.say(said("m2", "ann", "two"))
	r.mind.release()
	r.ends("m2", models.InboundDone)
	equal(t, "asked", r.mind.asked(), wait, "one", "two")
}

func TestInterruptStartsAgainWithBothTexts(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Interrupt} })
	r.say(said("m1", "bob", "I wait"))
	r.say(said("m2", "ann", "no, this"))
	if in := r.ends("m0", models.InboundSuperseded); in.Code != models.CodeSuperseded {
		t.Errorf("code %q", in.Code)
	}
	r.until("the first turn is cut", func() bool { return !r.mind.working(wait) })
	r.mind.release()
	r.ends("m1", models.InboundDone)
	r.ends("m2", models.InboundDone)
	equal(t, "asked", r.mind.asked(), wait, "I wait", wait+"\nno, this")
	var answers []string
	for _, text := range r.delivered() {
		if strings.HasPrefix(text, "re: ") {
			answers = append(answers, text)
		}
	}
	equal(t, "answers", answers, "re: I wait", "re: "+wait+"\nno, this")
	equal(t, "history", r.history("m0"),
		"user I wait", "assistant re: I wait", "user "+wait, "user no, this", "assistant re: "+wait+"\nno, this")
	r.until("no card stays open", func() bool { return r.platform.open() == 0 })
}

func TestInterruptLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Interrupt} })
	r.say(said("m1", "bob", "one"))
	if !r.mind.working(wait) || r.inbound("m0").State != models.InboundRunning {
		t.Error("bob's message ended ann's turn")
	}
	r.mind.release()
	r.ends("m0", models.InboundDone)
	r.ends("m1", models.InboundDone)
}

func TestCapSupersedesTheOldestAndSaysSo(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Followup, Cap: 2} })
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		r.say(said(id, "ann", "this is "+id))
	}
	for _, id := range []string{"m1", "m2"} {
		r.ends(id, models.InboundSuperseded)
	}
	r.mind.release()
	for _, id := range []string{"m0", "m3", "m4"} {
		r.ends(id, models.InboundDone)
	}
	equal(t, "asked", r.mind.asked(), wait, "this is m3", "this is m4")
	notices := 0
	for _, d := range r.deliveries() {
		if d.Kind == models.DeliveryNotice {
			notices++
			if d.InboundID != r.inbound("m1").ID && d.InboundID != r.inbound("m2").ID {
				t.Errorf("the notice %q answers neither of the dropped messages", d.Text)
			}
		}
	}
	if notices != 2 {
		t.Errorf("%d notices for two messages that were dropped one by one", notices)
	}
}

func TestCapRefusesACallerThatCanComeBack(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.settings.Queue = gateway.Queue{Mode: gateway.Followup, Cap: 1} })
	reject := func(in *gateway.Incoming) { in.RejectWhenFull = true }
	if err := r.accept(said("m1", "ann", "one"), reject); err != nil {
		t.Fatal(err)
	}
	if err := r.accept(said("m2", "ann", "two"), reject); !errors.Is(err, store.ErrQueueFull) {
		t.Errorf("error %v, want %v", err, store.ErrQueueFull)
	}
	if r.inbound("m2") != nil {
		t.Error("stored all the same")
	}
}

func TestOrderWindowSortsByTheTimeOfThePlatform(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.platform.traits.OrderWindow = 300 * time.Millisecond
	r.start()
	late, early := said("m1", "ann", "second"), said("m2", "ann", "first")
	early.SentAt = late.SentAt.Add(-10 * time.Millisecond)
	r.say(late)
	r.say(early)
	r.ends("m1", models.InboundDone)
	equal(t, "asked", r.mind.asked(), "first", "second")
}

package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// says makes the agent give this answer to everything.
func (m *mind) says(content string) {
	m.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer(content), nil })
}

func TestAnswerIsCleanedOfWhatNoDatabaseStores(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.says("a\x00b\xff")
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), "ab\uFFFD")
	equal(t, "asked", r.mind.asked(), "hello")
}

func TestAnswerThatCannotBeStoredFailsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.says(strings.Repeat("x", models.MaxContent+1))
	r.start()
	r.say(said("m1", "ann", "hello"))
	in := r.ends("m1", models.InboundFailed)
	equal(t, "asked", r.mind.asked(), "hello")
	equal(t, "screen", r.delivered(), text.Say(text.English, text.AgentFailed, "E-"+in.ID[len(in.ID)-6:]))
	r.mind.does(nil)
	r.say(said("m2", "ann", "and now?"))
	r.ends("m2", models.InboundDone)
}

func TestSlotThatIsGoneByTheCommitFailsTheTurn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t).start()
	r.say(said("m1", "ann", "hello"))
	key := r.ends("m1", models.InboundDone).SessionKey
	change := func(do func(store.SessionTx) error) {
		t.Helper()
		if err := r.store.ChangeSession(ctx, key, do); err != nil {
			t.Fatal(err)
		}
	}
	change(func(tx store.SessionTx) error {
		err := tx.CreateSlot(&models.ContextSlot{ID: "work", Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, CreatedAt: time.Now()})
		if err != nil {
			return err
		}
		return tx.SwitchSlot("work")
	})
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		change(func(tx store.SessionTx) error { return tx.DeleteSlot("work", time.Now()) })
		return answer("too late"), nil
	})
	r.say(said("m2", "ann", "note this"))
	in := r.inbound("m2")
	r.until("it has its outcome", func() bool { in = r.inbound("m2"); return in.State.Final() })
	if in.State == models.InboundDone {
		t.Errorf("m2 is done, in a slot that is gone")
	}
	if n := len(r.mind.asked()); n != 2 {
		t.Errorf("the agent was asked %d times", n)
	}
}

func TestBlankAnswerIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.says(" \n\t")
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), text.Say(text.English, text.EmptyAnswer))
}

func TestAnswerThatRendersToNothingIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.platform.invisible = "<!-- -->"
	r.mind.says("<!-- -->")
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), text.Say(text.English, text.EmptyAnswer))
}

// TestMergedMessagesAreAllSent lets more messages wait together than a context may
// hold: none is lost.
func TestMergedMessagesAreAllSent(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) {
		r.settings.MaxMessages = 2
		r.settings.Queue.Mode, r.settings.Queue.Debounce = "collect", 10*time.Second
	})
	for i, id := range []string{"m1", "m2", "m3", "m4"} {
		r.say(said(id, "ann", "part "+string(rune('1'+i))))
	}
	r.mind.release()
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		r.ends(id, models.InboundDone)
	}
	r.mind.mu.Lock()
	defer r.mind.mu.Unlock()
	var sent []string
	for _, req := range r.mind.requests {
		for _, m := range req.Messages {
			sent = append(sent, m.Content)
		}
	}
	for _, part := range []string{"part 1", "part 2", "part 3", "part 4"} {
		if !strings.Contains(strings.Join(sent, "\n"), part) {
			t.Errorf("%s was never sent to the model: %q", part, sent)
		}
	}
}

func TestPanicsEndNothingButTheirWork(t *testing.T) {
	t.Parallel()
	t.Run("receiver", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.platform.bad = "run"
		r.start()
		r.say(said("m1", "ann", "hello"))
		r.ends("m1", models.InboundDone)
	})
	t.Run("stream card", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.platform.bad = "open"
		r.start()
		r.say(said("m1", "ann", wait))
		r.running(wait)
		r.mind.release()
		r.ends("m1", models.InboundDone)
		equal(t, "screen", r.delivered(), "re: "+wait)
	})
	t.Run("sender", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.chat.Streaming, r.platform.bad = false, "send"
		r.start()
		r.say(said("m1", "ann", "hello"))
		r.ends("m1", models.InboundDone)
		equal(t, "screen", r.delivered())
		if d := r.deliveries()[0]; d.State != models.DeliveryDead || !d.Ambiguous {
			t.Errorf("delivery is %+v", d)
		}
	})
}

// TestOneUnreachableUserStopsNobodyElse closes what is addressed to a user by id.
func TestOneUnreachableUserStopsNobodyElse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.start()
	push := func(user, say string) {
		t.Helper()
		p := pushToGroup(say)
		p.Target = models.Target{UserID: user, Direct: true}
		if _, err := r.gateway.Push(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	r.platform.fail(sendError(adapters.RateLimited, 300*time.Millisecond))
	push("bob", "for bob")
	r.until("bob has to wait", func() bool { return r.platform.sent() == 1 })
	r.platform.fail(sendError(adapters.TargetGone, 0))
	push("ann", "for ann")
	equal(t, "screen", r.delivered(), "for bob")
}

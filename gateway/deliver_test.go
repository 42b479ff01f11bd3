package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

// sentAfter lets the platform treat one answer in the ways given and returns what
// is stored of its delivery in the end.
func sentAfter(t *testing.T, window time.Duration, faults ...error) (*rig, *models.Delivery) {
	t.Helper()
	r := newRig(t)
	r.chat.Streaming, r.platform.traits.IdempotencyWindow = false, window
	r.platform.fail(faults...)
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.delivered()
	return r, r.deliveries()[0]
}

func TestDeliveryIsRepeatedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	r, d := sentAfter(t, 0, sendError(adapters.Retry, 0), sendError(adapters.RateLimited, time.Millisecond))
	if d.State != models.DeliveryDelivered || d.Attempts != 3 || d.PlatformMessageID == "" || d.DeliveredAt == nil {
		t.Errorf("delivery is %+v", d)
	}
	equal(t, "screen", r.platform.screen(), "re: hello")
}

func TestDeliveryWaitsAsLongAsThePlatformAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Streaming = false
	r.platform.fail(sendError(adapters.RateLimited, time.Hour))
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.until("the refusal is stored", func() bool {
		return r.deliveries()[0].Attempts == 1 && r.deliveries()[0].State == models.DeliveryPending
	})
	if next := r.deliveries()[0].NextAttemptAt; next == nil || time.Until(*next) < 59*time.Minute {
		t.Errorf("the next attempt is at %v", next)
	}
}

func TestDeliveryWithUnknownOutcome(t *testing.T) {
	t.Parallel()
	unknown := sendError(adapters.Unknown, 0)
	t.Run("is repeated where the platform recognises it", func(t *testing.T) {
		t.Parallel()
		r, d := sentAfter(t, time.Hour, unknown, unknown)
		if d.State != models.DeliveryDelivered || !d.Ambiguous {
			t.Errorf("delivery is %+v", d)
		}
		if n := r.platform.sent(); n != 3 {
			t.Errorf("%d attempts", n)
		}
	})
	t.Run("is repeated once elsewhere, and marked", func(t *testing.T) {
		t.Parallel()
		_, d := sentAfter(t, 0, unknown)
		if d.State != models.DeliveryDelivered || !d.Ambiguous || d.Error == "" {
			t.Errorf("delivery is %+v", d)
		}
	})
	t.Run("and then shown to the operator", func(t *testing.T) {
		t.Parallel()
		r, d := sentAfter(t, 0, unknown, unknown)
		if d.State != models.DeliveryDead || !strings.Contains(d.Error, "may have been sent") {
			t.Errorf("delivery is %+v", d)
		}
		if n := r.platform.sent(); n != 2 {
			t.Errorf("%d attempts", n)
		}
		if _, err := r.gateway.RetryDelivery(context.Background(), d.ID); err != nil {
			t.Fatal(err)
		}
		equal(t, "screen after a retry by hand", r.delivered(), "re: hello")
	})
}

func TestDeliveryThatIsRefusedFails(t *testing.T) {
	t.Parallel()
	r, d := sentAfter(t, 0, sendError(adapters.Refused, 0))
	if d.State != models.DeliveryFailed || d.Error == "" || d.Attempts != 1 {
		t.Errorf("delivery is %+v", d)
	}
	r.say(said("m2", "ann", "again"))
	r.ends("m2", models.InboundDone)
	equal(t, "what comes after it", r.delivered(), "re: again")
}

func TestDeliveriesToAChatThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Streaming = false
	r.platform.fail(sendError(adapters.RateLimited, 200*time.Millisecond), sendError(adapters.TargetGone, 0))
	r.start()
	r.say(said("m1", "ann", "one"))
	r.say(said("m2", "ann", "two"))
	r.ends("m2", models.InboundDone)
	equal(t, "screen", r.delivered())
	// Refused for good the one, given up the other; the newest comes first.
	for i, want := range []models.DeliveryState{models.DeliveryDead, models.DeliveryFailed} {
		if d := r.deliveries()[i]; d.State != want || d.Error == "" {
			t.Errorf("delivery is %+v, want %s", d, want)
		}
	}
	if n := r.platform.sent(); n != 2 {
		t.Errorf("%d attempts: what waits behind a chat that is gone is not tried", n)
	}
}

func TestDeliveryWhileTheAccountIsUnavailableCountsNoAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Streaming = false
	r.platform.fail(sendError(adapters.Unavailable, 100*time.Millisecond))
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.until("the first attempt is over", func() bool {
		all := r.deliveries()
		return r.platform.sent() == 1 && len(all) == 1 && all[0].State == models.DeliveryPending
	})
	d := r.deliveries()[0]
	if d.Attempts != 0 || d.NextAttemptAt == nil || time.Until(*d.NextAttemptAt) < 10*time.Second {
		t.Errorf("delivery is %+v", d)
	}
}

func TestAnswerThatIsTooOldIsNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxDeliveryAge = time.Nanosecond
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered())
	if d := r.deliveries()[0]; d.State != models.DeliveryDead || !strings.Contains(d.Error, "maxDeliveryAge") {
		t.Errorf("delivery is %+v", d)
	}
}

func TestOneChatDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Streaming = false
	r.platform.fail(sendError(adapters.RateLimited, time.Hour))
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.until("the chat has to wait", func() bool { return r.platform.sent() == 1 })
	other := said("m2", "ann", "hi")
	other.Chat.ID = "another group"
	r.say(other)
	r.until("the other chat is answered", func() bool { return len(r.platform.screen()) == 1 })
	equal(t, "places", r.platform.where(), "another group/: re: hi")
}

func TestPush(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	push := gateway.Push{
		Channel: "chat", Account: "main", Target: models.Target{ChatID: "group"},
		Text: "the build is red", IdempotencyKey: "build-1", Remember: true,
	}
	first, err := r.gateway.Push(context.Background(), push)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.gateway.Push(context.Background(), push)
	if err != nil || again[0] != first[0] {
		t.Errorf("a repeat gives %v after %v, %v", again, first, err)
	}
	equal(t, "screen", r.delivered(), "the build is red")
	r.say(said("m1", "ann", "why?"))
	r.ends("m1", models.InboundDone)
	equal(t, "history", r.history("m1"), "assistant the build is red", "user why?", "assistant re: why?")
}

package dingtalk

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func push(text string) *models.Delivery {
	return &models.Delivery{ID: "d", Text: text, Kind: models.DeliveryPush, Target: models.Target{ChatID: "cidGroup=="}}
}

func TestTokenIsFetchedOnce(t *testing.T) {
	b := newBench(t, setup{})
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := b.send(push("hello")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(b.platform.Journal(dingtalktest.OpToken)); n != 1 {
		t.Errorf("the token was fetched %d times", n)
	}
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	for _, code := range []string{"InvalidAuthentication", "40014", "42001", "88"} {
		t.Run(code, func(t *testing.T) {
			b := newBench(t, setup{})
			b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
			if _, err := b.send(push("one")); err != nil {
				t.Fatal(err)
			}
			b.platform.Fail(dingtalktest.OpGroupSend, dingtalktest.Refusal(400, code))
			b.platform.RevokeToken()
			if _, err := b.send(push("two")); err != nil {
				t.Fatal(err)
			}
			b.platform.Fail(dingtalktest.OpGroupSend, dingtalktest.Refusal(400, code), dingtalktest.Refusal(400, code))
			if _, err := b.send(push("three")); kindOfErr(err) != adapters.Unavailable {
				t.Errorf("refused twice: %v", err)
			}
			if n := len(b.platform.Journal(dingtalktest.OpGroupSend)); n != 5 {
				t.Errorf("%d calls, want 5", n)
			}
		})
	}
}

func TestTokenIsRenewedEarly(t *testing.T) {
	c := clock.NewFake(time.Unix(1790000000, 0))
	fetched := 0
	tokens := newTokens(c, func(context.Context) (string, time.Duration, error) {
		fetched++
		return "t", 2 * time.Hour, nil
	})
	for _, step := range []struct {
		advance time.Duration
		want    int
	}{{0, 1}, {time.Hour + 54*time.Minute, 1}, {2 * time.Minute, 2}} {
		c.Advance(step.advance)
		if _, err := tokens.get(t.Context()); err != nil || fetched != step.want {
			t.Errorf("after %s: fetched %d times, want %d (%v)", step.advance, fetched, step.want, err)
		}
	}
}

func TestBadCredentialsAreNotAskedAgainAtOnce(t *testing.T) {
	b := newBench(t, setup{fake: true})
	b.adapter.api.cfg.ClientSecret = "wrong"
	for range 5 {
		if _, err := b.send(push("x")); kindOfErr(err) != adapters.Unavailable {
			t.Errorf("%v", err)
		}
	}
	if n := len(b.platform.Journal(dingtalktest.OpToken)); n != 1 {
		t.Errorf("asked %d times", n)
	}
	b.clock.Advance(refusedFor)
	b.adapter.api.cfg.ClientSecret = b.platform.ClientSecret()
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
	if _, err := b.send(push("x")); err != nil {
		t.Error(err)
	}
}

func TestFailuresBeforeTheMessageLeaveNothingUnclear(t *testing.T) {
	for name, fault := range map[string]dingtalktest.Fault{
		"page": dingtalktest.Page(502), "broken": {Drop: true}, "empty": {Body: `{}`},
	} {
		b := newBench(t, setup{})
		b.platform.Fail(dingtalktest.OpToken, fault)
		if _, err := b.send(push("x")); kindOfErr(err) != adapters.Retry {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWaitingForTheTokenEnds(t *testing.T) {
	tokens := newTokens(clock.Real(), nil)
	tokens.turn <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if _, err := tokens.get(ctx); err == nil {
		t.Error("no error")
	}
}

func TestQuotaStopsCalls(t *testing.T) {
	b := newBench(t, setup{fake: true})
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
	b.platform.Fail(dingtalktest.OpGroupSend, dingtalktest.Refusal(403, "Forbidden.AccessDenied.ApiCountLimitForOrg"))
	for range 3 {
		_, err := b.send(push("x"))
		if e := adapters.SendErrorOf(err); err == nil || e.Kind != adapters.Unavailable {
			t.Errorf("%v", err)
		}
	}
	if n := len(b.platform.Journal(dingtalktest.OpGroupSend)); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	if s := b.adapter.Status(); s.Error == "" {
		t.Error("the status does not tell")
	}
	b.clock.Advance(probeAfter)
	if _, err := b.send(push("x")); err != nil {
		t.Errorf("the probe: %v", err)
	}
	if s := b.adapter.Status(); s.Error != "" {
		t.Errorf("the status still tells: %s", s.Error)
	}
}

func TestQuotaEndsWithTheMonth(t *testing.T) {
	c := clock.NewFake(time.Date(2026, 10, 31, 23, 50, 0, 0, quotaZone))
	q := newQuota(c)
	q.note(&apiError{class: classQuota, code: "90020"})
	if e := adapters.SendErrorOf(q.check()); e.RetryAfter != 10*time.Minute || e.Code != "90020" {
		t.Errorf("%+v", e)
	}
	c.Advance(10 * time.Minute)
	if err := q.check(); err != nil {
		t.Errorf("the first call of the month: %v", err)
	}
	if err := q.check(); err == nil {
		t.Error("a second call goes out before the probe's answer")
	}
	q.note(nil)
	if err := q.check(); err != nil {
		t.Errorf("after the probe: %v", err)
	}
}

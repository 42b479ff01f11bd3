package provider

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() time.Time { return clock.Real().Now() }

var errDown = errors.New("down")

func transient(after time.Duration) error {
	return &agents.Error{Kind: agents.Transient, RetryAfter: after, Err: errDown}
}

func newRetrier(budget time.Duration) *Retrier {
	return NewRetrier(clock.Real(), NewCallBreaker(clock.Real()), budget)
}

func TestRetryIsBoundByItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, calls := now(), 0
		err := newRetrier(DefaultRetryBudget).Do(t.Context(), func() error { calls++; return transient(0) })
		if !errors.Is(err, errDown) {
			t.Errorf("got %v, want the last failure", err)
		}
		if took := now().Sub(start); took > DefaultRetryBudget || took < DefaultRetryBudget/2 {
			t.Errorf("tried for %s, want most of %s", took, DefaultRetryBudget)
		}
		if calls < 5 || calls > 25 {
			t.Errorf("%d calls in %s", calls, DefaultRetryBudget)
		}
	})
}

func TestRetrySharesItsBudgetAmongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(DefaultRetryBudget)
		for range 2 {
			failed := false
			if err := r.Do(t.Context(), func() error {
				if !failed {
					failed = true
					return transient(8 * time.Second)
				}
				return nil
			}); err != nil {
				t.Fatalf("within budget: %v", err)
			}
		}
		calls := 0
		err := r.Do(t.Context(), func() error { calls++; return transient(8 * time.Second) })
		if err == nil || calls != 1 {
			t.Errorf("beyond budget: %d calls, error %v; want one call and its failure", calls, err)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		_ = newRetrier(DefaultRetryBudget).Do(t.Context(), func() error {
			at = append(at, now())
			return transient(6 * time.Second)
		})
		if len(at) != 4 {
			t.Fatalf("%d calls, want 4 within the budget", len(at))
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < 6*time.Second || gap > 6700*time.Millisecond {
				t.Errorf("waited %s, was asked for 6s", gap)
			}
		}
	})
}

func TestRetryOnlyWhatMayPass(t *testing.T) {
	for _, kind := range []agents.ErrorKind{agents.Permanent, agents.Overflow, agents.Auth, agents.Timeout} {
		calls := 0
		err := newRetrier(time.Minute).Do(t.Context(), func() error {
			calls++
			return &agents.Error{Kind: kind, Err: errDown}
		})
		if calls != 1 || agents.KindOf(err) != kind {
			t.Errorf("%s: %d calls, error %v", kind, calls, err)
		}
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := newRetrier(DefaultRetryBudget).Do(ctx, func() error { return transient(5 * time.Second) })
		if agents.KindOf(err) != agents.Timeout {
			t.Errorf("at the deadline: %v, want a timeout", err)
		}
		stopped := errors.New("stopped")
		ctx, abort := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { abort(stopped) })
		err = newRetrier(DefaultRetryBudget).Do(ctx, func() error { return transient(5 * time.Second) })
		if !errors.Is(err, stopped) {
			t.Errorf("cancelled: %v, want the cause", err)
		}
	})
}

// A provider that is down for ten minutes, and 200 lanes that want it.
func TestDeadServiceIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Real()
		breaker := NewCallBreaker(c)
		start := now()
		back := start.Add(10 * time.Minute)
		var mu sync.Mutex
		perSecond := map[int]int{}
		call := func() error {
			mu.Lock()
			perSecond[int(now().Sub(start)/time.Second)]++
			mu.Unlock()
			_ = clock.Sleep(t.Context(), c, 10*time.Millisecond)
			if now().Before(back) {
				return transient(0)
			}
			return nil
		}
		var lanes sync.WaitGroup
		for range 200 {
			lanes.Go(func() {
				for NewRetrier(c, breaker, DefaultRetryBudget).Do(t.Context(), call) != nil {
				}
			})
		}
		lanes.Wait()
		for second, calls := range perSecond {
			if second > 0 && second < 600 && calls > 2 { // a boundary may part a pause unevenly
				t.Errorf("%d calls in second %d, want about one", calls, second)
			}
		}
		down := 0
		for second := 1; second < 600; second++ {
			down += perSecond[second]
		}
		if down > 600 {
			t.Errorf("%d calls in ten minutes, want at most one a second", down)
		}
		if took := now().Sub(back); took > 5*time.Second {
			t.Errorf("drained %s after the service was back", took)
		}
	})
}

func TestBreakerPauseGrows(t *testing.T) {
	c := clock.NewFake(time.Unix(0, 0))
	b := NewBreaker(c, 2, time.Second, 3*time.Second)
	b.Failed()
	if wait := b.Admit(); wait != 0 {
		t.Fatalf("closed after one failure, for %s", wait)
	}
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		b.Failed()
		if wait := b.Admit(); wait != want {
			t.Errorf("pause %s, want %s", wait, want)
		}
		c.Advance(want)
		if wait := b.Admit(); wait != 0 {
			t.Errorf("still withheld for %s after the pause", wait)
		}
		if wait := b.Admit(); wait == 0 {
			t.Error("a second call was admitted in the same pause")
		}
	}
	b.Succeeded()
	if wait := b.Admit(); wait != 0 {
		t.Errorf("withheld for %s after a success", wait)
	}
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
	} {
		h := http.Header{}
		h.Set(test.name, test.value)
		if got := RetryAfter(h, now); got != test.want {
			t.Errorf("%s: %s is %s, want %s", test.name, test.value, got, test.want)
		}
	}
}

func TestKindOfStatus(t *testing.T) {
	want := map[agents.ErrorKind][]int{
		agents.Transient: {408, 409, 425, 429, 500, 502, 503, 504, 529},
		agents.Auth:      {401, 402, 403},
		agents.Overflow:  {413},
		agents.Permanent: {301, 400, 404, 405, 422, 501},
	}
	for kind, statuses := range want {
		for _, status := range statuses {
			if got := KindOfStatus(status); got != kind {
				t.Errorf("status %d is %s, want %s", status, got, kind)
			}
		}
	}
}

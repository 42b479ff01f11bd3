package lifecycle_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/lease"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// However many replicas there are, and whichever of them stops, each time of a
// schedule is one pass.
func TestOnePassForEachTime(t *testing.T) {
	r := newRig(t)
	r.settings.Schedules = map[string]string{lifecycle.Prune: "@every 1m"}
	var passes atomic.Int64
	r.slots = []lifecycle.SlotJob{{
		Name: lifecycle.Prune, Workers: 1, Off: func() string { return "" },
		Candidates: func(context.Context, string, int) ([]store.SlotSize, string, error) {
			passes.Add(1)
			return nil, "", nil
		},
	}}
	var group sync.WaitGroup
	var stops []context.CancelFunc
	led := make([]atomic.Int64, 3)
	for i := range led {
		ctx, stop := context.WithCancel(context.Background())
		stops = append(stops, stop)
		owner := fmt.Sprint("replica-", i)
		leader := lease.New(lease.Config{Name: "leader", Owner: owner, Time: time.Second}, r.store, clock.Real(), slog.New(slog.DiscardHandler))
		runner := r.runner(owner)
		group.Go(func() {
			leader.Run(ctx, func(ctx context.Context) {
				led[i].Add(1)
				runner.Run(ctx)
			})
		})
	}
	finished := func() (last time.Time) {
		runs, err := r.store.JobRuns(t.Context())
		r.ok(err)
		if len(runs) == 1 && !runs[0].FinishedAt.IsZero() {
			last = runs[0].StartedAt
		}
		return last
	}
	const times = 30
	for n := range times {
		r.until(fmt.Sprint("pass ", n), func() bool { return finished().Equal(r.clock.Now()) })
		if n == times/3 { // whoever leads goes
			for i := range led {
				if led[i].Load() == 1 {
					stops[i]()
					break
				}
			}
		}
		r.clock.Advance(time.Minute)
	}
	r.until("the last pass", func() bool { return finished().Equal(r.clock.Now()) })
	for _, stop := range stops {
		stop()
	}
	group.Wait()
	if got := passes.Load(); got != times+1 {
		t.Errorf("%d passes for %d times", got, times+1)
	}
	leaders := 0
	for i := range led {
		if led[i].Load() > 0 {
			leaders++
		}
	}
	if leaders != 2 {
		t.Errorf("%d replicas led", leaders)
	}
}

// What fails does not keep a pass from what comes behind it, nor from what is worked on
// together with it, and what fails for everything ends it.
func TestSlotsThatCannotBeHelped(t *testing.T) {
	for _, chunk := range []int{1, 4, 10} {
		t.Run(fmt.Sprint("by ", chunk), func(t *testing.T) { slotsThatCannotBeHelped(t, chunk) })
	}
}

func slotsThatCannotBeHelped(t *testing.T, chunk int) {
	r := newRig(t)
	all := make([]store.SlotSize, 30)
	for i := range all {
		all[i].SessionKey = fmt.Sprint(i)
	}
	var done sync.Map
	broken := func(i int) bool { return i < 4 }
	r.slots = []lifecycle.SlotJob{{
		Name: lifecycle.Compact, Workers: 1, Chunk: chunk, Off: func() string { return "" },
		Candidates: func(_ context.Context, after string, _ int) ([]store.SlotSize, string, error) {
			from := 0
			_, _ = fmt.Sscan(after, &from) // "": the first page
			if from+10 >= len(all) {
				return all[from:], "", nil
			}
			return all[from : from+10], fmt.Sprint(from + 10), nil
		},
		Do: func(_ context.Context, slots []store.SlotSize, dry bool) ([]string, error) {
			if len(slots) > chunk {
				t.Errorf("%d at once", len(slots))
			}
			reasons := make([]string, len(slots))
			for n, s := range slots {
				i := 0
				_, err := fmt.Sscan(s.SessionKey, &i)
				switch {
				case err != nil || broken(i):
					return nil, fmt.Errorf("slot %d: %w", i, store.ErrUnavailable)
				case i%2 == 1:
					reasons[n] = "too few messages"
				case !dry:
					done.Store(i, true)
				}
			}
			return reasons, nil
		},
	}}
	runner := r.runner("one")
	report := r.now(runner, lifecycle.Compact)
	if report.Considered != 30 || report.Changed != 13 || report.Reasons["failed"] != 4 || report.Reasons["too few messages"] != 13 || report.Error == "" {
		t.Errorf("%+v", report)
	}
	if _, ok := done.Load(28); !ok {
		t.Error("the last slot was not reached")
	}
	broken = func(int) bool { return true }
	if report := r.now(runner, lifecycle.Compact); report.Considered != 5 || report.Changed != 0 {
		t.Errorf("everything fails: %+v", report)
	}
	broken = func(i int) bool { return i >= 10 }
	r.now(runner, lifecycle.Compact) // ends on the second page
	if report := r.now(runner, lifecycle.Compact); report.Considered != 5 || report.Reasons["failed"] != 5 {
		t.Errorf("what failed keeps the others of its page from their turn: %+v", report)
	}
	broken = func(int) bool { return false }
	if report := r.now(runner, lifecycle.Compact); report.Considered != 10 {
		t.Errorf("it goes on where it ended: %+v", report)
	}
	if report := r.now(runner, lifecycle.Compact); report.Considered != 30 || report.Error != "" {
		t.Errorf("and from the beginning: %+v", report)
	}
	dry, err := runner.RunNow(t.Context(), lifecycle.Compact, true)
	r.ok(err)
	if dry.Changed != 5 || dry.Skipped != 5 || !dry.More || len(dry.Sessions) != 5 {
		t.Errorf("dry run: %+v", dry)
	}
}

// Sessions that are talked to all the time are left alone by every job, and what is
// archived just now comes back with the message.
func TestJobsAndTurnsAtOnce(t *testing.T) {
	r := newRig(t)
	r.settings.IdleTimeout, r.settings.ArchiveAfter, r.settings.TTL = time.Nanosecond, time.Nanosecond, 0
	keys := make([]string, 4)
	for i := range keys {
		keys[i] = r.key()
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	runner := r.runner("one")
	for _, job := range []string{lifecycle.Idle, lifecycle.Archive} {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.clock.Advance(time.Microsecond)
					if report := r.now(runner, job); report.Error != "" {
						t.Errorf("%s: %s", job, report.Error)
					}
				}
			}
		})
	}
	const turns = 10
	var talk sync.WaitGroup
	for _, key := range keys {
		talk.Go(func() {
			for range turns {
				r.says(key)
			}
		})
	}
	talk.Wait()
	close(stop)
	group.Wait()
	for _, key := range keys {
		messages, err := r.store.Messages(t.Context(), key, models.DefaultSlot, 0, 1000)
		r.ok(err)
		if len(messages) != 2*turns {
			t.Errorf("%s holds %d messages", key, len(messages))
		}
		r.says(key)
		r.wants(key, models.SessionActive)
	}
}

package schedule_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

// stage is a store with a runner at work under a fake clock.
type stage struct {
	t      *testing.T
	store  store.Store
	clock  *clock.Fake
	runner *schedule.Runner
}

// newStage starts a runner; stop ends it.
func newStage(t *testing.T, s store.Store, now *clock.Fake, shared schedule.Now) (st *stage, stop func()) {
	t.Helper()
	st = &stage{t: t, store: s, clock: now, runner: schedule.NewRunner(s, work{}, now, shared, slog.New(slog.DiscardHandler))}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { st.runner.Run(ctx) })
	loops.Go(func() { st.runner.Lead(ctx) })
	return st, func() {
		cancel()
		loops.Wait()
	}
}

func newStore(t *testing.T) store.Store {
	t.Helper()
	s := memstore.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (s *stage) create(spec string) {
	s.t.Helper()
	task := newTask(spec, "Asia/Shanghai")
	task.CreatedAt = s.clock.Now()
	next, err := schedule.First(task, s.clock.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	task.NextRunAt = next
	if err := s.store.CreateTask(context.Background(), task); err != nil {
		s.t.Fatal(err)
	}
}

// runs are the times of a state that there were, the earliest first, in hours and so on
// after the start.
func (s *stage) runs(state models.RunState) (out []time.Duration) {
	s.t.Helper()
	runs, _, err := s.store.TaskRuns(context.Background(), store.TaskRunQuery{TaskID: "t", Limit: 500})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range runs {
		if r.State == state || state == models.RunScheduled && r.State == models.RunSkipped { // nobody answers here
			out = append(out, r.ScheduledAt.Sub(start))
		}
	}
	slices.Reverse(out)
	return out
}

// waits until a condition holds, with the runner looking again and again.
func (s *stage) until(what string, condition func() bool) {
	s.t.Helper()
	deadline := clock.Real().Now().Add(20 * time.Second)
	for !condition() {
		if clock.Real().Now().After(deadline) {
			s.t.Fatalf("%s did not come; there are runs at %v", what, s.runs(models.RunScheduled))
		}
		s.clock.Advance(time.Millisecond)
		s.runner.Nudge()
		_ = clock.Sleep(context.Background(), clock.Real(), time.Millisecond)
	}
}

func (s *stage) next() time.Duration {
	s.t.Helper()
	t, err := s.store.Task(context.Background(), "t")
	if err != nil || t.NextRunAt == nil {
		s.t.Fatalf("%+v, %v", t, err)
	}
	return t.NextRunAt.Sub(start)
}

func (s *stage) wantRuns(want ...time.Duration) {
	s.t.Helper()
	s.until("the runs", func() bool { return slices.Equal(s.runs(models.RunScheduled), want) })
}

// The clock is ten days ahead for a while: tasks go on as soon as it is right again, and
// what ran meanwhile does not run again.
func TestClockThatWasAhead(t *testing.T) {
	const h, day = time.Hour, 24 * time.Hour
	s, stop := newStage(t, newStore(t), clock.NewFake(start), nil)
	defer stop()
	s.create("0 * * * *")
	s.clock.Set(start.Add(h))
	s.wantRuns(h)
	s.clock.Set(start.Add(10*day + 30*time.Minute))
	s.wantRuns(h, 10*day)
	if missed := s.runs(models.RunMissed); len(missed) != 99 {
		t.Errorf("%d times are recorded as missed", len(missed))
	}
	s.clock.Set(start.Add(90 * time.Minute))
	s.until("the next time", func() bool { return s.next() == 2*h })
	s.clock.Set(start.Add(2 * h))
	s.wantRuns(h, 2*h, 10*day)
	s.clock.Set(start.Add(10*day - 30*time.Minute))
	s.until("the next time", func() bool { return s.next() == 10*day })
	before := len(s.runs(models.RunScheduled))
	s.clock.Set(start.Add(10 * day))
	s.until("the time after", func() bool { return s.next() == 10*day+h })
	if after := s.runs(models.RunScheduled); len(after) != before {
		t.Errorf("a time that had run ran again: %v", after)
	}
}

// The clock goes back by less than anybody would notice: nothing runs twice.
func TestClockThatGoesBackALittle(t *testing.T) {
	s, stop := newStage(t, newStore(t), clock.NewFake(start), nil)
	defer stop()
	s.create("@every 10s")
	s.clock.Set(start.Add(10 * time.Second))
	s.wantRuns(10 * time.Second)
	s.clock.Set(start.Add(9 * time.Second))
	s.clock.Set(start.Add(11 * time.Second))
	s.clock.Set(start.Add(20 * time.Second))
	s.wantRuns(10*time.Second, 20*time.Second)
}

// Every 7 minutes stays every 7 minutes over restarts, at whatever moment they come.
func TestEveryKeepsItsRhythmOverRestarts(t *testing.T) {
	db, now := newStore(t), clock.NewFake(start)
	s, stop := newStage(t, db, now, nil)
	s.create("@every 7m")
	var want []time.Duration
	for i := range 8 {
		stop()
		now.Advance(time.Duration(100+37*i) * time.Second)
		s, stop = newStage(t, db, now, nil)
		if newest := now.Now().Sub(start).Truncate(7 * time.Minute); newest > 0 && (len(want) == 0 || want[len(want)-1] != newest) {
			want = append(want, newest)
		}
		s.wantRuns(want...)
	}
	stop()
	if len(want) < 4 {
		t.Errorf("only %v", want)
	}
}

// Tasks come by the shared clock, whatever the machine's own one says.
func TestSharedClockDecides(t *testing.T) {
	var ahead atomic.Int64
	now := clock.NewFake(start)
	shared := func(context.Context) (time.Time, error) { return now.Now().Add(time.Duration(ahead.Load())), nil }
	s, stop := newStage(t, newStore(t), now, shared)
	defer stop()
	s.create("0 * * * *")
	ahead.Store(int64(-3 * time.Hour)) // this machine's clock goes three hours forward
	now.Set(start.Add(3*time.Hour + 50*time.Minute))
	for range 20 {
		s.runner.Nudge()
		_ = clock.Sleep(context.Background(), clock.Real(), time.Millisecond)
	}
	s.wantRuns()
	now.Set(start.Add(4 * time.Hour))
	s.wantRuns(time.Hour)
	ahead.Store(0) // the shared clock goes there, too
	s.wantRuns(time.Hour, 4*time.Hour)
	if missed := s.runs(models.RunMissed); !slices.Equal(missed, []time.Duration{2 * time.Hour, 3 * time.Hour}) {
		t.Errorf("missed %v", missed)
	}
}

package schedule_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func newTask(spec, zone string) *models.Task {
	return &models.Task{
		ID: "t", Schedule: spec, Timezone: zone, Missed: models.MissedOnce, Grace: 15 * time.Second,
		Owner: "admin", CreatedAt: start,
	}
}

func TestPlan(t *testing.T) {
	at := start.Add
	until := at(150 * time.Minute)
	for _, c := range []struct {
		name   string
		change func(*models.Task)
		now    time.Duration
		run    time.Duration // zero: none
		missed int
		next   time.Duration // zero: none
	}{
		{"on time", nil, time.Hour + time.Second, time.Hour, 0, 2 * time.Hour},
		{"three hours down, once", nil, 4*time.Hour + time.Minute, 4 * time.Hour, 3, 5 * time.Hour},
		{"three hours down, skip", func(t *models.Task) { t.Missed = models.MissedSkip }, 4*time.Hour + time.Minute, 0, 4, 5 * time.Hour},
		{"down until just now, skip", func(t *models.Task) { t.Missed = models.MissedSkip }, 4*time.Hour + time.Second, 4 * time.Hour, 3, 5 * time.Hour},
		{"a year down", nil, 365*24*time.Hour + time.Minute, 365 * 24 * time.Hour, 99, 365*24*time.Hour + time.Hour},
		{"over", func(t *models.Task) { t.Until = &until }, 4 * time.Hour, 2 * time.Hour, 1, 0},
		{"last run", func(t *models.Task) { t.MaxRuns, t.Runs = 3, 2 }, time.Hour, time.Hour, 0, 0},
		{"missed does not count", func(t *models.Task) { t.MaxRuns, t.Runs, t.Missed = 3, 2, models.MissedSkip }, time.Hour + time.Minute, 0, 1, 2 * time.Hour},
	} {
		task := newTask("0 * * * *", "UTC")
		next := at(time.Hour)
		task.NextRunAt = &next
		if c.change != nil {
			c.change(task)
		}
		p, err := schedule.PlanOf(task, at(c.now))
		if err != nil {
			t.Fatal(err)
		}
		var run, after time.Duration
		if !p.Run.IsZero() {
			run = p.Run.Sub(start)
		}
		if p.Next != nil {
			after = p.Next.Sub(start)
		}
		if run != c.run || len(p.Missed) != c.missed || after != c.next {
			t.Errorf("%s: run %v, missed %d, next %v; want %v, %d, %v", c.name, run, len(p.Missed), after, c.run, c.missed, c.next)
		}
	}
}

// work makes messages and nothing else.
type work struct{}

func (work) Started() {}
func (work) Settled() {}

func (work) Ran(*models.TaskRun) {}

func (work) Forget(context.Context, *models.TaskRun) error { return nil }

func (work) Decide(*models.TaskRun) func(*models.Task) store.Verdict {
	return func(*models.Task) store.Verdict { return store.Verdict{} }
}

func (work) Message(t *models.Task, run *models.TaskRun) (*store.AcceptRequest, error) {
	run.SessionKey = "agent:assistant:channel:task:scope:task:" + t.ID + "/" + run.ID
	return &store.AcceptRequest{Inbound: models.Inbound{
		ID: models.NewID("inb"), SessionKey: run.SessionKey, Channel: "task", Account: "task", Kind: models.KindMessage,
		ReceivedAt: run.ScheduledAt, Payload: []byte("{}"),
	}}, nil
}

// daily counts when a time of the day comes in a year, in the plainest way: the first
// minute of each day that there is at which clocks show it or more.
func daily(year, hour, minute int, loc *time.Location, matches func(time.Time) bool) (out []time.Time) {
	seen := map[string]bool{}
	from, until := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := from.Add(time.Minute); at.Before(until); at = at.Add(time.Minute) {
		t := at.In(loc)
		date := t.Format(time.DateOnly)
		if late := t.Hour()*60+t.Minute() >= hour*60+minute; late && !seen[date] {
			seen[date] = true
			// A day that had begun before the year did may be over already.
			if before := at.Add(-time.Minute).In(loc); before.Format(time.DateOnly) == date && before.Hour()*60+before.Minute() >= hour*60+minute {
				continue
			}
			if matches(t) {
				out = append(out, at)
			}
		}
	}
	return out
}

// A year under a fake clock, with a restart before each time and two replicas: what ran
// is what counting says, each time once.
func TestYearUnderAFakeClock(t *testing.T) {
	always := func(time.Time) bool { return true }
	for _, c := range []struct {
		spec, zone   string
		year         int
		hour, minute int
		matches      func(time.Time) bool
		want         int // for the reader
	}{
		{"0 9 * * 1-5", "Asia/Shanghai", 2026, 9, 0, func(t time.Time) bool { return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday }, 261},
		{"30 2 * * *", "America/New_York", 2026, 2, 30, always, 365},
		{"30 1 * * *", "America/New_York", 2026, 1, 30, always, 365},
		{"15 2 * * *", "Australia/Lord_Howe", 2026, 2, 15, always, 365},
		{"0 9 * * *", "Pacific/Apia", 2011, 9, 0, always, 365}, // 30 December is left out; by UTC the year holds a morning of the next
		{"0 9 29 2 *", "Asia/Shanghai", 2028, 9, 0, func(t time.Time) bool { return t.Month() == time.February && t.Day() == 29 }, 1},
		{"0 9 29 2 *", "Asia/Shanghai", 2027, 9, 0, func(t time.Time) bool { return t.Month() == time.February && t.Day() == 29 }, 0},
	} {
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		want := daily(c.year, c.hour, c.minute, loc, c.matches)
		if len(want) != c.want {
			t.Errorf("%s %s %d: counting finds %d", c.spec, c.zone, c.year, len(want))
		}
		if got := simulated(t, c.spec, c.zone, c.year); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%s %s %d: %d runs, want %d", c.spec, c.zone, c.year, len(got), len(want))
		}
	}
	var want []time.Time
	const step = 7*time.Hour + 13*time.Minute
	for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(step); at.Year() == 2026; at = at.Add(step) {
		want = append(want, at)
	}
	if got := simulated(t, "@every 7h13m", "America/New_York", 2026); !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("@every: %d runs, want %d", len(got), len(want))
	}
}

// simulated returns the times of a task's runs in a year.
func simulated(t *testing.T, spec, zone string, year int) (got []time.Time) {
	t.Helper()
	ctx := context.Background()
	s := newStore(t)
	from, until := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
	now := clock.NewFake(from)
	task := newTask(spec, zone)
	task.CreatedAt = from
	first, err := schedule.First(task, from)
	if err != nil {
		t.Fatal(err)
	}
	task.NextRunAt = first
	if err := s.CreateTask(ctx, task); err != nil {
		t.Fatal(err)
	}
	for {
		stored, err := s.Task(ctx, task.ID)
		if err != nil || stored.NextRunAt == nil {
			t.Fatalf("%+v, %v", stored, err)
		}
		now.Set(*stored.NextRunAt)
		if !now.Now().Before(until) {
			return got
		}
		for range 2 { // two replicas, each just started: nothing is kept in memory
			schedule.NewRunner(s, work{}, now, nil, slog.New(slog.DiscardHandler)).Fire(ctx, now.Now(), time.Time{}, now.Now(), 10)
		}
		runs, _, err := s.TaskRuns(ctx, store.TaskRunQuery{TaskID: task.ID, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 && (len(runs) < 2 || !runs[1].ScheduledAt.Equal(got[len(got)-1])) {
			t.Fatalf("%s %s: after %v there are runs at %v", spec, zone, got[len(got)-1], runs[0].ScheduledAt)
		}
		got = append(got, runs[0].ScheduledAt)
	}
}

// After an outage late tasks come back ten a second, behind those that are on time.
func TestLateTasksDoNotHoldUpOthers(t *testing.T) {
	ctx := context.Background()
	db, now := newStore(t), clock.NewFake(start.Add(24*time.Hour))
	const late, prompt = 30, 10
	for i := range late + prompt {
		task := newTask("0 * * * *", "UTC")
		task.ID = fmt.Sprint("late", i)
		due := start.Add(time.Hour)
		if i >= late {
			task.ID, due = fmt.Sprint("now", i), now.Now().Add(-time.Second)
		}
		task.NextRunAt = &due
		if err := db.CreateTask(ctx, task); err != nil {
			t.Fatal(err)
		}
	}
	began := now.Now()
	s, stop := newStage(t, db, now, nil)
	defer stop()
	s.until("all runs", func() bool {
		now.Advance(20 * time.Millisecond)
		limit := 10 * (int(now.Now().Sub(began)/time.Second) + 1)
		due, err := db.DueTasks(ctx, time.Time{}, now.Now(), 100)
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, task := range due {
			if strings.HasPrefix(task.ID, "late") {
				left++
			}
		}
		if late-left > limit {
			t.Fatalf("%d late tasks ran within %v", late-left, now.Now().Sub(began))
		}
		if left == 0 && len(due) > 0 {
			t.Fatal("late tasks ran before those on time")
		}
		return len(due) == 0
	})
}

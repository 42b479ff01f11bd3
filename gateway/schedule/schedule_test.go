package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

func TestRead(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 16, 30, 0, 0, shanghai) // a Monday
	for text, want := range map[string]string{
		`"0 9 * * 1-5" 总结昨天`:        "0 9 * * 1-5 | 总结昨天",
		`“0 9 * * 1-5” 总结昨天`:        "0 9 * * 1-5 | 总结昨天",
		"every 10m check the build": "@every 10m | check the build",
		"every 1h30m look":          "@every 1h30m | look",
		"Every 2 hours stretch":     "@every 2h0m0s | stretch",
		"@every 45s ping":           "@every 45s | ping",
		"每10分钟 看看":                  "@every 10m0s | 看看",
		"每隔2小时喝水":                   "@every 2h0m0s | 喝水",
		"10m call back":             "2026-11-30 16:40 | call back",
		"in 2 days renew":           "2026-12-02 16:30 | renew",
		"30分钟后提醒我":                  "2026-11-30 17:00 | 提醒我",
		"18:00 go home":             "2026-11-30 18:00 | go home",
		"at 18:00 go home":          "2026-11-30 18:00 | go home",
		"9:15 stand up":             "2026-12-01 09:15 | stand up", // passed today
		"tomorrow 9:15 stand up":    "2026-12-01 09:15 | stand up",
		"明天9点 站会":                   "2026-12-01 09:00 | 站会",
		"明天下午3点半开会":                 "2026-12-01 15:30 | 开会",
		"后天 10:05 交报告":              "2026-12-02 10:05 | 交报告",
		"今天 17点20分 下班":              "2026-11-30 17:20 | 下班",
		"晚上8点看球":                    "2026-11-30 20:00 | 看球",
		"":                          "error",
		"hello":                     "error",
		"18:00":                     "error",
		"25:00 x":                   "error",
		"18:60 x":                   "error",
		"0m x":                      "error",
		"99999999d x":               "error",
		"every 1ms x":               "error",
		"10meters of rope":          "error",
		"60 9 * * 1 x":              "error",
		"today 9:00 x":              "past",
		`"TZ=0 9 * * *" x`:          "error",
		`"0 0 30 2 *" x`:            "error",
	} {
		d, err := schedule.Read(text, now, shanghai)
		got := "error"
		switch {
		case errors.Is(err, schedule.ErrPast):
			got = "past"
		case err == nil && d.At != nil:
			got = d.At.In(shanghai).Format("2006-01-02 15:04") + " | " + d.Prompt
		case err == nil:
			got = d.Schedule + " | " + d.Prompt
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

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

func (work) Decide(*models.TaskRun) func(*models.Task) []*models.Delivery {
	return func(*models.Task) []*models.Delivery { return nil }
}

func (work) Message(t *models.Task, run *models.TaskRun) (*store.AcceptRequest, error) {
	run.SessionKey = "agent:assistant:channel:task:scope:task:" + t.ID + "/" + run.ID
	return &store.AcceptRequest{Inbound: models.Inbound{
		ID: models.NewID("inb"), SessionKey: run.SessionKey, Channel: "task", Account: "task", Kind: models.KindMessage,
		ReceivedAt: run.ScheduledAt, Payload: []byte("{}"),
	}}, nil
}

// A year under a fake clock, with restarts and outages in between: what ran is what
// counting says, each time once.
func TestYearUnderAFakeClock(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec, zone string
		want       func() []time.Time
	}{
		{"30 2 * * *", "America/New_York", func() (out []time.Time) {
			for day := range 366 {
				at := time.Date(2026, 3, 1+day, 2, 30, 0, 0, newYork)
				if at.Hour() != 2 || at.Minute() != 30 {
					at = time.Date(2026, 3, 1+day, 3, 0, 0, 0, newYork)
				}
				if at.After(start) && at.Before(start.AddDate(1, 0, 0)) {
					out = append(out, at)
				}
			}
			return out
		}},
		{"@every 7h13m", "Asia/Shanghai", func() (out []time.Time) {
			for at := start.Add(7*time.Hour + 13*time.Minute); at.Before(start.AddDate(1, 0, 0)); at = at.Add(7*time.Hour + 13*time.Minute) {
				out = append(out, at)
			}
			return out
		}},
	} {
		ctx := context.Background()
		s := memstore.New()
		now := clock.NewFake(start)
		task := newTask(c.spec, c.zone)
		first, err := schedule.First(task, start)
		if err != nil {
			t.Fatal(err)
		}
		task.NextRunAt = first
		if err := s.CreateTask(ctx, task); err != nil {
			t.Fatal(err)
		}
		var got []time.Time
		seen := map[int64]int{}
		for step := 0; now.Now().Before(start.AddDate(1, 0, 0)); step++ {
			stored, err := s.Task(ctx, task.ID)
			if err != nil {
				t.Fatal(err)
			}
			if stored.NextRunAt == nil {
				t.Fatal("it is over")
			}
			now.Set(*stored.NextRunAt) // a runner of its own each time: nothing is kept in memory
			if !now.Now().Before(start.AddDate(1, 0, 0)) {
				break
			}
			for range 2 { // two replicas
				schedule.NewRunner(s, work{}, now, slog.New(slog.DiscardHandler)).Fire(ctx, time.Time{}, now.Now(), 10)
			}
			runs, _, err := s.TaskRuns(ctx, store.TaskRunQuery{TaskID: task.ID, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if at := runs[0].ScheduledAt; seen[at.Unix()] == 0 {
				got = append(got, at)
				seen[at.Unix()]++
			}
		}
		want := c.want()
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%s %s: %d runs, want %d", c.spec, c.zone, len(got), len(want))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLateTasksDoNotHoldUpOthers(t *testing.T) {
	ctx := context.Background()
	s := memstore.New()
	defer func() { _ = s.Close() }()
	now := clock.NewFake(start.Add(24 * time.Hour))
	for i := range 40 {
		task := newTask("0 * * * *", "UTC")
		task.ID = fmt.Sprint("late", i)
		due := start.Add(time.Hour)
		if i >= 30 {
			task.ID, due = fmt.Sprint("now", i), now.Now().Add(-time.Second)
		}
		task.NextRunAt = &due
		if err := s.CreateTask(ctx, task); err != nil {
			t.Fatal(err)
		}
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	r := schedule.NewRunner(s, work{}, now, slog.New(slog.DiscardHandler))
	go func() {
		r.Run(running)
		close(done)
	}()
	left := func() int {
		due, err := s.DueTasks(ctx, time.Time{}, now.Now(), 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(due)
	}
	wait := func(n int) {
		t.Helper()
		deadline := clock.Real().Now().Add(10 * time.Second)
		for left() != n {
			if clock.Real().Now().After(deadline) {
				t.Fatalf("%d tasks are due, want %d", left(), n)
			}
			r.Nudge()
			_ = clock.Sleep(ctx, clock.Real(), 5*time.Millisecond)
		}
	}
	wait(20) // those on time, and ten of the late ones
	for _, n := range []int{10, 0} {
		now.Advance(time.Second)
		wait(n)
	}
	cancel()
	r.Nudge()
	<-done
}

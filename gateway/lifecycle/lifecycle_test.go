package lifecycle_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// A session goes through every state and back, as time passes; nothing but what
// people write counts.
func TestTransitions(t *testing.T) {
	r := newRig(t)
	runner := r.runner("one")
	pass := func() {
		t.Helper()
		for _, job := range []string{lifecycle.Idle, lifecycle.Archive, lifecycle.Expire} {
			if report := r.now(runner, job); report.Error != "" || report.More {
				t.Errorf("%s: %+v", job, report)
			}
		}
	}
	key := r.key()
	r.says(key)
	step := func(d time.Duration, want models.SessionState) {
		t.Helper()
		r.clock.Advance(d)
		pass()
		r.wants(key, want)
	}
	bookkeeping := func() {
		t.Helper()
		r.ok(r.store.ChangeSession(t.Context(), key, func(tx store.SessionTx) error {
			s, err := tx.Session()
			if err != nil {
				return err
			}
			s.Title = "edited by an administrator"
			return errors.Join(tx.Update(s, r.clock.Now()), tx.PutNote(&models.Note{Value: "note", CreatedAt: r.clock.Now()}),
				tx.Append(models.DefaultSlot, []*models.SessionMessage{message(models.RoleAssistant, r.clock.Now())}, r.clock.Now()))
		}))
	}
	step(0, models.SessionActive)
	step(time.Hour, models.SessionActive) // not longer than
	bookkeeping()
	step(time.Microsecond, models.SessionIdle)
	r.says(key)
	step(0, models.SessionActive)
	step(time.Hour+time.Second, models.SessionIdle)
	bookkeeping()
	step(30*day-2*time.Second, models.SessionIdle)
	step(2*time.Second, models.SessionArchived)
	bookkeeping()
	step(day, models.SessionArchived)
	r.says(key)
	step(0, models.SessionActive)
	step(2*time.Hour, models.SessionIdle)
	r.ok(r.store.ChangeSession(t.Context(), key, func(tx store.SessionTx) error {
		gen, err := tx.Generation(models.DefaultSlot)
		if err != nil {
			return err
		}
		return tx.Compact(models.DefaultSlot, gen, 1, message(models.RoleSystem, r.clock.Now()), r.clock.Now())
	}))
	step(0, models.SessionCompacted)
	step(day, models.SessionCompacted)
	step(30*day, models.SessionArchived)
	bookkeeping()
	step(333*day, models.SessionArchived)
	step(day, "gone")
	r.says(key)
	step(0, models.SessionActive)
}

func TestZeroAndEmptyMeanOff(t *testing.T) {
	r := newRig(t)
	key := r.used(10_000 * day)
	for _, job := range []string{lifecycle.Idle, lifecycle.Archive, lifecycle.Expire} {
		r.settings.Schedules[job] = "@every 1s"
	}
	r.settings.IdleTimeout, r.settings.ArchiveAfter, r.settings.TTL = 0, 0, 0
	runner := r.runner("one")
	for job, off := range map[string]string{
		lifecycle.Idle: "session.idleTimeout is 0s", lifecycle.Archive: "session.archiveAfter is 0s", lifecycle.Expire: "session.ttl is 0s",
	} {
		if report := r.now(runner, job); report.Off != off || report.Considered != 0 {
			t.Errorf("%s: %+v", job, report)
		}
	}
	views, err := runner.Jobs(t.Context())
	r.ok(err)
	for _, v := range views {
		if v.NextRunAt != nil || v.Off == "" {
			t.Errorf("%+v", v)
		}
	}
	r.wants(key, models.SessionActive)

	r.settings.IdleTimeout, r.settings.Schedules = time.Hour, map[string]string{lifecycle.Idle: ""}
	runner.Reload(r.settings)
	views, err = runner.Jobs(t.Context())
	r.ok(err)
	if views[0].NextRunAt != nil || views[0].Off != "" {
		t.Errorf("%+v", views[0])
	}
	if report := r.now(runner, lifecycle.Idle); report.Changed != 1 {
		t.Errorf("by hand: %+v", report)
	}
	// Archiving counts from the last use where sessions do not become idle by time.
	r.settings.IdleTimeout, r.settings.ArchiveAfter = 0, day
	runner.Reload(r.settings)
	if report := r.now(runner, lifecycle.Archive); report.Changed != 1 {
		t.Errorf("archive: %+v", report)
	}
}

// Schedules are kept over restarts, and what was missed is made up for once.
func TestSchedule(t *testing.T) {
	r := newRig(t)
	r.settings.Schedules = map[string]string{lifecycle.Idle: "@every 1h", lifecycle.Archive: "30 9 * * *"}
	runs := func() map[string]time.Duration {
		all, err := r.store.JobRuns(t.Context())
		r.ok(err)
		out := map[string]time.Duration{}
		for _, run := range all {
			if !run.FinishedAt.IsZero() {
				out[run.Job] = run.StartedAt.Sub(start)
			}
		}
		return out
	}
	wait := func(idle, archive time.Duration) {
		t.Helper()
		want := map[string]time.Duration{lifecycle.Idle: idle, lifecycle.Archive: archive}
		r.until("the jobs run", func() bool { return maps.Equal(runs(), want) })
	}
	stop := run(r.runner("one"))
	wait(0, 0) // they never ran
	r.clock.Advance(50 * time.Minute)
	stop()
	stop = run(r.runner("two"))
	r.clock.Advance(10 * time.Minute)
	wait(time.Hour, 0) // an hour after it ran, whoever did
	r.clock.Advance(29 * time.Minute)
	r.clock.Advance(time.Minute)
	wait(time.Hour, 90*time.Minute) // half past nine
	stop()
	r.clock.Advance(25 * time.Hour)
	stop = run(r.runner("three"))
	wait(26*time.Hour+30*time.Minute, 26*time.Hour+30*time.Minute)
	stop()

	runner := r.runner("four")
	views, err := runner.Jobs(t.Context())
	r.ok(err)
	for i, want := range []struct {
		name, schedule string
		next           time.Duration
	}{{lifecycle.Idle, "@every 1h", 27*time.Hour + 30*time.Minute}, {lifecycle.Archive, "30 9 * * *", 49*time.Hour + 30*time.Minute}} {
		v := views[i]
		if v.Name != want.name || v.Schedule != want.schedule || v.NextRunAt == nil || v.NextRunAt.Sub(start) != want.next || v.LastRun == nil {
			t.Errorf("%+v, want %+v", v, want)
		}
	}
	if v := views[2]; v.Name != lifecycle.Expire || v.Schedule != "" || v.NextRunAt != nil || v.LastRun != nil {
		t.Errorf("%+v", v)
	}
}

func TestReload(t *testing.T) {
	r := newRig(t)
	runner := r.runner("one")
	stop := run(runner)
	defer stop()
	key := r.used(2 * time.Hour)
	r.settings.Schedules = map[string]string{lifecycle.Idle: "@every 1m"}
	runner.Reload(r.settings)
	r.until("the job runs", func() bool { return r.state(key) == models.SessionIdle })
	r.settings.Schedules = map[string]string{}
	runner.Reload(r.settings)
	views, err := runner.Jobs(t.Context())
	r.ok(err)
	if views[0].NextRunAt != nil {
		t.Errorf("%+v", views[0])
	}
}

func TestRunNow(t *testing.T) {
	r := newRig(t)
	old, busy := r.used(2*time.Hour), r.used(2*time.Hour)
	_, err := r.store.Accept(t.Context(), storetest.NewMessage(busy, r.clock.Now()))
	r.ok(err)
	runner := r.runner("one")
	dry, err := runner.RunNow(t.Context(), lifecycle.Idle, true)
	r.ok(err)
	if !dry.DryRun || dry.Changed != 1 || !slices.Equal(dry.Sessions, []string{old}) || dry.More || dry.FinishedAt == nil {
		t.Errorf("%+v", dry)
	}
	r.wants(old, models.SessionActive)
	views, err := runner.Jobs(t.Context())
	r.ok(err)
	if views[0].LastRun != nil {
		t.Error("a dry run left a record")
	}
	report := r.now(runner, lifecycle.Idle)
	if report.DryRun || report.Considered != 2 || report.Changed != 1 || report.Skipped != 1 || report.Reasons["in use"] != 1 || report.FinishedAt == nil || report.Error != "" {
		t.Errorf("%+v", report)
	}
	r.wants(old, models.SessionIdle)
	r.wants(busy, models.SessionActive)
	views, err = r.runner("another").Jobs(t.Context())
	r.ok(err)
	if last := views[0].LastRun; last == nil || last.Considered != 2 || last.Changed != 1 || last.Skipped != 1 || last.Reasons["in use"] != 1 {
		t.Errorf("%+v", last)
	}
	if _, err := runner.RunNow(t.Context(), "sweep", false); !errors.Is(err, lifecycle.ErrUnknownJob) {
		t.Errorf("%v", err)
	}
}

// A pass that fails, panics, or whose time is up says so in its record.
func TestPassesThatDoNotEndWell(t *testing.T) {
	r := newRig(t)
	release := make(chan struct{})
	do := func() (string, error) { panic("at the disco") }
	r.slots = []lifecycle.SlotJob{{
		Name: lifecycle.Prune, Workers: 2, Off: func() string { return "" },
		Candidates: func(_ context.Context, after string, _ int) ([]store.SlotSize, string, error) {
			return make([]store.SlotSize, 3), "", nil
		},
		Do: func(context.Context, []store.SlotSize, bool) ([]string, error) {
			reason, err := do()
			return []string{reason}, err
		},
	}}
	runner := r.runner("one")
	report := r.now(runner, lifecycle.Prune)
	if report.Considered != 3 || report.Skipped != 3 || report.Reasons["failed"] != 3 || !strings.Contains(report.Error, "panic: string") {
		t.Errorf("%+v", report)
	}

	begun := make(chan struct{}, 10)
	do = func() (string, error) {
		begun <- struct{}{}
		<-release
		return "", nil
	}
	done := make(chan *lifecycle.Report, 1)
	runner.SetPassTime(50 * time.Millisecond)
	go func() {
		report, err := runner.RunNow(context.WithoutCancel(t.Context()), lifecycle.Prune, false)
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	<-begun
	for _, other := range []*lifecycle.Runner{runner, r.runner("two")} {
		if _, err := other.RunNow(t.Context(), lifecycle.Prune, false); !errors.Is(err, lifecycle.ErrRunning) {
			t.Errorf("a second run: %v", err)
		}
	}
	views, err := runner.Jobs(t.Context())
	r.ok(err)
	if last := views[0].LastRun; last == nil || last.FinishedAt != nil {
		t.Errorf("while it runs: %+v", last)
	}
	r.until("time is up", func() bool { return len(begun) == 1 }) // two work at once
	<-begun
	<-time.After(100 * time.Millisecond)
	close(release)
	if report := <-done; !report.More || report.Changed != 2 || report.Error != "" {
		t.Errorf("%+v", report)
	}

	do = func() (string, error) { return "", nil }
	if report := r.now(runner, lifecycle.Prune); report.More || report.Changed != 3 {
		t.Errorf("%+v", report)
	}
}

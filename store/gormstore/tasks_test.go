package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// fill inserts rows from a text with one row's values, a thousand at once.
func fill(t *testing.T, db *sql.DB, into, row string, n int, args func(i int) []any) {
	t.Helper()
	for from := 0; from < n; {
		width := min(1000, n-from)
		var all []any
		for i := range width {
			all = append(all, args(from+i)...)
		}
		if _, err := db.ExecContext(t.Context(), into+" VALUES "+strings.TrimSuffix(strings.Repeat(row+",", width), ","), all...); err != nil {
			t.Fatal(err)
		}
		from += width
	}
}

// Finding what is due reads what is due, however many tasks are stored, and keeps
// nothing of the others.
func TestDueTasksCostTheSameWithManyStored(t *testing.T) {
	const many = 100_000
	ctx := context.Background()
	cfg := newMySQL(t).config()
	cfg.MaxOpenConns = 1 // so that the counters of the session are the store's
	s := open(t, cfg)
	db := sqlOpen(t, "mysql", cfg.DSN)
	now := clock.Real().Now().UTC().Truncate(time.Second)
	stored := 0
	storeUpTo := func(n int) {
		from := stored
		fill(t, db, "INSERT INTO tasks (id, owner, chat, next_run_at, paused, failures, runs, revision, created_at, definition)",
			"(?, 'admin', NULL, ?, 0, 0, 0, 0, ?, '{}')", n-from, func(i int) []any {
				return []any{fmt.Sprintf("far%06d", from+i), now.Add(time.Hour + time.Duration(from+i)*time.Second).UnixMicro(), now.UnixMicro()}
			})
		stored = n
	}
	for i := range 10 {
		if err := s.CreateTask(ctx, storetest.NewTask(fmt.Sprint("due", i), now.Add(-time.Second), now)); err != nil {
			t.Fatal(err)
		}
	}
	looks := map[string]func() error{
		"ten due": func() error {
			due, err := s.DueTasks(ctx, now.Add(-15*time.Second), now, 500)
			if err == nil && len(due) != 10 {
				err = fmt.Errorf("%d tasks are due", len(due))
			}
			return err
		},
		"none due": func() error {
			_, err := s.DueTasks(ctx, now, now.Add(time.Minute), 500)
			return err
		},
		"none late": func() error {
			_, err := s.DueTasks(ctx, time.Time{}, now.Add(-15*time.Second), 10)
			return err
		},
		"none ended":     func() error { _, err := s.EndedRuns(ctx, 500); return err },
		"none forgotten": func() error { _, err := s.ForgottenRuns(ctx, 100); return err },
	}
	type cost struct {
		reads int64
		heap  uint64
	}
	measure := func() map[string]cost {
		out := map[string]cost{}
		for name, look := range looks {
			reads := handlerReads(t, s, look)
			began := clock.Real().Now()
			const times = 50
			for range times {
				if err := look(); err != nil {
					t.Fatal(err)
				}
			}
			took := clock.Real().Now().Sub(began) / times
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			out[name] = cost{reads, m.HeapAlloc}
			t.Logf("%d stored, %s: %d rows read in %v, heap %.1f MB", stored, name, reads, took, float64(m.HeapAlloc)/(1<<20))
		}
		return out
	}
	storeUpTo(100)
	few := measure()
	storeUpTo(many)
	for name, lots := range measure() {
		if lots.reads > few[name].reads {
			t.Errorf("%s: with %d tasks %d rows are read, with 100 %d", name, many, lots.reads, few[name].reads)
		}
		if lots.heap > few[name].heap+1<<20 {
			t.Errorf("%s: with %d tasks the heap is %d bytes, with 100 %d", name, many, lots.heap, few[name].heap)
		}
	}
	fired, err := s.Fire(ctx, storetest.NewFiring(&models.Task{ID: "due0", NextRunAt: new(now.Add(-time.Second))}, now.Add(time.Hour), now))
	if err != nil || !fired.Fired {
		t.Errorf("fire: %+v, %v", fired, err)
	}
}

// What is due for people is found without looking at what is due of tasks, and the
// other way round.
func TestDueLanesOfAKind(t *testing.T) {
	const many = 5000
	lanes := func(t *testing.T, cfg gormstore.Config) (*gormstore.Store, *sql.DB) {
		t.Helper()
		cfg.MaxOpenConns = 1
		s := open(t, cfg)
		db := rawPool(t, cfg)
		fill(t, db, "INSERT INTO lanes (sid, session_key, kind, due_at, fence, attempts, last_seq, slot, epoch, deleted_seq)",
			"(?, ?, ?, ?, 1, 0, 1, 'default', 0, 0)", many+10, func(i int) []any {
				kind, key := 1, "agent:a:channel:task:scope:task:t"
				if i >= many { // the last to become due
					kind, key = 0, "agent:a:channel:any:scope:per_peer:p"
				}
				return []any{fmt.Appendf(nil, "%032d", i), fmt.Sprint(key, i), kind, 1000 + i}
			})
		return s, db
	}
	claim := func(s *gormstore.Store, kind store.LaneKind) error {
		claims, err := s.ClaimLanes(t.Context(), store.ClaimRequest{Owner: "a", Lease: time.Minute, Lanes: kind}, 5)
		if err == nil && len(claims) != 5 {
			err = fmt.Errorf("%d lanes were claimed", len(claims))
		}
		for _, c := range claims {
			if strings.Contains(c.SessionKey, ":task:") != (kind == store.TaskLanes) {
				err = fmt.Errorf("claimed %s", c.SessionKey)
			}
		}
		return err
	}
	t.Run("MySQL", func(t *testing.T) {
		s, _ := lanes(t, newMySQL(t).config())
		for _, kind := range []store.LaneKind{store.PeopleLanes, store.TaskLanes} {
			reads := handlerReads(t, s, func() error { return claim(s, kind) })
			t.Logf("claiming 5 of %s among %d due: %d rows read", kind, many+10, reads)
			if reads > 50 {
				t.Errorf("claiming 5 of %s reads %d rows", kind, reads)
			}
		}
	})
	t.Run("SQLite", func(t *testing.T) {
		d := newSQLite(t)
		s, db := lanes(t, d.config(d.file(t)))
		for _, kind := range []store.LaneKind{store.PeopleLanes, store.TaskLanes} {
			if err := claim(s, kind); err != nil {
				t.Error(err)
			}
		}
		steps := strings.Join(plan(t, db, "SELECT sid FROM lanes WHERE kind = ? AND due_at <= ? ORDER BY due_at LIMIT ?"), "; ")
		if !strings.Contains(steps, "lanes_due_by_kind (kind=? AND due_at<?)") || strings.Contains(steps, "TEMP") {
			t.Errorf("plan: %s", steps)
		}
	})
}

package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// Finding what is due reads what is due, however many tasks are stored.
func TestDueTasksCostTheSameWithManyStored(t *testing.T) {
	const many = 100_000
	ctx := context.Background()
	cfg := onMySQL(t)
	s := open(t, cfg)
	db := sqlOpen(t, "mysql", cfg.DSN)
	db.SetMaxOpenConns(1) // counters are the connection's
	now := clock.Real().Now().UTC().Truncate(time.Second)
	fill := func(from, to int) {
		for from < to {
			n := min(1000, to-from)
			args := make([]any, 0, 3*n)
			for i := range n {
				args = append(args, fmt.Sprintf("far%06d", from+i), now.Add(time.Hour+time.Duration(from+i)*time.Second).UnixMicro(), now.UnixMicro())
			}
			rows := strings.TrimSuffix(strings.Repeat("(?, 'admin', NULL, ?, 0, 0, 0, 0, ?, '{}'),", n), ",")
			if _, err := db.ExecContext(ctx, "INSERT INTO tasks (id, owner, chat, next_run_at, paused, failures, runs, revision, created_at, definition) VALUES "+rows, args...); err != nil {
				t.Fatal(err)
			}
			from += n
		}
	}
	for i := range 10 {
		if err := s.CreateTask(ctx, storetest.NewTask(fmt.Sprint("due", i), now.Add(-time.Second), now)); err != nil {
			t.Fatal(err)
		}
	}
	fill(0, 90)
	few := rowsRead(t, db, now)
	fill(90, many)
	lots := rowsRead(t, db, now)
	if lots > few {
		t.Errorf("with %d tasks %d rows are read, with 100 %d", many, lots, few)
	}
	t.Logf("rows read: %d with 100 tasks, %d with %d", few, lots, many)
	for _, probe := range []struct {
		name string
		run  func() error
	}{
		{"10 due", func() error {
			due, err := s.DueTasks(ctx, time.Time{}, now, 500)
			if err == nil && len(due) != 10 {
				err = fmt.Errorf("%d tasks are due", len(due))
			}
			return err
		}},
		{"none due", func() error {
			_, err := s.DueTasks(ctx, now, now.Add(time.Minute), 500)
			return err
		}},
	} {
		began := clock.Real().Now()
		const times = 100
		for range times {
			if err := probe.run(); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s of %d: %v", probe.name, many, clock.Real().Now().Sub(began)/times)
	}
	fired, err := s.Fire(ctx, storetest.NewFiring(&models.Task{ID: "due0", NextRunAt: new(now.Add(-time.Second))}, now.Add(time.Hour), now))
	if err != nil || !fired.Fired {
		t.Errorf("fire: %+v, %v", fired, err)
	}
}

// rowsRead counts the rows that the query for due tasks touches.
func rowsRead(t *testing.T, db *sql.DB, now time.Time) int {
	t.Helper()
	ctx := context.Background()
	count := func() (total int) {
		rows, err := db.QueryContext(ctx, "SHOW SESSION STATUS LIKE 'Handler_read%'")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			var n int
			if err := rows.Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(name, "Handler_read_rnd") { // those of SHOW itself
				total += n
			}
		}
		return total
	}
	before := count()
	rows, err := db.QueryContext(ctx, "SELECT id, definition FROM tasks WHERE next_run_at > ? AND next_run_at <= ? ORDER BY next_run_at LIMIT 500", 0, now.UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		continue
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return count() - before
}

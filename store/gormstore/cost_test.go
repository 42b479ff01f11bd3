package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// What the hot path may cost: statements in one commit.
const (
	maxAppend = 4
	maxAccept = 5
	maxCommit = 9
	// maxRead bounds the index entries and rows that one page of a list may touch,
	// of a hundred thousand.
	maxRead = 6000
)

func TestStatementsOfTheHotPath(t *testing.T) {
	eachMigrated(t, func(t *testing.T, cfg gormstore.Config) {
		s, c := counted(t, cfg)
		ctx, now := t.Context(), clock.Real().Now()
		measure := func(what string, limit int64, do func() error) {
			t.Helper()
			c.reset()
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			t.Logf("%s: %d statements, %d commits", what, c.statements.Load(), c.commits.Load())
			if c.statements.Load() > limit || c.commits.Load() != 1 {
				t.Errorf("%s: %d statements in %d commits, want at most %d in one", what, c.statements.Load(), c.commits.Load(), limit)
			}
		}
		var turn *store.Turn
		accept := func() (err error) {
			turn, err = acceptTurn(ctx, s, "agent:a")
			return err
		}
		measure("first accept of a session", maxAccept, accept)
		measure("first turn of a session", maxCommit, func() error { return commitTurn(ctx, s, turn) })
		measure("accept with claim", maxAccept, accept)
		for range 2 { // somebody waits when the turn ends
			if _, err := s.Accept(ctx, storetest.NewMessage("agent:a", now)); err != nil {
				t.Fatal(err)
			}
		}
		measure("turn", maxCommit, func() error { return commitTurn(ctx, s, turn) })
		measure("append", maxAppend, func() error { return s.AppendMessages(ctx, "agent:a", turnMessages(now)) })
	})
}

// A page of a list touches a bounded range of one index, whatever the filter and
// however few sessions match it.
func TestListTouchesARange(t *testing.T) {
	cfg := newMySQL(t).config()
	manySessions(t, cfg)
	cfg.MaxOpenConns = 1 // so that the counters of the session are the store's
	s := open(t, cfg)
	most, which := int64(0), ""
	for _, f := range listFilters() {
		q, pages := f.query, 0
		for range 3 {
			var next string
			n := handlerReads(t, s, func() error {
				items, cursor, err := s.ListSessions(t.Context(), q)
				if err == nil && len(items) > q.Limit {
					err = fmt.Errorf("a page of %d", len(items))
				}
				next = cursor
				return err
			})
			if pages++; n > most {
				most, which = n, f.name
			}
			if n > maxRead {
				t.Errorf("%s, page %d: touched %d entries, want at most %d", f.name, pages, n, maxRead)
			}
			if q.Cursor = next; next == "" {
				break
			}
		}
	}
	t.Logf("at most %d entries, by %s", most, which)
}

// Reading the newest messages costs the same however long the history is.
func TestLastMessagesTouchARange(t *testing.T) {
	cfg := newMySQL(t).config()
	cfg.MaxOpenConns = 1
	s := open(t, cfg)
	reads := map[int]int64{}
	for _, n := range []int{100, 20_000} {
		longHistory(t, s, benchKey(n), n)
		for what, read := range map[string]func() error{
			"messages": func() error {
				_, err := s.Messages(t.Context(), benchKey(n), models.DefaultSlot, 0, 50)
				return err
			},
			"context": func() error {
				_, err := s.LoadContext(t.Context(), benchKey(n), models.DefaultSlot, 50)
				return err
			},
		} {
			if err := read(); err != nil { // the first one reads statistics, too
				t.Fatal(err)
			}
			touched := handlerReads(t, s, read)
			t.Logf("%s of %d: %d entries", what, n, touched)
			if touched > 200 {
				t.Errorf("%s: the last 50 of %d touched %d entries", what, n, touched)
			}
			reads[n] += touched
		}
	}
	if reads[100] != reads[20_000] {
		t.Errorf("entries touched by number of messages: %v", reads)
	}
}

// handlerReads runs a read and returns how many index entries and rows it touched.
func handlerReads(t *testing.T, s *gormstore.Store, read func() error) int64 {
	t.Helper()
	before := sessionReads(t, gormstore.Pool(s))
	if err := read(); err != nil {
		t.Fatal(err)
	}
	after := sessionReads(t, gormstore.Pool(s))
	if after == before {
		t.Fatal("nothing was read: the counters are another connection's")
	}
	return after - before
}

func sessionReads(t *testing.T, db *sql.DB) int64 {
	t.Helper()
	return sessionStatus(t, db, "Handler_read_first", "Handler_read_key", "Handler_read_last", "Handler_read_next", "Handler_read_prev", "Handler_read_rnd")
}

// sessionStatus is the sum of some counters of a connection.
func sessionStatus(t *testing.T, db *sql.DB, names ...string) (total int64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW SESSION STATUS WHERE Variable_name IN ('"+strings.Join(names, "','")+"')")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return total
}

// texts keeps the text of every statement.
type texts struct {
	mu  sync.Mutex
	all map[string]bool
}

func (s *texts) Statement(_ context.Context, sql string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[sql] = true
	return nil
}

func (*texts) Commit(context.Context) error    { return nil }
func (*texts) Committed(context.Context) error { return nil }

// scan matches a step of SQLite's plan that reads a whole table; due and newest are
// what an index found.
var scan = regexp.MustCompile(`^SCAN [a-z_]+$`)

func wholeTable(line string) bool {
	return scan.MatchString(line) && line != "SCAN due" && line != "SCAN newest"
}

// No statement of the hot path, and none of a list, reads a whole table or sorts on SQLite.
func TestSQLitePlans(t *testing.T) {
	d := newSQLite(t)
	cfg := d.config(d.file(t))
	seen := &texts{all: map[string]bool{}}
	cfg.Observer = seen
	s := open(t, cfg)
	clear(seen.all) // looking at the schema is not on the path
	ctx, now := t.Context(), clock.Real().Now()
	steps := []func() error{
		func() error {
			turn, err := acceptTurn(ctx, s, "agent:a")
			if err != nil {
				return err
			}
			return commitTurn(ctx, s, turn)
		},
		func() error { _, err := s.Accept(ctx, storetest.NewMessage("agent:a", now)); return err },
		func() error {
			claims, err := s.ClaimLanes(ctx, store.ClaimRequest{Owner: "a", Lease: time.Minute}, 10)
			if err != nil || len(claims) != 1 {
				return fmt.Errorf("claimed %d lanes: %w", len(claims), err)
			}
			_, err = s.BeginTurn(ctx, claims[0], store.MergeRule{Merge: true, Debounce: time.Second})
			return err
		},
		func() error { return s.AppendMessages(ctx, "agent:a", turnMessages(now)) },
		func() error { _, err := s.Messages(ctx, "agent:a", models.DefaultSlot, 0, 50); return err },
		func() error { _, err := s.LoadContext(ctx, "agent:a", models.DefaultSlot, 50); return err },
		func() error {
			_, err := s.ClaimTargets(ctx, store.ClaimRequest{Owner: "a", Lease: time.Minute}, 10)
			return err
		},
		func() error { _, err := s.StoppedTurns(ctx, []string{"inb_1", "inb_2"}); return err },
		func() error { _, err := s.Observed(ctx, "agent:a", 0, now, 10); return err },
		func() error {
			_, _, err := s.ListInbound(ctx, store.InboundQuery{State: models.InboundDone, Limit: 10})
			return err
		},
		func() error {
			_, _, err := s.ListDeliveries(ctx, store.DeliveryQuery{State: models.DeliveryPending, Limit: 10})
			return err
		},
	}
	for _, f := range listFilters() {
		steps = append(steps, func() error { _, _, err := s.ListSessions(ctx, f.query); return err })
	}
	steps = append(steps, contextSteps(ctx, s, now)...)
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	db := sqlOpen(t, "sqlite", cfg.DSN)
	for text := range seen.all {
		for _, line := range plan(t, db, text) {
			if wholeTable(line) || strings.Contains(line, "USE TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%s\n\t%s", line, text)
			}
		}
	}
}

func plan(t *testing.T, db *sql.DB, text string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

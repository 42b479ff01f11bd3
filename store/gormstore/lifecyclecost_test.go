package gormstore_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// What a pass may touch, in index entries and rows of all tables, for each session
// that is due.
const (
	maxPass      = 8
	maxExpire    = 30
	maxCandidate = 4
)

// sessionsEnv is how many sessions the larger population has; see the test of whole
// passes in package gateway.
const sessionsEnv = "LIFECYCLE_SESSIONS"

// A lifecycle pass costs what is due, whatever there is.
func TestLifecycleTouchesWhatIsDue(t *testing.T) {
	const due = 1000
	touched := map[string][]int64{}
	many := 100_000
	if text := os.Getenv(sessionsEnv); text != "" {
		var err error
		if many, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{10_000, many} {
		cfg := newMySQL(t).config()
		now := clock.Real().Now()
		lifecyclePopulation(t, cfg, n, due, now)
		cfg.MaxOpenConns = 1 // one connection reads and one writes, and their counters are the store's
		s := open(t, cfg)
		old := now.Add(-time.Hour)
		pass := func(run func() (store.Passed, error)) func() error {
			return func() error {
				p, err := run()
				if err == nil && p != (store.Passed{Considered: due, Changed: due}) {
					err = fmt.Errorf("passed %+v", p)
				}
				return err
			}
		}
		candidates := func(find func(after string) ([]store.SlotSize, string, error)) func() error {
			return func() error {
				found, after := 0, ""
				for {
					some, next, err := find(after)
					if found += len(some); err != nil {
						return err
					}
					if after = next; next == "" {
						break
					}
				}
				if found != due {
					return fmt.Errorf("%d candidates", found)
				}
				return nil
			}
		}
		for _, step := range []struct {
			what string
			each int64
			do   func() error
		}{
			{"idle", maxPass, pass(func() (store.Passed, error) { return s.IdleSessions(t.Context(), old, 2*due) })},
			{"archive", maxPass, pass(func() (store.Passed, error) { return s.ArchiveSessions(t.Context(), old, 2*due) })},
			{"compact candidates", maxCandidate, candidates(func(after string) ([]store.SlotSize, string, error) {
				return s.CompactCandidates(t.Context(), 100_000, 20, after, 300)
			})},
			{"compact candidates where little is enough", maxCandidate, candidates(func(after string) ([]store.SlotSize, string, error) {
				return s.CompactCandidates(t.Context(), 2000, 20, after, 300)
			})},
			{"prune candidates", maxCandidate, candidates(func(after string) ([]store.SlotSize, string, error) {
				return s.PruneCandidates(t.Context(), 20, after, 300)
			})},
			{"expire", maxExpire, pass(func() (store.Passed, error) { return s.ExpireSessions(t.Context(), old, 2*due) })},
		} {
			before := bothReads(t, s)
			start := clock.Real().Now()
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			took := clock.Real().Now().Sub(start)
			reads := bothReads(t, s) - before
			touched[step.what] = append(touched[step.what], reads)
			t.Logf("%s: %d due of %d: %d entries, %v", step.what, due, n, reads, took.Round(time.Millisecond))
			if reads > step.each*due {
				t.Errorf("%s: %d entries for %d of %d, want at most %d for each", step.what, reads, due, n, step.each)
			}
		}
		closeStore(t, s)
	}
	for what, n := range touched {
		if n[1] > n[0]+n[0]/10 {
			t.Errorf("%s: entries touched by number of sessions: %v", what, n)
		}
	}
}

func bothReads(t *testing.T, s *gormstore.Store) int64 {
	t.Helper()
	return sessionReads(t, gormstore.Pool(s)) + sessionReads(t, gormstore.WritePool(s))
}

// lifecyclePopulation fills the tables: n active sessions with small contexts, used
// now, of which some, spread over all, were last used yesterday and have large
// contexts. The rows come in the order of their keys, which takes a fraction of the
// time.
func lifecyclePopulation(tb testing.TB, cfg gormstore.Config, n, due int, now time.Time) {
	tb.Helper()
	s := open(tb, cfg)
	session := storetest.NewSession(benchKey(0), now)
	session.LastUserAt = now
	if err := s.CreateSession(tb.Context(), session); err != nil {
		tb.Fatal(err)
	}
	closeStore(tb, s)
	db := sqlOpen(tb, "mysql", cfg.DSN)
	exec := func(sql string, args ...any) {
		tb.Helper()
		if _, err := db.ExecContext(tb.Context(), sql, args...); err != nil {
			tb.Fatalf("%v\n%s", err, sql)
		}
	}
	var template []byte
	if err := db.QueryRowContext(tb.Context(), "SELECT sid FROM sessions").Scan(&template); err != nil {
		tb.Fatal(err)
	}
	const atOnce = 1000
	rows := func(first int) string { // numbers, keys, and whether they are due
		return fmt.Sprintf(`WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < %d),
			k AS (SELECT UNHEX(CONCAT(LPAD(HEX((%d + i) * %d), 8, '0'), LEFT(SHA2(%d + i, 256), 56))) AS sid, %d + i AS i, (%d + i) %% %d = 0 AS due FROM n)`,
			atOnce-1, first, 0xffffffff/n, first, first, first, n/due)
	}
	columns := columnsOf(tb, db, "sessions")
	from := slices.Clone(columns)
	for i, c := range columns {
		switch c {
		case "sid":
			from[i] = "k.sid"
		case "session_key":
			from[i] = "CONCAT(t.session_key, '-', k.i)"
		case "last_user_at":
			from[i] = fmt.Sprintf("IF(k.due, %d, t.last_user_at)", now.Add(-24*time.Hour).UnixMicro())
		default:
			from[i] = "t." + c
		}
	}
	for first := 0; first < n; first += atOnce {
		with := rows(first)
		exec(fmt.Sprintf("INSERT INTO sessions (%s) %s SELECT %s FROM k, sessions t WHERE t.sid = ?",
			strings.Join(columns, ", "), with, strings.Join(from, ", ")), template)
		exec(fmt.Sprintf(`INSERT INTO lanes (sid, session_key, due_at, fence, attempts, lease_owner, last_seq, slot, epoch, deleted_seq)
			%s SELECT sid, CONCAT(?, '-', i), NULL, 1, 0, NULL, 0, ?, 0, 0 FROM k`, with), session.Key, models.DefaultSlot)
		exec(fmt.Sprintf(`INSERT INTO slots (sid, name, context_id, mode, compact, next_seq, message_count, total_tokens, place, user_at, model_at, active_at, updated_at, created_at)
			%s SELECT sid, ?, LEFT(sid, 16), 'full', 1, IF(due, 51, 5), IF(due, 50, 4), IF(due, 150000, 1000), 1, 0, 0, 0, 0, 0 FROM k`, with), models.DefaultSlot)
	}
	for _, table := range []string{"sessions", "lanes", "slots"} {
		exec("ANALYZE TABLE " + table)
	}
}

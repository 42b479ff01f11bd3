package gormstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"database/sql"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

func serverCPU(tb testing.TB, db *sql.DB) float64 {
	var pf string
	if err := db.QueryRow("SELECT @@pid_file").Scan(&pf); err != nil {
		tb.Fatal(err)
	}
	b, err := os.ReadFile(pf)
	if err != nil {
		tb.Fatal(err)
	}
	st, _ := filepath.Glob("/proc/" + strings.TrimSpace(string(b)) + "/task/*/schedstat")
	var total float64
	for _, f := range st {
		c, _ := os.ReadFile(f)
		var ns, w, n float64
		fmt.Sscan(string(c), &ns, &w, &n)
		total += ns
	}
	return total / 1000
}

func clientCPU() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(0, &r)
	return float64(r.Utime.Sec+r.Stime.Sec)*1e6 + float64(r.Utime.Usec+r.Stime.Usec)
}

func status(tb testing.TB, db *sql.DB) map[string]int64 {
	rows, err := db.Query("SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^(Innodb_row_lock_waits|Innodb_row_lock_time|Com_commit|Com_rollback|Com_begin|Com_stmt_prepare|Com_stmt_execute|Com_select|Com_update|Com_update_multi|Com_insert|Handler_read_key|Handler_update|Handler_write|Handler_prepare|Handler_commit|Innodb_log_waits|Innodb_os_log_fsyncs|Innodb_os_log_written|Innodb_deadlocks|Connections|Questions|Created_tmp_tables|Opened_tables|Table_open_cache_misses)$'")
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	m := map[string]int64{}
	for rows.Next() {
		var k string
		var v int64
		_ = rows.Scan(&k, &v)
		m[k] = v
	}
	return m
}

func TestScratchCPU(t *testing.T) {
	db := newMySQL(t)
	cfg := db.config()
	s, _ := counted(t, cfg)
	makeSessions(t, s, benchSessions)
	raw := newRawInsert(t, db)
	turns := make([]*store.Turn, benchSessions)
	accept := func(i int) (err error) {
		i %= benchSessions
		turns[i], err = acceptTurn(t.Context(), s, benchKey(i))
		return err
	}
	commit := func(i int) error { i %= benchSessions; return commitTurn(t.Context(), s, turns[i]) }
	rawdo := func(i int) error { return raw.append(t.Context(), i%benchSessions, turnMessages(clock.Real().Now())) }
	app := func(i int) error {
		return s.AppendMessages(t.Context(), benchKey(i%benchSessions), turnMessages(clock.Real().Now()))
	}
	const rounds, count = 12, 250
	type acc struct {
		srv, cli, secs float64
		st             map[string]int64
	}
	for _, n := range []int{1, 8, 32} {
		ops := []struct {
			name string
			do   func(int) error
		}{{"raw", rawdo}, {"append", app}, {"accept", accept}, {"commit", commit}}
		sums := map[string]*acc{}
		for r := range rounds {
			for _, op := range ops {
				a := sums[op.name]
				if a == nil {
					a = &acc{st: map[string]int64{}}
					sums[op.name] = a
				}
				b0, c0, s0, t0 := status(t, db.db), clientCPU(), serverCPU(t, db.db), clock.Real().Now()
				errs := make([]error, n)
				writers(n, count, func(w, i int) {
					if err := op.do(i); err != nil {
						errs[w] = err
					}
				})
				a.secs += clock.Real().Now().Sub(t0).Seconds()
				a.srv += serverCPU(t, db.db) - s0
				a.cli += clientCPU() - c0
				for k, v := range status(t, db.db) {
					a.st[k] += v - b0[k]
				}
				for _, err := range errs {
					if err != nil {
						t.Fatal(err)
					}
				}
				_ = r
			}
		}
		for _, op := range ops {
			a := sums[op.name]
			var line []string
			for k, v := range a.st {
				if v > rounds*count/50 || (v > 0 && (strings.Contains(k, "lock") || strings.Contains(k, "log") || strings.Contains(k, "roll"))) {
					line = append(line, fmt.Sprintf("%s=%.2f", k, float64(v)/rounds/count))
				}
			}
			fmt.Printf("n=%d %-7s server %.0f us client %.0f us  %.0f/s  %v\n", n, op.name, a.srv/rounds/count, a.cli/rounds/count, rounds*count/a.secs, line)
		}
	}
}

func TestScratchPair(t *testing.T) {
	db := newMySQL(t)
	s, _ := counted(t, db.config())
	makeSessions(t, s, benchSessions)
	raw := newRawInsert(t, db)
	for _, n := range []int{1, 8, 32} {
		p := compare(t, n, 20, func(i int) error { return raw.append(t.Context(), i%benchSessions, turnMessages(clock.Real().Now())) },
			func(i int) error {
				return s.AppendMessages(t.Context(), benchKey(i%benchSessions), turnMessages(clock.Real().Now()))
			})
		fmt.Printf("pair n=%d raw %.0f store %.0f ratio %.2f\n", n, p.raw, p.store, p.ratio)
	}
}

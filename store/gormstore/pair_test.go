package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// minPairs are what the medians of a benchmark need.
	minPairs = 20
	// minRatio is well below what is measured (0.3 on an overloaded machine to 0.5 on a
	// quiet one, at 8 writers): it catches waits for locks and whole scans, no lost percents.
	minRatio = 0.2
)

// BenchmarkAppendTurn compares AppendMessages with the bare insert. One operation is a
// pair of slices; there are at least minPairs of them.
func BenchmarkAppendTurn(b *testing.B) {
	db := newMySQL(b)
	s, c := counted(b, db.config())
	makeSessions(b, s, benchSessions)
	raw := newRawInsert(b, db)
	for _, n := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("writers=%d", n), func(b *testing.B) {
			c.reset()
			p := compare(b, n, max(b.N, minPairs), raw.turn(b), appendTurn(b, s))
			b.ReportMetric(p.raw, "raw-ops/s")
			b.ReportMetric(p.store, "store-ops/s")
			b.ReportMetric(p.ratio, "ratio")
			b.ReportMetric(float64(c.statements.Load())/float64(p.stored), "stmts/op")
			b.ReportMetric(float64(c.commits.Load())/float64(p.stored), "commits/op")
			b.ReportMetric(0, "ns/op") // of a slice: says nothing
		})
	}
}

func TestAppendKeepsUpWithTheBareInsert(t *testing.T) {
	db := newMySQL(t)
	s := open(t, db.config())
	makeSessions(t, s, benchSessions)
	p := compare(t, 8, minPairs, newRawInsert(t, db).turn(t), appendTurn(t, s))
	t.Logf("bare insert %.0f/s, store %.0f/s, ratio %.2f", p.raw, p.store, p.ratio)
	if p.ratio < minRatio {
		t.Errorf("ratio %.2f, want at least %.2f", p.ratio, minRatio)
	}
}

// appendTurn is one turn of a session by the store.
func appendTurn(tb testing.TB, s store.Store) func(i int) error {
	return func(i int) error {
		return s.AppendMessages(tb.Context(), benchKey(i%benchSessions), turnMessages(clock.Real().Now()))
	}
}

// sliceTime is how long each side of a pair runs before the other has its turn.
const sliceTime = 200 * time.Millisecond

// pairedRates are medians over many slices.
type pairedRates struct {
	raw, store float64 // operations per second
	// ratio is the median of store by raw, slice by slice.
	ratio float64
	// stored counts the store's operations.
	stored int64
}

// compare runs two operations in short slices that alternate, so that whatever else
// the machine does hits both alike.
func compare(tb testing.TB, writers, pairs int, raw, store func(i int) error) pairedRates {
	tb.Helper()
	var raws, stores, ratios []float64
	var stored atomic.Int64
	counting := func(i int) error {
		stored.Add(1)
		return store(i)
	}
	for pair := range pairs {
		var r, s float64
		if pair%2 == 0 {
			r, s = rate(tb, writers, raw), rate(tb, writers, counting)
		} else {
			s, r = rate(tb, writers, counting), rate(tb, writers, raw)
		}
		raws, stores, ratios = append(raws, r), append(stores, s), append(ratios, s/r)
	}
	return pairedRates{raw: median(raws), store: median(stores), ratio: median(ratios), stored: stored.Load()}
}

// rate runs an operation for one slice, in so many goroutines, each on sessions of its own.
func rate(tb testing.TB, writers int, do func(i int) error) float64 {
	tb.Helper()
	var wg sync.WaitGroup
	var done atomic.Int64
	errs := make([]error, writers)
	start := clock.Real().Now()
	for w := range writers {
		wg.Go(func() {
			for i := w; errs[w] == nil && clock.Real().Now().Sub(start) < sliceTime; i += writers {
				errs[w] = do(i)
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := clock.Real().Now().Sub(start)
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return float64(done.Load()) / took.Seconds()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// rawInsert is the least that storing a turn can cost: one prepared multi-row
// insert in a transaction, into a table like the store's own.
type rawInsert struct {
	db   *sql.DB
	stmt *sql.Stmt
	seqs [benchSessions]atomic.Int64
}

func newRawInsert(tb testing.TB, m *mysqlDatabase) *rawInsert {
	tb.Helper()
	if _, err := m.db.ExecContext(tb.Context(), "CREATE TABLE raw_messages LIKE messages"); err != nil {
		tb.Fatal(err)
	}
	r := &rawInsert{db: sqlOpen(tb, "mysql", m.dsn+"&interpolateParams=false&tx_isolation=%27READ-COMMITTED%27")}
	r.db.SetMaxOpenConns(32)
	r.db.SetMaxIdleConns(32)
	const row = "(?,?,?,?,?,?,?,?,?,?,?)"
	var err error
	r.stmt, err = r.db.PrepareContext(tb.Context(),
		"INSERT INTO raw_messages (context_id, seq, turn_seq, id, role, content, meta, tokens, compacted, undone, created_at) VALUES "+row+","+row)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.stmt.Close() })
	return r
}

// turn is one turn of a session by the bare insert.
func (r *rawInsert) turn(tb testing.TB) func(i int) error {
	return func(i int) error {
		return r.append(tb.Context(), i%benchSessions, turnMessages(clock.Real().Now()))
	}
}

func (r *rawInsert) append(ctx context.Context, session int, messages []*models.SessionMessage) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	to := r.seqs[session].Add(int64(len(messages)))
	args := make([]any, 0, 11*len(messages))
	for i, m := range messages {
		args = append(args, fmt.Appendf(nil, "%016d", session), to-int64(len(messages))+int64(i)+1, to, m.ID, string(m.Role),
			m.Content, nil, m.TokenCount, 0, 0, m.CreatedAt.UnixMicro())
	}
	if _, err := tx.StmtContext(ctx, r.stmt).ExecContext(ctx, args...); err != nil {
		return err
	}
	return tx.Commit()
}

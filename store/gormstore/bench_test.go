package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// The benchmarks print statements and commits per operation beside the time. To
// compare what the store does with the bare insert, and one size with another:
//
//	go test -run '^$' -bench . -count 6 ./store/gormstore > new.txt
//	benchstat -col /by new.txt

// counter counts what is sent to the database. BEGIN and COMMIT are no statements.
type counter struct {
	statements, commits atomic.Int64
	paused              atomic.Bool
}

func (c *counter) Statement(context.Context, string) error {
	if !c.paused.Load() {
		c.statements.Add(1)
	}
	return nil
}

func (c *counter) Commit(context.Context) error {
	if !c.paused.Load() {
		c.commits.Add(1)
	}
	return nil
}

func (c *counter) Committed(context.Context) error { return nil }

func (c *counter) reset() {
	c.statements.Store(0)
	c.commits.Store(0)
}

func (c *counter) report(b *testing.B) {
	b.ReportMetric(float64(c.statements.Load())/float64(b.N), "stmts/op")
	b.ReportMetric(float64(c.commits.Load())/float64(b.N), "commits/op")
}

// benchDatabases are empty databases of each kind.
func benchDatabases(b *testing.B) []gormstore.Config {
	b.Helper()
	d := newSQLite(b)
	return []gormstore.Config{newMySQL(b).config(), d.config(d.file(b))}
}

// counted opens a store that counts.
func counted(tb testing.TB, cfg gormstore.Config) (*gormstore.Store, *counter) {
	tb.Helper()
	c := &counter{}
	cfg.Observer = c
	return open(tb, cfg), c
}

const benchSessions = 1000

func benchKey(i int) string {
	return fmt.Sprintf("agent:assistant:channel:any:scope:per_peer:feishu/main/ou_%032d", i)
}

// makeSessions creates the sessions that benchmarks write to.
func makeSessions(tb testing.TB, s store.Store, n int) {
	tb.Helper()
	errs := make([]error, 8)
	writers(len(errs), n, func(w, i int) {
		if err := s.CreateSession(context.Background(), storetest.NewSession(benchKey(i), clock.Real().Now())); err != nil {
			errs[w] = err
		}
	})
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// writers runs do for 0 to n-1 in so many goroutines.
func writers(count, n int, do func(writer, i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for w := range count {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(w, int(i))
			}
		})
	}
	wg.Wait()
}

// turnMessages are what an ordinary turn leaves: a question and its answer.
func turnMessages(now time.Time) []*models.SessionMessage {
	return []*models.SessionMessage{
		storetest.NewSessionMessage(models.RoleUser, "What did we decide about the release on Friday?", now),
		storetest.NewSessionMessage(models.RoleAssistant, "You decided to ship on Friday at 17:00, after the smoke test, and to tell the support team an hour before.", now),
	}
}

// runWriters runs b.N operations in so many goroutines.
func runWriters(b *testing.B, n int, do func(i int) error) {
	b.Helper()
	errs := make([]error, n)
	b.ResetTimer()
	writers(n, b.N, func(w, i int) {
		if err := do(i); err != nil {
			errs[w] = err
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, cfg := range benchDatabases(b) {
		b.Run("db="+string(cfg.Driver), func(b *testing.B) {
			s, c := counted(b, cfg)
			makeSessions(b, s, benchSessions)
			for _, n := range []int{1, 8, 32} {
				turns := make([]*store.Turn, benchSessions)
				accept := func(i int) (err error) {
					turns[i], err = acceptTurn(b.Context(), s, benchKey(i))
					return err
				}
				commit := func(i int) error { return commitTurn(b.Context(), s, turns[i]) }
				b.Run(fmt.Sprintf("op=accept/writers=%d", n), func(b *testing.B) { runPhases(b, c, n, nil, accept, commit) })
				b.Run(fmt.Sprintf("op=commit/writers=%d", n), func(b *testing.B) { runPhases(b, c, n, accept, commit, nil) })
				b.Run(fmt.Sprintf("op=cycle/writers=%d", n), func(b *testing.B) {
					c.reset()
					runWriters(b, n, func(i int) error {
						if err := accept(i % benchSessions); err != nil {
							return err
						}
						return commit(i % benchSessions)
					})
					c.report(b)
				})
			}
		})
	}
}

// runPhases measures one of several steps that all sessions take together: what
// comes before and after it is not counted.
func runPhases(b *testing.B, c *counter, n int, before, measured, after func(i int) error) {
	b.Helper()
	step := func(do func(i int) error, count int) {
		errs := make([]error, n)
		if do != nil {
			writers(n, count, func(w, i int) { errs[w] = errors.Join(errs[w], do(i)) })
		}
		if err := errors.Join(errs...); err != nil {
			b.Fatal(err)
		}
	}
	c.reset()
	b.ResetTimer()
	for done := 0; done < b.N; done += benchSessions {
		count := min(benchSessions, b.N-done)
		b.StopTimer()
		c.paused.Store(true)
		step(before, count)
		c.paused.Store(false)
		b.StartTimer()
		step(measured, count)
		b.StopTimer()
		c.paused.Store(true)
		step(after, count)
		c.paused.Store(false)
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	c.report(b)
}

// acceptTurn accepts a message as a platform's adapter would, and claims its lane.
func acceptTurn(ctx context.Context, s store.Store, key string, change ...func(*store.AcceptRequest)) (*store.Turn, error) {
	r := storetest.NewMessage(key, clock.Real().Now())
	r.DedupKeys = append(r.DedupKeys, "event/"+r.Inbound.ID)
	r.Claim = &store.ClaimRequest{Owner: "bench", Lease: time.Minute}
	r.Cap = 20
	for _, c := range change {
		c(r)
	}
	a, err := s.Accept(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.Claim == nil {
		return nil, fmt.Errorf("the lane of %s was not claimed", key)
	}
	return &store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, nil
}

// commitTurn answers with one delivery, whose target it claims, and says what it cost.
func commitTurn(ctx context.Context, s store.Store, turn *store.Turn, change ...func(*store.TurnCommit)) error {
	now := clock.Real().Now()
	c := storetest.NewAnswer(turn, "answer", now)
	c.Messages = turnMessages(now)
	c.Deliveries = storetest.NewParts(turn, turn.Inbounds[0].ID, 1, now)
	c.ClaimTarget = &store.ClaimRequest{Owner: "bench", Lease: time.Minute}
	c.Keep = time.Minute
	c.Usage = &store.UsageEntry{
		Day: store.DayOf(now), User: "feishu/main/ou_1234567890abcdef", AgentID: "assistant", Model: "deepseek-chat",
		UsageCount: store.UsageCount{PromptTokens: 1234, CompletionTokens: 56, Turns: 1},
	}
	for _, f := range change {
		f(c)
	}
	_, err := s.CommitTurn(ctx, c)
	return err
}

func BenchmarkLast50(b *testing.B) {
	for _, cfg := range benchDatabases(b) {
		s, c := counted(b, cfg)
		for _, n := range []int{100, 100_000} {
			longHistory(b, s, benchKey(n), n)
			b.Run(fmt.Sprintf("db=%s/messages=%d", cfg.Driver, n), func(b *testing.B) {
				c.reset()
				runWriters(b, 1, func(int) error {
					messages, err := s.Messages(b.Context(), benchKey(n), models.DefaultSlot, 0, 50)
					if err == nil && len(messages) != 50 {
						err = fmt.Errorf("%d messages", len(messages))
					}
					return err
				})
				c.report(b)
			})
		}
	}
}

// BenchmarkLoadContext reads what a turn starts from: fifty messages and five notes.
func BenchmarkLoadContext(b *testing.B) {
	for _, cfg := range benchDatabases(b) {
		s, c := counted(b, cfg)
		key := benchKey(0)
		longHistory(b, s, key, 200)
		if err := s.ChangeSession(b.Context(), key, func(tx store.SessionTx) error { return furnish(tx, 200, clock.Real().Now()) }); err != nil {
			b.Fatal(err)
		}
		for _, readers := range []int{1, 8} {
			b.Run(fmt.Sprintf("db=%s/readers=%d", cfg.Driver, readers), func(b *testing.B) {
				c.reset()
				runWriters(b, readers, func(int) error {
					_, err := s.LoadContext(b.Context(), key, "", 50)
					return err
				})
				c.report(b)
			})
		}
	}
}

// longHistory makes a session with n messages.
func longHistory(tb testing.TB, s store.Store, key string, n int) {
	tb.Helper()
	const batch = 1000
	now := clock.Real().Now()
	if err := s.CreateSession(context.Background(), storetest.NewSession(key, now)); err != nil {
		tb.Fatal(err)
	}
	for done := 0; done < n; done += batch {
		messages := make([]*models.SessionMessage, min(batch, n-done))
		for i := range messages {
			messages[i] = storetest.NewSessionMessage(models.RoleUser, fmt.Sprintf("message %d: what did we decide about the release?", done+i), now)
		}
		if err := s.AppendMessages(context.Background(), key, messages); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkListSessions(b *testing.B) {
	for _, cfg := range benchDatabases(b) {
		manySessions(b, cfg)
		s, c := counted(b, cfg)
		for _, f := range listFilters() {
			b.Run(fmt.Sprintf("db=%s/%s", cfg.Driver, f.name), func(b *testing.B) {
				c.reset()
				runWriters(b, 1, func(int) error {
					_, _, err := s.ListSessions(b.Context(), f.query)
					return err
				})
				c.report(b)
			})
		}
	}
}

type listFilter struct {
	name  string
	query store.SessionQuery
}

// listFilters are all combinations of the filters: with values that half of the
// sessions have together, that half of them have each but none has together, and
// that one in five hundred has.
func listFilters() []listFilter {
	var all []listFilter
	for _, kind := range []string{"common", "disjoint", "rare"} {
		for mask := range 1 << 5 {
			q := store.SessionQuery{Limit: 50}
			name := kind
			set := func(bit int, field string, to *string, even, odd, rare string) {
				if mask>>bit&1 == 0 {
					return
				}
				*to = even
				switch {
				case kind == "rare":
					*to = rare
				case kind == "disjoint" && mask&(1<<bit-1) != 0: // not the first one
					*to = odd
				}
				name += "+" + field
			}
			var scope, state string
			set(0, "agent", &q.AgentID, "even", "odd", "rare")
			set(1, "channel", &q.Channel, "even", "odd", "rare")
			set(2, "scope", &scope, string(models.ScopePerPeer), string(models.ScopeThread), string(models.ScopeMain))
			set(3, "state", &state, string(models.SessionActive), string(models.SessionIdle), string(models.SessionCompacted))
			set(4, "text", &q.Text, "even", "odd", "nowhere to be found")
			q.Scope, q.State = models.Scope(scope), models.SessionState(state)
			all = append(all, listFilter{name, q})
		}
	}
	return all
}

const manySessionsCount = 100_000

// manySessions fills the sessions table: a few made by the store, copied by the
// database.
func manySessions(tb testing.TB, cfg gormstore.Config) {
	tb.Helper()
	const made = 500
	s := open(tb, cfg)
	now := clock.Real().Now().Add(-time.Hour)
	for i := range made {
		m := storetest.NewSession(benchKey(i), now.Add(time.Duration(i)*time.Millisecond))
		m.AgentID, m.Channel, m.Title = "even", "even", "an even title"
		switch {
		case i == 0:
			m.AgentID, m.Channel, m.Scope, m.State, m.Title = "rare", "rare", models.ScopeMain, models.SessionCompacted, ""
		case i%2 == 1:
			m.AgentID, m.Channel, m.Scope, m.State, m.Title = "odd", "odd", models.ScopeThread, models.SessionIdle, "an odd title"
		}
		if err := s.CreateSession(tb.Context(), m); err != nil {
			tb.Fatal(err)
		}
	}
	closeStore(tb, s)
	driver, sid, key := "mysql", "UNHEX(SHA2(CONCAT(session_key, ?), 256))", "CONCAT(session_key, ?)"
	if cfg.Driver == gormstore.SQLite {
		driver, sid, key = "sqlite", "randomblob(32) || substr(?, 1, 0)", "session_key || ?"
	}
	db := sqlOpen(tb, driver, cfg.DSN)
	columns := columnsOf(tb, db, "sessions")
	from := ""
	for i, c := range columns {
		if i > 0 {
			from += ", "
		}
		switch c {
		case "sid":
			from += sid
		case "session_key":
			from += key
		case "created_at":
			from += "created_at + ?"
		default:
			from += c
		}
	}
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for n, round := made, 1; n < manySessionsCount; n, round = 2*n, round+1 {
		suffix := fmt.Sprintf("-%d", round)
		insert := fmt.Sprintf("INSERT INTO sessions SELECT %s FROM sessions LIMIT %d", from, manySessionsCount-n)
		if _, err := tx.ExecContext(tb.Context(), insert, argsFor(columns, suffix, int64(n)*1000)...); err != nil {
			tb.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
	if driver == "mysql" {
		if _, err := db.ExecContext(tb.Context(), "ANALYZE TABLE sessions"); err != nil {
			tb.Fatal(err)
		}
	}
}

// argsFor orders the values of a copy as the columns come.
func argsFor(columns []string, suffix string, shift int64) []any {
	var args []any
	for _, c := range columns {
		switch c {
		case "sid", "session_key":
			args = append(args, suffix)
		case "created_at":
			args = append(args, shift)
		}
	}
	return args
}

func columnsOf(tb testing.TB, db *sql.DB, table string) []string {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	return columns
}

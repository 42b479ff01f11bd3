package gateway_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// sessionsEnv is how many sessions TestPassesCostWhatIsDue fills a database with;
// loading them takes minutes. What the passes touch is counted by the test of the same
// variable in store/gormstore.
const sessionsEnv = "LIFECYCLE_SESSIONS"

// Whole passes take as long with many sessions as with 10,000, if as many are due: the
// median of several. The model of the summaries answers at once.
func TestPassesCostWhatIsDue(t *testing.T) {
	if os.Getenv(sessionsEnv) == "" {
		t.Skip("set " + sessionsEnv + ", such as to 1000000")
	}
	many, err := strconv.Atoi(os.Getenv(sessionsEnv))
	if err != nil {
		t.Fatal(err)
	}
	few, of := passes(t, 10_000), passes(t, many)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		before, now := median(few[name]), median(of[name])
		ratio := float64(now) / float64(before)
		t.Logf("%-15s %4d ms of 10,000, %4d ms of %d: %.2f", name, before.Milliseconds(), now.Milliseconds(), many, ratio)
		if ratio > 2 {
			t.Errorf("%s: %v with many sessions, %v with 10,000", name, now, before)
		}
		if now > 2*time.Second {
			t.Errorf("%s: %v", name, now)
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// passes runs every job a few times on n sessions of which a thousand are due, and
// returns how long each took.
func passes(t *testing.T, n int) map[string][]time.Duration {
	const due, rounds = 1000, 3
	r := newRig(t)
	dsn := testmysql.DSN(t)
	s, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.MySQL, DSN: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	r.store = s
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer("what was said"), nil })
	r.settings.Lifecycle = lifecycle.Settings{IdleTimeout: 24 * time.Hour, ArchiveAfter: time.Hour, TTL: 36 * time.Hour, Location: time.UTC}
	r.settings.Compaction = gateway.Compaction{Enabled: true, MaxTokens: 5000, Threshold: 0.8, MinMessages: 6, KeepRecent: 4}
	r.settings.MaxMessages = 8 // of 12: hard deletes the others
	r.make()
	r.session(0, r.clock.Now())
	r.multiply(dsn, n)
	took, read := map[string][]time.Duration{}, map[string][]int{}
	pass := func(job, as string) {
		t.Helper()
		before := r.pagesRead(dsn)
		report, err := r.gateway.RunJob(context.Background(), job, false)
		if err != nil || report.Changed != due || report.Considered != due {
			t.Fatalf("%s: %+v %v", as, report, err)
		}
		took[as] = append(took[as], report.FinishedAt.Sub(report.StartedAt))
		read[as] = append(read[as], r.pagesRead(dsn)-before)
	}
	for round := range rounds {
		r.due(due)
		if round == 0 {
			r.analyze(dsn)
		}
		for _, mode := range []prune.Mode{prune.ModeSoft, prune.ModeCacheTTL, prune.ModeHard} {
			r.unprune(dsn)
			s := r.settings
			s.Pruning = prune.Settings{Enabled: true, Mode: mode, KeepRecent: 4, MaxResultSize: 2000, SaveToolCalls: true, KeepToolCalls: 2}
			r.gateway.Reload(s)
			pass(lifecycle.Prune, "prune "+string(mode))
		}
		for _, job := range []string{lifecycle.Idle, lifecycle.Archive, lifecycle.Compact, lifecycle.Expire} {
			pass(job, job)
		}
	}
	for _, as := range slices.Sorted(maps.Keys(took)) {
		t.Logf("%-15s %d of %d: %v, %v pages from disk", as, due, n, took[as], read[as])
	}
	return took
}

// pagesRead is how many pages the server has read from disk: how long a pass takes
// depends on where the rows are, too.
func (r *rig) pagesRead(dsn string) (n int) {
	r.t.Helper()
	var name string
	row := r.database(dsn).QueryRowContext(context.Background(), "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'")
	if err := row.Scan(&name, &n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// session makes one that was last used at a time.
func (r *rig) session(i int, at time.Time) *models.Session {
	r.t.Helper()
	s := storetest.NewSession(fmt.Sprintf("agent:assistant:channel:any:scope:per_peer:chat/main/peer-%d", i), at)
	s.LastUserAt = at
	if err := r.store.CreateSession(context.Background(), s); err != nil {
		r.t.Error(err)
	}
	return s
}

// due makes sessions that were used two days ago, with tool results.
func (r *rig) due(n int) {
	r.t.Helper()
	at := r.clock.Now().Add(-48 * time.Hour)
	var group sync.WaitGroup
	work := make(chan int)
	for range 8 {
		group.Go(func() {
			for i := range work {
				s := r.session(i, at)
				var messages []*models.SessionMessage
				for n := range 3 {
					messages = append(messages, lookedUp(at, n)...)
				}
				if err := r.store.AppendMessages(context.Background(), s.Key, messages); err != nil {
					r.t.Error(err)
				}
			}
		})
	}
	for i := range n {
		work <- i + 1
	}
	close(work)
	group.Wait()
}

func (r *rig) analyze(dsn string) {
	r.t.Helper()
	for _, table := range []string{"sessions", "lanes", "slots", "messages"} {
		if _, err := r.database(dsn).ExecContext(context.Background(), "ANALYZE TABLE "+table); err != nil {
			r.t.Fatal(err)
		}
	}
}

// unprune undoes what a pass of pruning did.
func (r *rig) unprune(dsn string) {
	r.t.Helper()
	for _, sql := range []string{"DELETE FROM pruned_forms", "UPDATE slots SET pruned_through = 0 WHERE pruned_through > 0"} {
		if _, err := r.database(dsn).ExecContext(context.Background(), sql); err != nil {
			r.t.Fatal(err)
		}
	}
}

// lookedUp is a question that was answered with the help of a tool.
func lookedUp(at time.Time, n int) []*models.SessionMessage {
	call := models.ToolCall{ID: fmt.Sprint("call_", n), Name: "look", Arguments: "{}"}
	out := []*models.SessionMessage{
		{Role: models.RoleUser, Content: "what about it"},
		{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{call}},
		{Role: models.RoleTool, ToolCallID: call.ID, Content: strings.Repeat("what was found\n", 200)},
		{Role: models.RoleAssistant, Content: "this is what I found"},
	}
	for _, m := range out {
		m.ID, m.CreatedAt, m.TokenCount = models.NewMessageID(at), at, 1000
	}
	return out
}

func (r *rig) database(dsn string) *sql.DB {
	r.t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = db.Close() })
	return db
}

// multiply copies the one session that there is inside the database, in the order of
// the copies' keys, which takes a fraction of the time.
func (r *rig) multiply(dsn string, n int) {
	r.t.Helper()
	ctx, db := context.Background(), r.database(dsn)
	var template []byte
	if err := db.QueryRowContext(ctx, "SELECT sid FROM sessions").Scan(&template); err != nil {
		r.t.Fatal(err)
	}
	const atOnce = 1000
	for _, table := range []string{"lanes", "slots", "sessions"} {
		names := r.columns(db, table)
		from := slices.Clone(names)
		for i, name := range names {
			switch name {
			case "sid":
				from[i] = "k.sid"
			case "context_id":
				from[i] = "LEFT(k.sid, 16)"
			case "session_key":
				from[i] = "CONCAT(t.session_key, '-', k.i)"
			default:
				from[i] = "t." + name
			}
		}
		for first := 0; first < n; first += atOnce {
			if _, err := db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s (%s)
				WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < %d),
				k AS (SELECT UNHEX(CONCAT(LPAD(HEX((%d + i) * %d), 8, '0'), LEFT(SHA2(%d + i, 256), 56))) AS sid, %d + i AS i FROM n)
				SELECT %s FROM k, %s t WHERE t.sid = ?`, table, strings.Join(names, ", "), atOnce-1,
				first, 0xffffffff/n, first, first, strings.Join(from, ", "), table), template); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// columns are those of a table that are not generated.
func (r *rig) columns(db *sql.DB, table string) (names []string) {
	r.t.Helper()
	rows, err := db.QueryContext(context.Background(), `SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE()
		AND table_name = ? AND COALESCE(generation_expression, '') = '' ORDER BY ordinal_position`, table)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			r.t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	return names
}

package gateway_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// Whole passes take as long with many sessions as with 10,000, if as many are due.
// Compaction is left out: most of its time is the model's.
func TestPassesCostWhatIsDue(t *testing.T) {
	if os.Getenv(sessionsEnv) == "" {
		t.Skip("set " + sessionsEnv + ", such as to 1000000")
	}
	many, err := strconv.Atoi(os.Getenv(sessionsEnv))
	if err != nil {
		t.Fatal(err)
	}
	const due = 1000
	took := map[string][]time.Duration{}
	for _, n := range []int{10_000, many} {
		r := newRig(t)
		dsn := testmysql.DSN(t)
		s, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.MySQL, DSN: dsn, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		r.store = s
		r.load(dsn, n, due)
		r.settings.Pruning = prune.Settings{Enabled: true, Mode: prune.ModeSoft, KeepRecent: 4, MaxResultSize: 2000, SaveToolCalls: true, KeepToolCalls: 5}
		r.settings.Lifecycle = lifecycle.Settings{IdleTimeout: 24 * time.Hour, ArchiveAfter: time.Hour, TTL: 36 * time.Hour, Location: time.UTC}
		r.make()
		for _, job := range []string{lifecycle.Prune, lifecycle.Idle, lifecycle.Archive, lifecycle.Expire} {
			report, err := r.gateway.RunJob(context.Background(), job, false)
			if err != nil || report.Changed != due || report.Considered != due {
				t.Fatalf("%s: %+v %v", job, report, err)
			}
			d := report.FinishedAt.Sub(report.StartedAt)
			took[job] = append(took[job], d)
			t.Logf("%s: %d of %d in %v", job, due, n, d.Round(time.Millisecond))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for job, d := range took {
		if d[1] > 2*d[0] {
			t.Errorf("%s: %v with many sessions, %v with 10,000", job, d[1], d[0])
		}
		if d[1] > 2*time.Second {
			t.Errorf("%s: %v", job, d[1])
		}
	}
}

// load fills the database with n sessions that were used just now, and as many as are
// due that were used two days ago, with tool results.
func (r *rig) load(dsn string, n, due int) {
	r.t.Helper()
	ctx, now := context.Background(), r.clock.Now()
	session := func(i int, at time.Time) *models.Session {
		s := storetest.NewSession(fmt.Sprintf("agent:assistant:channel:any:scope:per_peer:chat/main/peer-%d", i), at)
		s.LastUserAt = at
		if err := r.store.CreateSession(ctx, s); err != nil {
			r.t.Error(err)
		}
		return s
	}
	session(0, now)
	r.multiply(dsn, n)
	var group sync.WaitGroup
	work := make(chan int)
	for range 8 {
		group.Go(func() {
			for i := range work {
				at := now.Add(-48 * time.Hour)
				s := session(i, at)
				var messages []*models.SessionMessage
				for n := range 3 {
					messages = append(messages, lookedUp(at, n)...)
				}
				if err := r.store.AppendMessages(ctx, s.Key, messages); err != nil {
					r.t.Error(err)
				}
			}
		})
	}
	for i := range due {
		work <- i + 1
	}
	close(work)
	group.Wait()
	db := r.database(dsn)
	for _, table := range []string{"sessions", "lanes", "slots", "messages"} {
		if _, err := db.ExecContext(ctx, "ANALYZE TABLE "+table); err != nil {
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

package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMySQLDSNIsMerged(t *testing.T) {
	dsn, err := gormstore.MySQLDSN("u:p@tcp(db:3306)/chat?charset=latin1&loc=Asia%2FShanghai&multiStatements=true&readTimeout=7s&TIME_ZONE=%27SYSTEM%27&autocommit=0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	for what, ok := range map[string]bool{
		"charset":       strings.Contains(dsn, "charset=utf8mb4") && !strings.Contains(dsn, "latin1"),
		"time zone":     cfg.Params["time_zone"] == "'+00:00'" && !strings.Contains(dsn, "SYSTEM"),
		"location":      cfg.Loc == time.UTC,
		"interpolation": cfg.InterpolateParams, "found rows": cfg.ClientFoundRows, "one statement": !cfg.MultiStatements,
		"autocommit": cfg.Params["autocommit"] == "", "own timeout kept": cfg.ReadTimeout == 7*time.Second,
		"timeouts set": cfg.Timeout > 0 && cfg.WriteTimeout > 0, "user": cfg.User == "u" && cfg.Passwd == "p" && cfg.DBName == "chat",
	} {
		if !ok {
			t.Errorf("%s is wrong in %s", what, dsn)
		}
	}
	for _, bad := range []string{"tcp(db:3306)/", "not a dsn"} {
		if _, err := gormstore.MySQLDSN(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestSQLiteDSNIsMerged(t *testing.T) {
	dsn, err := gormstore.SQLiteDSN("./data/a c%d.db?_synchronous=NORMAL&_journal_mode=DELETE")
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(dsn, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	if path != "file:./data/a%20c%25d.db" {
		t.Errorf("path is %s", path)
	}
	for name, want := range map[string]string{"_synchronous": "NORMAL", "_journal_mode": "WAL", "_foreign_keys": "1", "_busy_timeout": "10000", "_txlock": "immediate"} {
		if got := params.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestOtherCharsetIsRefused(t *testing.T) {
	cfg := onMySQL(t)
	db := rawPool(t, cfg)
	if _, err := db.ExecContext(t.Context(), "ALTER DATABASE CHARACTER SET latin1"); err != nil {
		t.Fatal(err)
	}
	if _, err := gormstore.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "utf8mb4") {
		t.Fatalf("error is %v", err)
	}
}

func TestUnreachableServer(t *testing.T) {
	_, err := gormstore.Open(t.Context(), gormstore.Config{Driver: gormstore.MySQL, DSN: "root@tcp(127.0.0.1:1)/chat"})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("error is %v", err)
	}
}

func TestConnectionsUseReadCommitted(t *testing.T) {
	s := open(t, onMySQL(t))
	var level string
	if err := gormstore.WritePool(s).QueryRowContext(t.Context(), "SELECT @@tx_isolation").Scan(&level); err != nil {
		// MySQL knows it by another name.
		if err := gormstore.WritePool(s).QueryRowContext(t.Context(), "SELECT @@transaction_isolation").Scan(&level); err != nil {
			t.Fatal(err)
		}
	}
	if level != "READ-COMMITTED" {
		t.Errorf("isolation is %s", level)
	}
}

// killer kills every connection of the database but its own, before one statement.
type killer struct {
	kill  func()
	after atomic.Int64
}

func (k *killer) Statement(context.Context, string) error {
	if k.after.Add(-1) == 0 {
		k.kill()
	}
	return nil
}

func (k *killer) Commit(context.Context) error {
	if k.after.Add(-1) == 0 {
		k.kill()
	}
	return nil
}
func (*killer) Committed(context.Context) error { return nil }

func killAll(t *testing.T, cfg gormstore.Config) func() {
	db := rawPool(t, cfg)
	return func() {
		rows, err := db.QueryContext(context.Background(), "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
		if err != nil {
			t.Error(err)
			return
		}
		var ids []int64
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Error(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		for _, id := range ids {
			_, _ = db.ExecContext(context.Background(), fmt.Sprintf("KILL %d", id)) // it may be gone already
		}
	}
}

// A connection that dies within a transaction, at whichever statement or at its
// commit, costs its caller nothing.
func TestKilledConnectionInATransaction(t *testing.T) {
	cfg := onMySQL(t)
	k := &killer{}
	cfg.Observer = k
	s := open(t, cfg)
	k.kill = killAll(t, cfg)
	const key = "agent:a:channel:any:scope:main:main"
	if err := s.CreateSession(t.Context(), storetest.NewSession(key, clock.Real().Now())); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 4; n++ { // three statements and the commit
		k.after.Store(int64(n))
		m := storetest.NewSessionMessage(models.RoleUser, fmt.Sprint(n), clock.Real().Now())
		if err := s.AppendMessages(t.Context(), key, []*models.SessionMessage{m}); err != nil {
			t.Fatalf("killed before step %d: %v", n, err)
		}
		if k.after.Load() > 0 {
			t.Fatalf("step %d was not reached", n)
		}
		got, err := s.Messages(t.Context(), key, "", 0, 10)
		if err != nil || len(got) != n {
			t.Fatalf("killed before step %d: %d messages, %v", n, len(got), err)
		}
	}
}

// Connections that the server dropped while they were idle are not noticed.
func TestDroppedIdleConnections(t *testing.T) {
	cfg := onMySQL(t)
	s := open(t, cfg)
	const key = "agent:a:channel:any:scope:main:main"
	if err := s.CreateSession(t.Context(), storetest.NewSession(key, clock.Real().Now())); err != nil {
		t.Fatal(err)
	}
	kill := killAll(t, cfg)
	for i := range 5 {
		kill()
		if _, err := s.Session(t.Context(), key); err != nil {
			t.Fatalf("read %d: %v", i, err)
		}
		m := storetest.NewSessionMessage(models.RoleUser, "text", clock.Real().Now())
		if err := s.AppendMessages(t.Context(), key, []*models.SessionMessage{m}); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
}

// A caller that goes away leaves neither half a transaction nor a bad connection.
func TestCancelledCaller(t *testing.T) {
	eachDriver(t, func(t *testing.T, cfg gormstore.Config) {
		cancels := &canceller{}
		cfg.Observer = cancels
		s := open(t, cfg)
		const key = "agent:a:channel:any:scope:main:main"
		if err := s.CreateSession(t.Context(), storetest.NewSession(key, clock.Real().Now())); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 3; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			cancels.arm(n, cancel)
			m := storetest.NewSessionMessage(models.RoleUser, "text", clock.Real().Now())
			if err := s.AppendMessages(ctx, key, []*models.SessionMessage{m}); err != nil {
				t.Fatalf("cancelled at statement %d: %v", n, err)
			}
			if ctx.Err() == nil {
				t.Fatalf("statement %d was not reached", n)
			}
			got, err := s.Messages(t.Context(), key, "", 0, 10)
			if err != nil || len(got) != n {
				t.Fatalf("cancelled at statement %d: %d messages, %v", n, len(got), err)
			}
		}
	})
}

type canceller struct {
	after  atomic.Int64
	cancel atomic.Pointer[context.CancelFunc]
}

func (c *canceller) arm(n int, cancel context.CancelFunc) {
	c.cancel.Store(&cancel)
	c.after.Store(int64(n))
}

func (c *canceller) Statement(context.Context, string) error {
	if c.after.Add(-1) == 0 {
		(*c.cancel.Load())()
	}
	return nil
}
func (*canceller) Commit(context.Context) error    { return nil }
func (*canceller) Committed(context.Context) error { return nil }

// One server at a time has a SQLite file; commands come in beside it.
func TestExclusiveFile(t *testing.T) {
	cfg := onSQLite(t)
	cfg.Exclusive = true
	server := open(t, cfg)
	if _, err := gormstore.Open(t.Context(), cfg); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("a second server: %v", err)
	}
	beside := cfg
	beside.Exclusive = false
	if err := open(t, beside).Ping(t.Context()); err != nil {
		t.Fatalf("a command beside the server: %v", err)
	}
	closeStore(t, server)
	closeStore(t, open(t, cfg))
}

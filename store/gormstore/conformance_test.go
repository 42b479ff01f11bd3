package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformanceOnSQLite(t *testing.T) {
	d := newSQLite(t)
	conformance(t, func(tb testing.TB) gormstore.Config { return d.config(d.file(tb)) })
}

func TestConformanceOnMySQL(t *testing.T) {
	d := newMySQL(t)
	conformance(t, func(tb testing.TB) gormstore.Config {
		d.wipe(tb)
		return d.config()
	})
}

// conformance runs the suite on empty databases.
func conformance(t *testing.T, empty func(tb testing.TB) gormstore.Config) {
	configs := map[store.Store]gormstore.Config{}
	start := func(tb testing.TB, cfg gormstore.Config) store.Store {
		s := open(tb, cfg)
		configs[s] = cfg
		return s
	}
	storetest.Run(t, storetest.Options{
		Durable: true,
		New:     func(tb testing.TB) store.Store { return start(tb, empty(tb)) },
		Reopen: func(tb testing.TB, s store.Store) store.Store {
			closeStore(tb, s)
			return start(tb, configs[s])
		},
		Faults: func(tb testing.TB, in *storetest.Injector) store.Store {
			cfg := empty(tb)
			cfg.Observer = in
			return open(tb, cfg)
		},
		Tables: func(tb testing.TB, s store.Store) map[string]storetest.Table { return allTables(tb, configs[s]) },
	})
}

// allTables reads the whole database.
func allTables(tb testing.TB, cfg gormstore.Config) map[string]storetest.Table {
	tb.Helper()
	driver, names := "sqlite", "SELECT name FROM sqlite_master WHERE type = 'table'"
	if cfg.Driver == gormstore.MySQL {
		driver, names = "mysql", "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	db := sqlOpen(tb, driver, cfg.DSN)
	out := map[string]storetest.Table{}
	for _, row := range readTable(tb, db, names).Rows {
		name := string(row[0])
		out[name] = readTable(tb, db, "SELECT * FROM "+name)
	}
	return out
}

func readTable(tb testing.TB, db *sql.DB, query string) (table storetest.Table) {
	tb.Helper()
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	if table.Columns, err = rows.Columns(); err != nil {
		tb.Fatal(err)
	}
	for rows.Next() {
		row := make([][]byte, len(table.Columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			tb.Fatal(err)
		}
		table.Rows = append(table.Rows, row)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return table
}

func TestSecondServerIsKeptOffTheFile(t *testing.T) {
	d := newSQLite(t)
	cfg := d.config(d.file(t))
	cfg.Exclusive = true
	server := open(t, cfg)
	if _, err := gormstore.Open(t.Context(), cfg); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("a second server: %v", err)
	}
	beside := cfg
	beside.Exclusive = false
	closeStore(t, open(t, beside)) // a command runs beside it
	closeStore(t, server)
	open(t, cfg)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	eachMigrated(t, func(t *testing.T, cfg gormstore.Config) {
		driver := map[gormstore.Driver]string{gormstore.MySQL: "mysql", gormstore.SQLite: "sqlite"}[cfg.Driver]
		if _, err := sqlOpen(t, driver, cfg.DSN).ExecContext(t.Context(), "UPDATE schema_meta SET oldest_version = 1000000"); err != nil {
			t.Fatal(err)
		}
		if _, err := gormstore.Open(t.Context(), cfg); !errors.Is(err, store.ErrSchemaNewer) {
			t.Fatalf("a newer schema: %v", err)
		}
	})
}

func TestUnreachableIsUnavailable(t *testing.T) {
	const nobody = "root@tcp(127.0.0.1:1)/chatkeep" // a port that no database listens on
	_, err := gormstore.Open(t.Context(), gormstore.Config{Driver: gormstore.MySQL, DSN: nobody})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("no server: %v", err)
	}
}

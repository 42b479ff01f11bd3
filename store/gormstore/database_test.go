package gormstore_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

func onSQLite(tb testing.TB) gormstore.Config {
	return gormstore.Config{Driver: gormstore.SQLite, DSN: filepath.Join(tb.TempDir(), "chatkeep.db"), Migrate: true}
}

func onMySQL(tb testing.TB) gormstore.Config {
	return gormstore.Config{Driver: gormstore.MySQL, DSN: testmysql.DSN(tb), Migrate: true}
}

// eachDriver runs a test on a new database of each kind, which has no schema yet.
func eachDriver(t *testing.T, test func(t *testing.T, cfg gormstore.Config)) {
	t.Run("SQLite", func(t *testing.T) { test(t, onSQLite(t)) })
	t.Run("MySQL", func(t *testing.T) { test(t, onMySQL(t)) })
}

// eachMigrated runs a test on an empty database of each kind.
func eachMigrated(t *testing.T, test func(t *testing.T, cfg gormstore.Config)) {
	t.Helper()
	eachDriver(t, func(t *testing.T, cfg gormstore.Config) {
		t.Helper()
		closeStore(t, open(t, cfg))
		cfg.Migrate = false
		test(t, cfg)
	})
}

func open(tb testing.TB, cfg gormstore.Config) *gormstore.Store {
	tb.Helper()
	s, err := gormstore.Open(context.Background(), cfg)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func closeStore(tb testing.TB, s store.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
}

// mysqlDatabase is one migrated database that tests use one after the other:
// making the schema costs more than most of them.
type mysqlDatabase struct {
	dsn    string
	db     *sql.DB
	tables []string
}

func newMySQL(tb testing.TB) *mysqlDatabase {
	tb.Helper()
	cfg := onMySQL(tb)
	closeStore(tb, open(tb, cfg))
	m := &mysqlDatabase{dsn: cfg.DSN, db: sqlOpen(tb, "mysql", cfg.DSN)}
	rows, err := m.db.QueryContext(tb.Context(), "SELECT table_name FROM information_schema.tables "+
		"WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' AND table_name <> 'schema_meta'")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			tb.Fatal(err)
		}
		m.tables = append(m.tables, name)
	}
	if err := rows.Err(); err != nil || len(m.tables) == 0 {
		tb.Fatalf("tables: %v, %v", m.tables, err)
	}
	return m
}

func (m *mysqlDatabase) config() gormstore.Config {
	return gormstore.Config{Driver: gormstore.MySQL, DSN: m.dsn}
}

// wipe empties all tables.
func (m *mysqlDatabase) wipe(tb testing.TB) {
	tb.Helper()
	for _, table := range m.tables {
		if _, err := m.db.ExecContext(context.Background(), "DELETE FROM "+table); err != nil {
			tb.Fatal(err)
		}
	}
}

// sqliteDatabase is a migrated file that tests copy.
type sqliteDatabase struct{ template []byte }

func newSQLite(tb testing.TB) *sqliteDatabase {
	tb.Helper()
	cfg := onSQLite(tb)
	closeStore(tb, open(tb, cfg))
	template, err := os.ReadFile(cfg.DSN)
	if err != nil {
		tb.Fatal(err)
	}
	return &sqliteDatabase{template}
}

func (d *sqliteDatabase) config(path string) gormstore.Config {
	return gormstore.Config{Driver: gormstore.SQLite, DSN: path}
}

// file returns the path of a fresh copy.
func (d *sqliteDatabase) file(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "chatkeep.db")
	if err := os.WriteFile(path, d.template, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func sqlOpen(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

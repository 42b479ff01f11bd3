package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/libtnb/sqlite"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// openSQLite opens one connection that writes and a few that read. A transaction
// takes the write lock when it begins: one that read first and writes then fails
// at once when another one wrote in between, and no timeout helps (reference).
func (s *Store) openSQLite(ctx context.Context, cfg Config) error {
	s.dialect = sqliteDialect()
	path, params, err := splitDSN(cfg.DSN)
	if err != nil {
		return err
	}
	if path == Memory {
		return s.openMemory()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("gormstore: directory of the database: %w", err)
	}
	s.path = path
	if cfg.Exclusive {
		if s.lockFile, err = lockFile(path + ".lock"); err != nil {
			return err
		}
	}
	if s.writer, err = openPool(sqliteDSN(path, params, nil), 1); err != nil {
		return err
	}
	s.single = s.writer
	// The first connection creates the file and switches it to WAL, before any reader.
	if err := s.firstConnection(ctx, cfg.Clock); err != nil {
		return s.mapError(ctx, "open SQLite", err)
	}
	if s.reader, err = openPool(sqliteDSN(path, params, url.Values{"_query_only": {"1"}}), cfg.MaxOpenConns); err != nil {
		return err
	}
	return s.openGorm(sqlite.New(sqlite.Config{Conn: s.writer}))
}

// firstConnection connects the writer. Of several processes that switch a new file
// to WAL at once, SQLite turns all but one away without letting them wait.
func (s *Store) firstConnection(ctx context.Context, c clock.Clock) error {
	const pause = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := s.writer.PingContext(ctx)
		if err == nil || !strings.Contains(err.Error(), "SQLITE_BUSY") || waited >= busyTimeout {
			return err
		}
		if err := clock.Sleep(ctx, c, pause); err != nil {
			return err
		}
	}
}

// openMemory opens a database that one connection owns: it is gone with it, so the
// connection is never given up.
func (s *Store) openMemory() (err error) {
	s.durable = false
	if s.writer, err = openPool("file::memory:?_foreign_keys=1", 1); err != nil {
		return err
	}
	s.reader, s.single = s.writer, s.writer
	return s.openGorm(sqlite.New(sqlite.Config{Conn: s.writer}))
}

func openPool(dsn string, conns int) (*sql.DB, error) {
	db, err := sql.Open(sqlite.DriverName, dsn)
	if err != nil {
		return nil, fmt.Errorf("gormstore: open SQLite: %w", err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// splitDSN takes a path, or file:path, with parameters of the driver or without.
func splitDSN(dsn string) (path string, params url.Values, err error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	if params, err = url.ParseQuery(query); err != nil {
		return "", nil, fmt.Errorf("gormstore: SQLite DSN: %w", err)
	}
	if path == "" {
		return "", nil, fmt.Errorf("gormstore: SQLite DSN names no file")
	}
	return path, params, nil
}

// sqliteDSN merges what the program relies on with what the user asks for. The
// user may trade durability (_synchronous) and waiting (_busy_timeout).
func sqliteDSN(path string, params, extra url.Values) string {
	merged := url.Values{
		"_busy_timeout": {strconv.FormatInt(busyTimeout.Milliseconds(), 10)},
		"_synchronous":  {"FULL"},
	}
	maps.Copy(merged, params)
	merged.Set("_txlock", "immediate") // for migrations
	merged.Set("_journal_mode", "WAL")
	merged.Set("_foreign_keys", "1")
	maps.Copy(merged, extra)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + merged.Encode()
}

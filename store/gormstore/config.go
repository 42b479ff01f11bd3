package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Driver names a kind of database.
type Driver string

// The drivers.
const (
	MySQL  Driver = "mysql"
	SQLite Driver = "sqlite"
)

// Memory is the DSN of a private SQLite database that is gone when it is closed.
const Memory = ":memory:"

// Config says which database to open, and how.
type Config struct {
	Driver Driver
	// DSN is a path for SQLite ([Memory] for none), user:pass@tcp(host:port)/db for MySQL.
	DSN string
	// MaxOpenConns bounds the connections; zero: 32 for MySQL (a quarter of them, at
	// least one, for reading and at least one for transactions), 4 readers beside one writer for SQLite.
	MaxOpenConns int
	// Migrate brings the schema up to date on open.
	Migrate bool
	// Exclusive keeps a second server off the same SQLite file ([store.ErrLocked]).
	// Commands that run beside a server open without it.
	Exclusive bool
	// Journal, if set, has a SQLite database keep a [Journal], and is called after
	// everything that may have changed something. It may read and write.
	Journal func(ctx context.Context)
	// Clock gives the times that no caller passes; nil: the real one.
	Clock clock.Clock
	// Logger gets retries and migrations, never texts or keys; nil: nowhere.
	Logger *slog.Logger
	// Observer sees every statement; nil: nobody.
	Observer Observer
}

// Observer is called around everything that is sent to the database. It is the
// seam for tracing and counting, and for tests that inject failures: an error
// that it returns is handled as if the database had returned it. It must be
// safe for concurrent use.
type Observer interface {
	// Statement is called before a statement, with its text, never with its values.
	Statement(ctx context.Context, sql string) error
	// Commit is called before a transaction is committed; an error rolls it back.
	Commit(ctx context.Context) error
	// Committed is called after a commit; an error stands for a lost answer: the
	// commit took place, but its caller cannot know.
	Committed(ctx context.Context) error
}

const (
	// writeTimeout bounds one transaction, whatever its caller's context says.
	writeTimeout = 15 * time.Second
	// busyTimeout is how long SQLite waits for another process's write.
	busyTimeout = 10 * time.Second
	mysqlConns  = 32
	sqliteConns = 4
)

func (c Config) withDefaults() (Config, error) {
	if c.DSN == "" {
		return c, fmt.Errorf("gormstore: no DSN")
	}
	switch c.Driver {
	case MySQL:
		if c.MaxOpenConns == 0 {
			c.MaxOpenConns = mysqlConns
		}
		c.MaxOpenConns = max(c.MaxOpenConns, 2) // a migration holds one for its lock
	case SQLite:
		if c.MaxOpenConns == 0 {
			c.MaxOpenConns = sqliteConns
		}
	default:
		return c, fmt.Errorf("gormstore: unknown driver %q", c.Driver)
	}
	if c.Journal != nil && c.Driver != SQLite {
		return c, fmt.Errorf("gormstore: driver %q keeps no journal", c.Driver)
	}
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

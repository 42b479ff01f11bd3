package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

// Store is a [store.Store] on a relational database. Its methods may be called concurrently.
type Store struct {
	// writer runs transactions, reader reads, single runs writing statements that
	// are a transaction each; it is one of the other two.
	writer, reader, single *sql.DB
	// gorm runs statements; the pool that a statement runs on is set for each call.
	gorm     *gorm.DB
	dialect  *dialect
	clock    clock.Clock
	log      *slog.Logger
	observer Observer
	durable  bool
	lockFile *os.File
	path     string // of a SQLite file
	tokens   atomic.Uint64
	// journal and changed are nil unless asked for.
	journal *Journal
	changed func(ctx context.Context)
}

var _ store.Store = (*Store)(nil)

// Open connects to the database, checks that it can be used, and migrates its
// schema if that was asked for. A schema that is newer than this binary can run
// on is [store.ErrSchemaNewer]; a database that does not answer [store.ErrUnavailable].
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{clock: cfg.Clock, log: cfg.Logger, observer: cfg.Observer, durable: true}
	if cfg.Driver == MySQL {
		err = s.openMySQL(ctx, cfg)
	} else {
		err = s.openSQLite(ctx, cfg)
	}
	if err == nil {
		err = s.checkSchema(ctx)
	}
	if err == nil && cfg.Migrate {
		err = s.Migrate(ctx)
	}
	if err == nil && cfg.Journal != nil {
		if err = s.openJournal(ctx); err == nil {
			s.changed = cfg.Journal
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Durable reports whether what was written outlives the process.
func (s *Store) Durable() bool { return s.durable }

// Ping asks the database for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", func(db *tx) error {
		var one int
		_, err := db.find(&one, "SELECT 1")
		return err
	})
}

// Close closes all connections and gives up the lock of the file.
func (s *Store) Close() error {
	var errs []error
	if s.reader != nil && s.reader != s.writer {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.lockFile != nil {
		errs = append(errs, s.lockFile.Close())
	}
	return errors.Join(errs...)
}

// token names one claim: unique per process, so that a claim can be told from
// another one of the same owner.
func (s *Store) token(owner string) string {
	return fmt.Sprintf("%s/%d", owner, s.tokens.Add(1))
}

func (s *Store) now() time.Time { return s.clock.Now() }

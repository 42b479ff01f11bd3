package gormstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

// One folder per dialect, the same versions in both. A file for MySQL holds one
// DDL statement, which can be run again: DDL commits by itself there, so a
// migration that was cut short is completed by the next run.
//
//go:embed migrations
var migrations embed.FS

const (
	migrationLease     = 30 * time.Second
	migrationHeartbeat = 5 * time.Second
	migrationPoll      = 20 * time.Millisecond
)

// Migration is one version of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
	// AppliedAt is zero if it was not applied.
	AppliedAt time.Time
}

// Migrate brings the schema up to date. Any number of processes may do so at once.
// A schema that is newer than this binary knows, and that lets it run, is left alone.
func (s *Store) Migrate(ctx context.Context) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	pending, err := provider.HasPending(ctx)
	if err != nil {
		return s.mapError(ctx, "migrate", err)
	}
	if !pending {
		return nil
	}
	unlock, err := s.lockMigrations(ctx)
	if err != nil {
		return s.mapError(ctx, "migrate", err)
	}
	defer unlock()
	if s.dialect.driver == SQLite {
		if err := s.write(ctx, "migrate", dropTriggers); err != nil {
			return err
		}
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return s.mapError(ctx, "migrate", err)
	}
	if len(results) > 0 {
		s.log.InfoContext(ctx, "schema migrated", "version", results[len(results)-1].Source.Version, "applied", len(results))
	}
	return nil
}

// lockMigrations keeps other processes from migrating the same SQLite file. MySQL
// has a lock of its own, in a table.
func (s *Store) lockMigrations(ctx context.Context) (unlock func(), err error) {
	if s.path == "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, migrationLease)
	defer cancel()
	for {
		f, err := lockFile(s.path + ".migrate.lock")
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, store.ErrLocked) {
			return nil, err
		}
		if err := clock.Sleep(ctx, clock.Real(), migrationPoll); err != nil {
			return nil, err
		}
	}
}

// Status lists the migrations that this binary knows, oldest first.
func (s *Store) Status(ctx context.Context) ([]Migration, error) {
	provider, err := s.provider()
	if err != nil {
		return nil, err
	}
	known, err := provider.Status(ctx)
	if err != nil {
		return nil, s.mapError(ctx, "migration status", err)
	}
	out := make([]Migration, len(known))
	for i, m := range known {
		out[i] = Migration{Version: m.Source.Version, Name: m.Source.Path, Applied: m.State == goose.StateApplied, AppliedAt: m.AppliedAt}
	}
	return out, nil
}

func (s *Store) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+string(s.dialect.driver))
	if err != nil {
		return nil, fmt.Errorf("gormstore: migrations: %w", err)
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	name := goose.DialectSQLite3
	if s.dialect.driver == MySQL {
		name = goose.DialectMySQL
		locker, err := lock.NewMySQLTableLocker(
			lock.WithTableLeaseDuration(migrationLease), lock.WithTableHeartbeatInterval(migrationHeartbeat))
		if err != nil {
			return nil, fmt.Errorf("gormstore: migration lock: %w", err)
		}
		options = append(options, goose.WithLocker(locker))
	}
	provider, err := goose.NewProvider(name, s.single, files, options...)
	if err != nil {
		return nil, fmt.Errorf("gormstore: migrations: %w", err)
	}
	return provider, nil
}

// checkSchema refuses a schema that states that this binary is too old for it.
func (s *Store) checkSchema(ctx context.Context) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	return s.read(ctx, "check schema", func(db *tx) error {
		there := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'schema_meta'"
		if s.dialect.driver == SQLite {
			there = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_meta'"
		}
		var tables, oldest int64
		if _, err := db.find(&tables, there); err != nil || tables == 0 {
			return err
		}
		if _, err := db.find(&oldest, "SELECT oldest_version FROM schema_meta WHERE id = 1"); err != nil {
			return err
		}
		if oldest > newest {
			return fmt.Errorf("the schema needs version %d, this binary knows %d: upgrade it: %w", oldest, newest, store.ErrSchemaNewer)
		}
		return nil
	})
}

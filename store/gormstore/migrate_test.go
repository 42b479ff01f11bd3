package gormstore_test

import (
	"context"
	"database/sql"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chatkeep/chatkeep/store/gormstore"
)

// Replicas that start at once on an empty database all find it migrated.
func TestReplicasMigrateAtOnce(t *testing.T) {
	eachDriver(t, func(t *testing.T, cfg gormstore.Config) {
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				s, err := gormstore.Open(context.Background(), cfg)
				if err != nil {
					return err
				}
				return s.Close()
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		allApplied(t, open(t, cfg))
	})
}

func allApplied(t *testing.T, s *gormstore.Store) {
	t.Helper()
	migrations, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range migrations {
		if !m.Applied || m.AppliedAt.IsZero() {
			t.Errorf("migration %d (%s) is not applied", m.Version, m.Name)
		}
	}
	if len(migrations) == 0 {
		t.Error("there are no migrations")
	}
}

// rawPool opens the database of a store beside it.
func rawPool(t *testing.T, cfg gormstore.Config) *sql.DB {
	t.Helper()
	driver := "sqlite"
	if cfg.Driver == gormstore.MySQL {
		driver = "mysql"
	}
	return sqlOpen(t, driver, cfg.DSN)
}

// A schema at any older version is brought up to date; what is in it stays.
func TestMigratesFromEachVersion(t *testing.T) {
	eachDriver(t, func(t *testing.T, cfg gormstore.Config) {
		s := open(t, cfg)
		migrations, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := len(migrations) - 1; i > 0; i-- {
			if err := gormstore.MigrateDown(t.Context(), s, migrations[i-1].Version); err != nil {
				t.Fatalf("down to %d: %v", migrations[i-1].Version, err)
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatalf("up from %d: %v", migrations[i-1].Version, err)
			}
			allApplied(t, s)
			if t.Failed() {
				return
			}
		}
	})
}

func TestStatusOfAnEmptyDatabase(t *testing.T) {
	eachDriver(t, func(t *testing.T, cfg gormstore.Config) {
		cfg.Migrate = false
		migrations, err := open(t, cfg).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range migrations {
			if m.Applied {
				t.Errorf("migration %d is applied", m.Version)
			}
		}
	})
}

// A newer schema that says that this binary may run on it is used as it is.
func TestNewerCompatibleSchemaIsUsed(t *testing.T) {
	eachMigrated(t, func(t *testing.T, cfg gormstore.Config) {
		if _, err := rawPool(t, cfg).ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
			t.Fatal(err)
		}
		cfg.Migrate = true
		if err := open(t, cfg).Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

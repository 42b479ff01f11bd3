package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

func newMigrate(f *flags) *cobra.Command {
	return newGroup("migrate", "Manage the database schema", newMigrateUp(f), newMigrateStatus(f))
}

func newMigrateUp(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the schema up to date (every other command does so too)",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSchema(cmd, f, true, func(ctx context.Context, cfg *config.Config, db *gormstore.Store) error {
				return printSchema(ctx, cmd, cfg, db, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newMigrateStatus(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which versions of the schema are applied, and change nothing",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSchema(cmd, f, false, func(ctx context.Context, cfg *config.Config, db *gormstore.Store) error {
				return printSchema(ctx, cmd, cfg, db, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withSchema opens the database, its schema brought up to date or left as it is.
func withSchema(cmd *cobra.Command, f *flags, migrate bool, work func(ctx context.Context, cfg *config.Config, db *gormstore.Store) error) error {
	cfg, err := config.Load(f.config, os.Environ())
	if err != nil {
		return err
	}
	from := gormstore.Config{
		Driver: gormstore.Driver(cfg.Storage.Driver), DSN: cfg.Storage.DSN.Reveal(), MaxOpenConns: cfg.Storage.MaxOpenConns,
		Migrate: migrate, Clock: clock.Real(), Logger: quietLogger(cfg, cmd.ErrOrStderr()),
	}
	switch cfg.Storage.Driver {
	case config.DriverFile:
		if migrate { // which may have to make the database from the sessions
			st, err := openStore(cmd.Context(), cfg.Storage, false, nil, from.Logger)
			if err != nil {
				return explain(err)
			}
			if err := st.Close(); err != nil {
				return err
			}
		}
		from.Driver, from.DSN, from.Migrate = gormstore.SQLite, filestore.Database(from.DSN), false
		if !sqliteExists(from.DSN) {
			from.DSN = gormstore.Memory
		}
	case config.DriverSQLite:
		if !migrate && !sqliteExists(from.DSN) {
			from.DSN = gormstore.Memory // nothing is applied, and looking makes no file
		}
	case config.DriverMySQL:
	default:
		return fmt.Errorf("storage driver %s has no schema; migrate is for sqlite, mysql and file", cfg.Storage.Driver)
	}
	db, err := gormstore.Open(cmd.Context(), from)
	if err != nil {
		return explain(err)
	}
	return errors.Join(work(cmd.Context(), cfg, db), db.Close())
}

func sqliteExists(dsn string) bool {
	path, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// schemaView is what migrate --json prints.
type schemaView struct {
	Driver     config.Driver   `json:"driver"`
	Current    int64           `json:"current"` // 0: none yet
	Newest     int64           `json:"newest"`
	Migrations []migrationView `json:"migrations"`
}

type migrationView struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	Applied   bool       `json:"applied"`
	AppliedAt *time.Time `json:"appliedAt"`
}

func printSchema(ctx context.Context, cmd *cobra.Command, cfg *config.Config, db *gormstore.Store, asJSON bool) error {
	known, err := db.Status(ctx)
	if err != nil {
		return explain(err)
	}
	view := schemaView{Driver: cfg.Storage.Driver, Migrations: []migrationView{}}
	for _, m := range known {
		row := migrationView{Version: m.Version, Name: m.Name, Applied: m.Applied}
		if m.Applied {
			at := m.AppliedAt.UTC()
			row.AppliedAt, view.Current = &at, m.Version
		}
		view.Newest = m.Version
		view.Migrations = append(view.Migrations, row)
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), view)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "VERSION\tAPPLIED\tNAME")
	for _, m := range view.Migrations {
		applied := "pending"
		if m.AppliedAt != nil {
			applied = stamp(*m.AppliedAt)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", strconv.FormatInt(m.Version, 10), applied, m.Name)
	}
	return flushed(w)
}

// schemaVersion is the newest schema that this binary knows.
func schemaVersion(ctx context.Context) (int64, error) {
	db, err := gormstore.Open(ctx, gormstore.Config{Driver: gormstore.SQLite, DSN: gormstore.Memory})
	if err != nil {
		return 0, err
	}
	known, err := db.Status(ctx)
	if err == nil && len(known) == 0 {
		err = errors.New("the binary holds no schema")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, err
	}
	return known[len(known)-1].Version, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

func newStorage() *cobra.Command {
	return newGroup("storage", "Operate on the storage as a whole", newStorageCopy())
}

// storageCopy is what storage copy --json prints.
type storageCopy struct {
	From string `json:"from"`
	To   string `json:"to"`
	*transfer.Report
}

func newStorageCopy() *cobra.Command {
	var from, to string
	var options transfer.CopyOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "copy --from DRIVER:DSN --to DRIVER:DSN",
		Short: "Copy every session to another storage, and verify it",
		Long: `Copy every session with all that belongs to it, scheduled tasks, who was let in,
which messages were seen and what was used, and compare both sides by count and by a
hash of each session. Drivers are sqlite, mysql and file.

A session that the target has already stays as it is: it must be the same, so a copy
that was cut off can be run again. Messages that wait and answers that are not sent
are not copied: stop the server, so that it finishes them, or leave them behind with
--leave-pending. What is finished in the queue is not copied either.`,
		Example: `  chatkeep storage copy --from sqlite:./data/chatkeep.db --to "mysql:user:pass@tcp(db:3306)/chatkeep"
  chatkeep storage copy --from sqlite:./data/chatkeep.db --to file:./data`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, target, err := parsePlaces(from, to)
			if err != nil {
				return err
			}
			log := newLogger(config.Log{Level: config.LogWarn}, new(slog.LevelVar), cmd.ErrOrStderr())
			copied, err := copyStorage(cmd.Context(), source, target, options, log)
			if copied != nil && asJSON {
				if err := printJSON(cmd.OutOrStdout(), storageCopy{source.String(), target.String(), copied}); err != nil {
					return err
				}
			}
			if err != nil || asJSON {
				return copyError(err, copied)
			}
			return printCopied(cmd.OutOrStdout(), source, target, copied)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the storage to copy, as DRIVER:DSN")
	cmd.Flags().StringVar(&to, "to", "", "the storage to copy to, as DRIVER:DSN")
	cmd.Flags().BoolVar(&options.LeavePending, "leave-pending", false, "copy although messages or answers wait, and leave these behind")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// storagePlace is one side of a copy.
type storagePlace struct{ config.Storage }

// String names the place without its password.
func (p storagePlace) String() string { return string(p.Driver) + ":" + p.DSN.String() }

func parsePlaces(from, to string) (source, target storagePlace, err error) {
	if source, err = parsePlace("--from", from); err != nil {
		return source, target, err
	}
	if target, err = parsePlace("--to", to); err != nil {
		return source, target, err
	}
	if source.same(target) {
		err = fmt.Errorf("%w: --from and --to are the same place", errUsage)
	}
	return source, target, err
}

func parsePlace(flag, text string) (storagePlace, error) {
	driver, dsn, _ := strings.Cut(text, ":")
	if driver == string(config.DriverMemory) || strings.Contains(dsn, gormstore.Memory) {
		return storagePlace{}, fmt.Errorf("%w: %s: storage driver memory keeps nothing between processes", errUsage, flag)
	}
	if dsn == "" {
		return storagePlace{}, fmt.Errorf("%w: %s must be DRIVER:DSN, such as sqlite:./data/chatkeep.db, file:./data or mysql:user:pass@tcp(host:3306)/db", errUsage, flag)
	}
	cfg := config.Default()
	cfg.Storage.Driver, cfg.Storage.DSN = config.Driver(driver), config.DSN(dsn)
	if err := cfg.Validate(); err != nil {
		return storagePlace{}, fmt.Errorf("%w: %s: %s", errUsage, flag, oneLine(err))
	}
	return storagePlace{cfg.Storage}, nil
}

// file is the database's file; empty for a server.
func (p storagePlace) file() string {
	switch p.Driver {
	case config.DriverSQLite:
		path, _, _ := strings.Cut(strings.TrimPrefix(p.DSN.Reveal(), "file:"), "?")
		return path
	case config.DriverFile:
		return filestore.Database(p.DSN.Reveal())
	}
	return ""
}

// same finds what is one place by its names; the copy itself finds out about the rest.
func (p storagePlace) same(q storagePlace) bool {
	if p.Driver == q.Driver && p.DSN == q.DSN {
		return true
	}
	a, b := p.file(), q.file()
	if a == "" || b == "" {
		return false
	}
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, errOne := os.Stat(a)
	two, errTwo := os.Stat(b)
	return errOne == nil && errTwo == nil && os.SameFile(one, two)
}

// source opens what is there, and makes nothing that is not.
func (p storagePlace) source(ctx context.Context, log *slog.Logger) (store.Store, error) {
	missing := fmt.Errorf("there is no chatkeep storage at %s; check --from", p)
	switch p.Driver {
	case config.DriverFile:
		if !filestore.Exists(p.DSN.Reveal()) {
			return nil, missing
		}
	case config.DriverSQLite, config.DriverMySQL:
		if p.Driver == config.DriverSQLite && !sqliteExists(p.DSN.Reveal()) {
			return nil, missing
		}
		switch made, err := hasSchema(ctx, p); {
		case err != nil:
			return nil, err
		case !made:
			return nil, missing
		}
	}
	return openStore(ctx, p.Storage, false, nil, log)
}

// hasSchema reports whether the program ever used a database.
func hasSchema(ctx context.Context, p storagePlace) (bool, error) {
	db, err := gormstore.Open(ctx, gormstore.Config{Driver: gormstore.Driver(p.Driver), DSN: p.DSN.Reveal(), Clock: clock.Real()})
	if err != nil {
		return false, err
	}
	known, err := db.Status(ctx)
	return len(known) > 0 && known[0].Applied, errors.Join(err, db.Close())
}

func copyStorage(ctx context.Context, from, to storagePlace, o transfer.CopyOptions, log *slog.Logger) (copied *transfer.Report, err error) {
	source, err := from.source(ctx, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openStore(ctx, to.Storage, false, nil, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return transfer.CopyAll(ctx, source, target, o)
}

// copyError says what to do about a copy that failed.
func copyError(err error, copied *transfer.Report) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transfer.ErrSame):
		return fmt.Errorf("%w: --from and --to are the same place", errUsage)
	case errors.Is(err, transfer.ErrPending):
		return fmt.Errorf("%d messages and %d answers wait in the source; let the server finish and stop it, or give --leave-pending", copied.Pending.Messages, copied.Pending.Deliveries)
	case errors.Is(err, transfer.ErrFailed):
		first := copied.Failed[0]
		return fmt.Errorf("%d of %d sessions were not copied, first %s: %s; --json lists them; delete or move what is in the way, then run it again",
			copied.Sessions-copied.Copied-copied.Present, copied.Sessions, first.Key, first.Error)
	case errors.Is(err, transfer.ErrInUse):
		return fmt.Errorf("%w; stop the server, then run it again", err)
	default:
		return explain(err)
	}
}

func printCopied(out io.Writer, from, to storagePlace, c *transfer.Report) error {
	_, err := fmt.Fprintf(out, "from %s to %s\nsessions: %d copied, %d there already, all %d verified\nother rows: %d, of which %d are new\n",
		printable(from.String()), printable(to.String()), c.Copied, c.Present, c.Sessions, c.Rows, c.AddedRows)
	if err == nil && c.Pending != (transfer.Pending{}) {
		_, err = fmt.Fprintf(out, "left behind: %d messages, %d answers\n", c.Pending.Messages, c.Pending.Deliveries)
	}
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

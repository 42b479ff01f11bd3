package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// Names within a store's directory.
const (
	queueFile   = "queue.db"
	sessionsDir = "sessions"
	filesLock   = "sessions.lock"
	// restoreMark is there while queue.db is made from the sessions.
	restoreMark = "restore"
)

// Config says which directory to open, and how.
type Config struct {
	// Dir is made if it is not there.
	Dir string
	// MaxOpenConns, Exclusive, Clock, Logger and Observer are those of [gormstore.Config].
	MaxOpenConns int
	Exclusive    bool
	Clock        clock.Clock
	Logger       *slog.Logger
	Observer     gormstore.Observer
}

// Store is a [store.Store] whose sessions are also files.
type Store struct {
	*gormstore.Store

	mirror *mirror
}

var _ store.Store = (*Store)(nil)

// Database is the path of the database in a directory.
func Database(dir string) string { return filepath.Join(dir, queueFile) }

// Exists reports whether there is a store in a directory, or what is left of one.
func Exists(dir string) bool {
	return exists(Database(dir)) || hasSessions(dir)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func hasSessions(dir string) bool {
	root := filepath.Join(dir, sessionsDir)
	entries, err := os.ReadDir(root)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return exists(filepath.Join(root, e.Name(), metaFile)) })
}

// Open opens a directory: its database is brought up to date and, if it is missing,
// made from the sessions; the files of sessions are brought up to date with it. Errors
// are those of [gormstore.Open].
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Dir == "" {
		return nil, errors.New("filestore: no directory")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	root := filepath.Join(cfg.Dir, sessionsDir)
	if err := makeDir(cfg.Dir); err != nil {
		return nil, fmt.Errorf("filestore: %w", err)
	}
	lost := !exists(root) // somebody took the files away: they are made again
	if err := makeDir(root); err != nil {
		return nil, fmt.Errorf("filestore: %w", err)
	}
	mark := filepath.Join(cfg.Dir, restoreMark)
	if !exists(Database(cfg.Dir)) && hasSessions(cfg.Dir) {
		if err := os.WriteFile(mark, nil, fileMode); err != nil {
			return nil, fmt.Errorf("filestore: %w", err)
		}
	}
	s := &Store{mirror: &mirror{root: root, lockPath: filepath.Join(cfg.Dir, filesLock), clock: cfg.Clock, log: cfg.Logger}}
	db, err := gormstore.Open(ctx, gormstore.Config{
		Driver: gormstore.SQLite, DSN: Database(cfg.Dir), MaxOpenConns: cfg.MaxOpenConns, Migrate: true, Exclusive: cfg.Exclusive,
		Journal: s.mirror.catchUp, Clock: cfg.Clock, Logger: cfg.Logger, Observer: cfg.Observer,
	})
	if err != nil {
		return nil, err
	}
	s.Store, s.mirror.journal = db, db.Journal()
	if exists(mark) {
		if err := s.restore(ctx, mark); err != nil {
			return nil, errors.Join(fmt.Errorf("filestore: make %s from the sessions: %w", queueFile, err), db.Close())
		}
	}
	if lost {
		if err := db.Journal().ChangeAll(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	s.mirror.catchUp(ctx)
	return s, nil
}

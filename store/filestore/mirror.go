package filestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

const (
	// batch is how many sessions are brought up to date between two notes of it.
	batch = 100
	// patience bounds one call, and complaint how often a fault is logged.
	patience  = 2 * time.Minute
	complaint = time.Minute
)

// mirror makes the directories follow the database.
type mirror struct {
	root     string
	lockPath string
	journal  *gormstore.Journal
	clock    clock.Clock
	log      *slog.Logger

	mu sync.Mutex
	// complained is when a fault was last logged.
	complained time.Time
}

// catchUp brings the directories up to date with all that was committed before the
// call, unless another process is doing so. It never fails its caller, whose change is
// committed: what went wrong is tried again after the next change.
func (m *mirror) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for {
		more, err := m.pass(ctx)
		if err != nil {
			m.complain(ctx, err)
			return
		}
		if !more {
			return
		}
	}
}

// pass does what the journal holds and reports whether something may have come since.
func (m *mirror) pass(ctx context.Context) (more bool, err error) {
	if changes, err := m.journal.Changes(ctx, 1); err != nil || empty(changes) {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	unlock, held, err := tryLock(m.lockPath)
	if err != nil || !held { // whoever holds it looks again after it has given it up
		return false, err
	}
	defer unlock()
	for {
		changes, err := m.journal.Changes(ctx, batch)
		if err != nil {
			return false, err
		}
		if empty(changes) {
			return true, nil
		}
		if err := m.follow(ctx, changes); err != nil {
			return false, err
		}
	}
}

func empty(c *gormstore.Changes) bool { return len(c.Sessions)+len(c.Contexts) == 0 }

// follow does one part of the journal, and forgets of it what was done.
func (m *mirror) follow(ctx context.Context, changes *gormstore.Changes) error {
	var done gormstore.Changes
	var errs []error
	written := map[string]int64{} // contexts that were written with their sessions
	for _, s := range changes.Sessions {
		if err := m.session(ctx, s, written); err != nil {
			errs = append(errs, err)
			continue
		}
		done.Sessions = append(done.Sessions, s)
	}
	for _, c := range changes.Contexts {
		last, ok := written[c.Ref]
		if !ok && c.Key != "" {
			var err error
			if last, err = m.context(ctx, c); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		c.Through = last
		done.Contexts = append(done.Contexts, c)
	}
	if err := m.journal.Forget(ctx, &done); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (m *mirror) dir(key string) string { return filepath.Join(m.root, sessionDir(key)) }

// session writes what changed of a session beside its messages, or removes it.
func (m *mirror) session(ctx context.Context, s *gormstore.ChangedSession, written map[string]int64) error {
	dir := m.dir(s.Key)
	record, err := m.journal.SessionRecord(ctx, s.Key)
	if errors.Is(err, store.ErrNotFound) {
		return remove(dir)
	}
	if err != nil {
		return err
	}
	all := s.What&gormstore.ChangedAll != 0
	if all {
		if err := m.claim(ctx, dir, s.Key); err != nil {
			return err
		}
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	for _, part := range []struct {
		of    gormstore.Changed
		write func(dir string, r *store.SessionRecord) error
	}{{gormstore.ChangedSettings, writeSettings}, {gormstore.ChangedNotes, writeNotes}, {gormstore.ChangedFiles, writePlan}} {
		if all || s.What&part.of != 0 {
			if err := part.write(dir, record); err != nil {
				return err
			}
		}
	}
	if !all {
		return nil
	}
	for _, c := range slotsOf(record) {
		if written[c.Ref], err = writeMessages(ctx, m.journal, dir, c.Slot.ID, c.Ref); err != nil {
			return err
		}
	}
	return nil
}

// context brings the messages of a slot up to date. A directory that somebody took away
// comes back as a whole.
func (m *mirror) context(ctx context.Context, c *gormstore.ChangedContext) (int64, error) {
	dir := m.dir(c.Key)
	if c.Whole { // as one that is new
		if err := m.claim(ctx, dir, c.Key); err != nil {
			return 0, err
		}
	}
	if !exists(filepath.Join(dir, metaFile)) {
		written := map[string]int64{}
		err := m.session(ctx, &gormstore.ChangedSession{Key: c.Key, What: gormstore.ChangedAll}, written)
		return written[c.Ref], err
	}
	return followMessages(ctx, m.journal, dir, c)
}

// complain logs a fault; a disk that is full would else fill the log.
func (m *mirror) complain(ctx context.Context, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.clock.Now(); now.Sub(m.complained) >= complaint {
		m.complained = now
		m.log.ErrorContext(ctx, "session files are behind; what is stored is safe", "error", fmt.Errorf("write session files: %w", err))
	}
}

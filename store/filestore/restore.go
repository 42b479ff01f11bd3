package filestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// lockPoll is how often a lock is tried that another process has.
const lockPoll = 50 * time.Millisecond

// restore makes the database from the sessions' directories, session by session. What
// is there already stays, so it goes on where it was cut off. A directory that cannot
// be read is set aside and logged. Those with names of sessions come first: a copy that
// lies beside one must not take its place.
func (s *Store) restore(ctx context.Context, mark string) error {
	unlock, err := s.waitLock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := os.ReadDir(s.mirror.root)
	if err != nil {
		return err
	}
	sessions, others := split(entries)
	restored, skipped := 0, 0
	for _, e := range slices.Concat(sessions, others) {
		dir := filepath.Join(s.mirror.root, e.Name())
		err := s.restoreSession(ctx, dir)
		var unreadable *unreadableError
		switch {
		case err == nil:
			restored++
		case errors.As(err, &unreadable) && named(e.Name()):
			skipped++
			if err := s.mirror.setAside(ctx, dir, err); err != nil {
				return err
			}
		case errors.Is(err, store.ErrExists), errors.As(err, &unreadable):
			skipped++ // nothing is ever written there
			s.mirror.log.ErrorContext(ctx, "session directory was not restored", "directory", e.Name(), "error", err)
		default:
			return err
		}
	}
	s.mirror.log.InfoContext(ctx, "database made from the session directories", "restored", restored, "skipped", skipped)
	return remove(mark)
}

// split takes the entries apart that have names of sessions.
func split(entries []os.DirEntry) (sessions, others []os.DirEntry) {
	for _, e := range entries {
		if named(e.Name()) {
			sessions = append(sessions, e)
		} else {
			others = append(others, e)
		}
	}
	return sessions, others
}

func (s *Store) waitLock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		unlock, held, err := tryLock(s.mirror.lockPath)
		if err != nil || held {
			return unlock, err
		}
		if err := clock.Sleep(ctx, clock.Real(), lockPoll); err != nil {
			return nil, fmt.Errorf("%s: %w", filesLock, err)
		}
	}
}

// unreadableError is about a directory, not about the database.
type unreadableError struct{ cause error }

func (e *unreadableError) Error() string { return e.cause.Error() }
func (e *unreadableError) Unwrap() error { return e.cause }

func (s *Store) restoreSession(ctx context.Context, dir string) error {
	record, err := readRecord(dir)
	if err != nil {
		return &unreadableError{err}
	}
	in, err := s.ImportSession(ctx, record.Session.Key)
	if err != nil {
		return err
	}
	err = restoreInto(ctx, in, dir, record)
	if err == nil {
		err = in.Commit(ctx, record)
	}
	if err != nil {
		if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTooLarge) {
			err = &unreadableError{err}
		}
		return errors.Join(err, in.Discard(ctx))
	}
	return nil
}

func restoreInto(ctx context.Context, in store.SessionImport, dir string, record *store.SessionRecord) error {
	use := &record.Session
	use.LastActivityAt, use.UpdatedAt = use.CreatedAt, use.CreatedAt
	for _, c := range record.Contexts {
		file := &slotReader{path: filepath.Join(dir, slotFile(c.Slot.ID))}
		if err := file.scan(); err != nil {
			return &unreadableError{err}
		}
		c.NextSeq = max(file.last, c.CompactedThrough, c.SummarySeq, c.MergedThrough, c.PrunedThrough) + 1
		if err := in.Context(ctx, c); err != nil {
			return err
		}
		err := file.messages(func(page []*store.MessageRecord) error {
			for _, message := range page {
				use.LastActivityAt, use.UpdatedAt = later(use.LastActivityAt, message.CreatedAt), later(use.UpdatedAt, message.CreatedAt)
				if message.Role == models.RoleUser && !message.Observed {
					use.LastUserAt = later(use.LastUserAt, message.CreatedAt)
				}
			}
			return in.Messages(ctx, page)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// readRecord reads all of a directory but the messages.
func readRecord(dir string) (*store.SessionRecord, error) {
	m := &meta{}
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, err
	}
	if m.Format != format || m.Version > version {
		return nil, fmt.Errorf("%s is of format %q, version %d", metaFile, m.Format, m.Version)
	}
	r := m.record()
	err = readLines(filepath.Join(dir, memoryFile), func(_ int64, line []byte) error {
		note := &models.Note{}
		r.Notes = append(r.Notes, note)
		return json.Unmarshal(line, note)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range models.PlanFiles() {
		text, err := os.ReadFile(filepath.Join(dir, planDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r.Files[name] = string(text)
	}
	return r, nil
}

func (m *meta) record() *store.SessionRecord {
	r := &store.SessionRecord{
		Session: models.Session{
			Key: m.Key, AgentID: m.AgentID, Channel: m.Channel, Account: m.Account, Scope: m.Scope, ScopeID: m.ScopeID, State: m.State,
			Title: m.Title, Model: m.Model, SystemPrompt: m.SystemPrompt, Pinned: m.Pinned, CompactionCount: m.CompactionCount,
			CompactedSummary: m.CompactedSummary, CurrentSlot: m.CurrentSlot, CreatedAt: m.CreatedAt,
		},
		Files: map[string]string{}, Variables: map[string]json.RawMessage{},
	}
	for name, value := range m.Variables {
		var b bytes.Buffer
		_ = json.Compact(&b, value) // it was parsed
		r.Variables[name] = b.Bytes()
	}
	for _, s := range m.Slots {
		r.Contexts = append(r.Contexts, &store.ContextRecord{
			Slot: models.ContextSlot{
				ID: s.ID, SessionKey: m.Key, Title: s.Title, Mode: s.Mode, Focused: s.Focused, Source: s.Source, Budget: s.Budget, Compact: s.Compact, CreatedAt: s.CreatedAt,
			},
			CompactedThrough: s.CompactedThrough, SummarySeq: s.SummarySeq, MergedThrough: s.MergedThrough, PrunedThrough: s.PrunedThrough,
		})
	}
	return r
}

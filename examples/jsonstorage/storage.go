package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

// jsonStorage is a [sessionmgr.SessionStorage] for one process: a directory with a file
// per session. A session is read and written as a whole, so it suits short ones.
type jsonStorage struct {
	dir string
	mu  sync.Mutex
}

var _ sessionmgr.SessionStorage = (*jsonStorage)(nil)

// document is what a file holds.
type document struct {
	Session  models.Session           `json:"session"`
	Messages []*models.SessionMessage `json:"messages"`
}

func newJSONStorage(dir string) (*jsonStorage, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return &jsonStorage{dir: dir}, nil
}

const suffix = ".json"

// path names a session's file: keys are compared byte for byte, file names are not.
func (s *jsonStorage) path(key string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%x", sha256.Sum256([]byte(key)))+suffix)
}

func (s *jsonStorage) read(path string) (*document, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sessionmgr.ErrSessionNotFound
	}
	if err != nil {
		return nil, err
	}
	d := &document{}
	return d, json.Unmarshal(text, d)
}

// write replaces a file as a whole.
func (s *jsonStorage) write(d *document) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	path := s.path(d.Session.Key)
	if err := os.WriteFile(path+".part", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// change reads a session, changes it and writes it back.
func (s *jsonStorage) change(key string, change func(d *document)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.read(s.path(key))
	if err != nil {
		return err
	}
	change(d)
	return s.write(d)
}

// Create implements [sessionmgr.SessionStorage].
func (s *jsonStorage) Create(_ context.Context, session *models.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.read(s.path(session.Key)); !errors.Is(err, sessionmgr.ErrSessionNotFound) {
		return errors.Join(err, sessionmgr.ErrSessionExists)
	}
	return s.write(&document{Session: bare(session)})
}

// Get implements [sessionmgr.SessionStorage].
func (s *jsonStorage) Get(_ context.Context, key string) (*models.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.read(s.path(key))
	if err != nil {
		return nil, err
	}
	return &d.Session, nil
}

// Update implements [sessionmgr.SessionStorage].
func (s *jsonStorage) Update(_ context.Context, session *models.Session) error {
	return s.change(session.Key, func(d *document) { d.Session = bare(session) })
}

// Delete implements [sessionmgr.SessionStorage].
func (s *jsonStorage) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Remove(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return sessionmgr.ErrSessionNotFound
	}
	return err
}

// AddMessage implements [sessionmgr.SessionStorage].
func (s *jsonStorage) AddMessage(_ context.Context, key string, message *models.SessionMessage) error {
	return s.change(key, func(d *document) { d.Messages = append(d.Messages, message) })
}

// GetHistory implements [sessionmgr.SessionStorage].
func (s *jsonStorage) GetHistory(_ context.Context, key string, limit int) ([]*models.SessionMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.read(s.path(key))
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(d.Messages) > limit {
		return d.Messages[len(d.Messages)-limit:], nil
	}
	return d.Messages, nil
}

// List implements [sessionmgr.SessionStorage]. The order is that of the keys.
func (s *jsonStorage) List(_ context.Context, query sessionmgr.SessionQuery) ([]*models.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	found := []*models.Session{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		d, err := s.read(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if query.Matches(&d.Session) {
			found = append(found, &d.Session)
		}
	}
	slices.SortFunc(found, func(a, b *models.Session) int { return strings.Compare(a.Key, b.Key) })
	found = found[min(max(query.Offset, 0), len(found)):]
	if query.Limit > 0 {
		found = found[:min(query.Limit, len(found))]
	}
	return found, nil
}

// bare is the session without its messages, which have a place of their own.
func bare(session *models.Session) models.Session {
	c := *session
	c.Messages = nil
	return c
}

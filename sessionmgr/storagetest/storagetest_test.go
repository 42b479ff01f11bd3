package storagetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

// faultVariable tells TestFaultyStorage, run as a process of its own, what to break.
const faultVariable = "CHATKEEP_STORAGETEST_FAULT"

// TestSuiteFindsFaults makes sure that the suite can fail: each fault is one that
// storages have had.
func TestSuiteFindsFaults(t *testing.T) {
	for _, fault := range []string{
		"none", "shared session", "shared list", "shared messages", "keeps caller's message", "oldest messages", "reversed messages", "limit ignored",
		"case of keys", "blanks of keys", "overwriting create", "other error", "update creates", "delete of nothing",
		"messages survive delete", "update drops messages", "offset ignored", "filter ignored", "list with messages", "loses appends",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestFaultyStorage$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := cmd.CombinedOutput()
			if fault == "none" {
				if err != nil {
					t.Errorf("the suite fails a good storage: %v\n%s", err, out)
				}
				return
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestFaultyStorage/") {
				t.Errorf("the suite does not find it: %v\n%s", err, out)
			}
		})
	}
}

func TestFaultyStorage(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("TestSuiteFindsFaults runs it")
	}
	Run(t, func(*testing.T) sessionmgr.SessionStorage {
		return &faulty{MemoryStorage: new(sessionmgr.MemoryStorage), fault: fault, sessions: map[string]*models.Session{}, kept: map[string][]*models.SessionMessage{}}
	})
}

// faulty is a storage with one fault.
type faulty struct {
	*sessionmgr.MemoryStorage
	fault string

	mu       sync.Mutex
	sessions map[string]*models.Session
	kept     map[string][]*models.SessionMessage
}

func (f *faulty) is(fault string) bool { return f.fault == fault }

func (f *faulty) key(key string) string {
	switch f.fault {
	case "case of keys":
		return strings.ToLower(key)
	case "blanks of keys":
		return strings.TrimSuffix(key, "%20")
	}
	return key
}

func (f *faulty) session(s *models.Session) *models.Session {
	c := s.Clone()
	c.Key = f.key(s.Key)
	return c
}

func (f *faulty) Create(ctx context.Context, s *models.Session) error {
	err := f.MemoryStorage.Create(ctx, f.session(s))
	if f.is("overwriting create") && errors.Is(err, sessionmgr.ErrSessionExists) {
		return f.MemoryStorage.Update(ctx, s)
	}
	return err
}

func (f *faulty) Get(ctx context.Context, key string) (*models.Session, error) {
	s, err := f.MemoryStorage.Get(ctx, f.key(key))
	if err != nil {
		if f.is("other error") {
			return nil, errors.New("no rows")
		}
		return nil, err
	}
	if f.is("shared session") {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.sessions[key] == nil {
			f.sessions[key] = s
		}
		return f.sessions[key], nil
	}
	return s, nil
}

func (f *faulty) Update(ctx context.Context, s *models.Session) error {
	err := f.MemoryStorage.Update(ctx, f.session(s))
	switch {
	case f.is("update creates") && errors.Is(err, sessionmgr.ErrSessionNotFound):
		return f.MemoryStorage.Create(ctx, s)
	case f.is("update drops messages") && err == nil:
		return errors.Join(f.MemoryStorage.Delete(ctx, s.Key), f.MemoryStorage.Create(ctx, s))
	}
	return err
}

func (f *faulty) Delete(ctx context.Context, key string) error {
	err := f.MemoryStorage.Delete(ctx, f.key(key))
	if f.is("delete of nothing") {
		return nil
	}
	return err
}

func (f *faulty) AddMessage(ctx context.Context, key string, m *models.SessionMessage) error {
	if err := f.MemoryStorage.AddMessage(ctx, f.key(key), m); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is("loses appends") && len(f.kept[key]) == 50 {
		f.kept[key] = f.kept[key][:49]
	}
	f.kept[key] = append(f.kept[key], m)
	return nil
}

func (f *faulty) GetHistory(ctx context.Context, key string, limit int) ([]*models.SessionMessage, error) {
	messages, err := f.MemoryStorage.GetHistory(ctx, f.key(key), 0)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	kept := f.kept[key]
	f.mu.Unlock()
	switch f.fault {
	case "keeps caller's message":
		messages = models.CloneMessages(kept)
	case "shared messages", "loses appends":
		messages = append(messages[:0:0], kept...)
	case "messages survive delete":
		messages = models.CloneMessages(kept)
	case "oldest messages":
		return messages[:min(len(messages), max(limit, 0))], nil
	case "limit ignored":
		return messages, nil
	case "reversed messages":
		for i, j := 0, len(messages)-1; i < j; i, j = i+1, j-1 {
			messages[i], messages[j] = messages[j], messages[i]
		}
	}
	if limit > 0 && len(messages) > limit {
		messages = messages[len(messages)-limit:]
	}
	return messages, nil
}

func (f *faulty) List(ctx context.Context, q sessionmgr.SessionQuery) ([]*models.Session, error) {
	if f.is("offset ignored") {
		q.Offset = min(q.Offset, 1)
	}
	if f.is("filter ignored") {
		q.State = ""
	}
	sessions, err := f.MemoryStorage.List(ctx, q)
	for i, s := range sessions {
		switch {
		case f.is("list with messages"):
			s.Messages, _ = f.MemoryStorage.GetHistory(ctx, s.Key, 0)
		case f.is("shared list"):
			f.mu.Lock()
			if f.sessions[s.Key] == nil {
				f.sessions[s.Key] = s
			}
			sessions[i] = f.sessions[s.Key]
			f.mu.Unlock()
		}
	}
	return sessions, err
}

package sessionmgr

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/chatkeep/chatkeep/models"
)

// MemoryStorage keeps sessions in memory, for tests and throw-away runs. The zero
// value is empty and ready. It must not be copied.
type MemoryStorage struct {
	mu       sync.RWMutex
	sessions map[string]*memorySession
	vars     memoryVariables
}

type memorySession struct {
	session  *models.Session // without messages
	messages []*models.SessionMessage
}

var (
	_ TurnStorage     = (*MemoryStorage)(nil)
	_ VariableStorage = (*MemoryStorage)(nil)
)

// NewMemoryStorage returns an empty storage.
func NewMemoryStorage() *MemoryStorage { return &MemoryStorage{} }

// Create implements [SessionStorage].
func (s *MemoryStorage) Create(_ context.Context, session *models.Session) error {
	if session == nil || session.Key == "" {
		return fmt.Errorf("create: %w: no key", ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.sessions[session.Key]; exists {
		return fmt.Errorf("create: %w", ErrSessionExists)
	}
	if s.sessions == nil {
		s.sessions = make(map[string]*memorySession)
	}
	s.sessions[session.Key] = &memorySession{session: bare(session)}
	return nil
}

// Get implements [SessionStorage].
func (s *MemoryStorage) Get(_ context.Context, key string) (*models.Session, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept, exists := s.sessions[key]
	if !exists {
		return nil, fmt.Errorf("get: %w", ErrSessionNotFound)
	}
	return kept.session.Clone(), nil
}

// Update implements [SessionStorage].
func (s *MemoryStorage) Update(_ context.Context, session *models.Session) error {
	if session == nil {
		return fmt.Errorf("update: %w: no session", ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, exists := s.sessions[session.Key]
	if !exists {
		return fmt.Errorf("update: %w", ErrSessionNotFound)
	}
	kept.session = bare(session)
	return nil
}

// Delete implements [SessionStorage].
func (s *MemoryStorage) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.sessions[key]; !exists {
		return fmt.Errorf("delete: %w", ErrSessionNotFound)
	}
	delete(s.sessions, key)
	s.vars.forget(key)
	return nil
}

// AddMessage implements [SessionStorage].
func (s *MemoryStorage) AddMessage(ctx context.Context, key string, message *models.SessionMessage) error {
	return s.AppendTurn(ctx, key, []*models.SessionMessage{message})
}

// AppendTurn implements [TurnStorage].
func (s *MemoryStorage) AppendTurn(_ context.Context, key string, messages []*models.SessionMessage) error {
	if slices.Contains(messages, nil) {
		return fmt.Errorf("append: %w: no message", ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, exists := s.sessions[key]
	if !exists {
		return fmt.Errorf("append: %w", ErrSessionNotFound)
	}
	kept.messages = append(kept.messages, models.CloneMessages(messages)...)
	return nil
}

// GetHistory implements [SessionStorage].
func (s *MemoryStorage) GetHistory(_ context.Context, key string, limit int) ([]*models.SessionMessage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept, exists := s.sessions[key]
	if !exists {
		return nil, fmt.Errorf("get history: %w", ErrSessionNotFound)
	}
	messages := kept.messages
	if limit > 0 && len(messages) > limit {
		messages = messages[len(messages)-limit:]
	}
	return models.CloneMessages(messages), nil
}

// List implements [SessionStorage]. The order is that of the keys.
func (s *MemoryStorage) List(_ context.Context, query SessionQuery) ([]*models.Session, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sessions := []*models.Session{}
	skip := query.Offset
	for _, key := range slices.Sorted(maps.Keys(s.sessions)) {
		session := s.sessions[key].session
		if !query.Matches(session) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		sessions = append(sessions, session.Clone())
		if len(sessions) == query.Limit {
			break
		}
	}
	return sessions, nil
}

// Variables implements [VariableStorage].
func (s *MemoryStorage) Variables(ctx context.Context, key string) (map[string]json.RawMessage, error) {
	return s.vars.Variables(ctx, key)
}

// SetVariable implements [VariableStorage].
func (s *MemoryStorage) SetVariable(ctx context.Context, key, name string, value json.RawMessage) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, exists := s.sessions[key]; !exists {
		return fmt.Errorf("set variable: %w", ErrSessionNotFound)
	}
	return s.vars.SetVariable(ctx, key, name, value)
}

// DeleteVariable implements [VariableStorage].
func (s *MemoryStorage) DeleteVariable(ctx context.Context, key, name string) error {
	return s.vars.DeleteVariable(ctx, key, name)
}

// bare returns a deep copy without messages.
func bare(session *models.Session) *models.Session {
	c := *session
	c.Messages = nil
	return &c
}

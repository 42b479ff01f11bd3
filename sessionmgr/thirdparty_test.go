package sessionmgr_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/storagetest"
)

// jsonStorage is what a third party writes with the least effort: the seven
// methods and nothing else, over JSON texts. It knows no slots, counts and turns.
type jsonStorage struct {
	mu       sync.Mutex
	keys     []string
	sessions map[string]string
	messages map[string][]string
	// failAdd is returned by the next AddMessage.
	failAdd error
}

func newJSONStorage() *jsonStorage {
	return &jsonStorage{sessions: map[string]string{}, messages: map[string][]string{}}
}

func (s *jsonStorage) Create(_ context.Context, session *models.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.sessions[session.Key]; exists {
		return sessionmgr.ErrSessionExists
	}
	s.keys = append(s.keys, session.Key)
	return s.put(session)
}

func (s *jsonStorage) put(session *models.Session) error {
	c := session.Clone()
	c.Messages = nil
	data, err := json.Marshal(c)
	s.sessions[session.Key] = string(data)
	return err
}

func (s *jsonStorage) Get(_ context.Context, key string) (*models.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(key)
}

func (s *jsonStorage) read(key string) (*models.Session, error) {
	data, exists := s.sessions[key]
	if !exists {
		return nil, sessionmgr.ErrSessionNotFound
	}
	session := new(models.Session)
	return session, json.Unmarshal([]byte(data), session)
}

func (s *jsonStorage) Update(_ context.Context, session *models.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.sessions[session.Key]; !exists {
		return sessionmgr.ErrSessionNotFound
	}
	return s.put(session)
}

func (s *jsonStorage) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.sessions[key]; !exists {
		return sessionmgr.ErrSessionNotFound
	}
	delete(s.sessions, key)
	delete(s.messages, key)
	for i, k := range s.keys {
		if k == key {
			s.keys = append(s.keys[:i:i], s.keys[i+1:]...)
			break
		}
	}
	return nil
}

func (s *jsonStorage) AddMessage(_ context.Context, key string, message *models.SessionMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failAdd; err != nil {
		s.failAdd = nil
		return err
	}
	if _, exists := s.sessions[key]; !exists {
		return sessionmgr.ErrSessionNotFound
	}
	data, err := json.Marshal(message)
	s.messages[key] = append(s.messages[key], string(data))
	return err
}

func (s *jsonStorage) GetHistory(_ context.Context, key string, limit int) ([]*models.SessionMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.sessions[key]; !exists {
		return nil, sessionmgr.ErrSessionNotFound
	}
	kept := s.messages[key]
	if limit > 0 && len(kept) > limit {
		kept = kept[len(kept)-limit:]
	}
	var out []*models.SessionMessage
	for _, data := range kept {
		message := new(models.SessionMessage)
		if err := json.Unmarshal([]byte(data), message); err != nil {
			return nil, err
		}
		out = append(out, message)
	}
	return out, nil
}

func (s *jsonStorage) List(_ context.Context, query sessionmgr.SessionQuery) ([]*models.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*models.Session
	for _, key := range s.keys {
		session, err := s.read(key)
		if err != nil {
			return nil, err
		}
		if query.Matches(session) {
			out = append(out, session)
		}
	}
	out = out[min(query.Offset, len(out)):]
	if query.Limit > 0 {
		out = out[:min(query.Limit, len(out))]
	}
	return out, nil
}

func TestThirdPartyStorage(t *testing.T) {
	storagetest.Run(t, func(*testing.T) sessionmgr.SessionStorage { return newJSONStorage() })
}

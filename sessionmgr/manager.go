package sessionmgr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// Option changes what [New] makes.
type Option func(*manager)

// WithClock sets the clock; without it time is the system's.
func WithClock(c clock.Clock) Option { return func(m *manager) { m.clock = c } }

// WithCompactor makes CompactIfNeeded work.
func WithCompactor(c Compactor) Option { return func(m *manager) { m.compactor = c } }

// New returns a manager over a storage. Sizes of cfg that are zero or less become
// the defaults. It panics on a nil storage, which no caller can mean.
func New(storage SessionStorage, cfg Config, opts ...Option) SessionManager {
	if storage == nil {
		panic("sessionmgr: New with a nil storage")
	}
	m := &manager{storage: storage, cfg: cfg.withDefaults(), clock: clock.Real()}
	_, m.storageCounts = storage.(CounterStorage)
	var ok bool
	if m.variables, ok = storage.(VariableStorage); !ok {
		m.variables = &memoryVariables{}
	}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

type manager struct {
	storage   SessionStorage
	cfg       Config
	clock     clock.Clock
	compactor Compactor
	variables VariableStorage
	// storageCounts is set for a CounterStorage.
	storageCounts bool
	locks         keyLocks
}

func (m *manager) GetConfig() Config { return m.cfg }

// createAttempts bounds how often a session may vanish while it is looked for.
const createAttempts = 3

func (m *manager) GetOrCreate(ctx context.Context, req SessionRequest) (*models.Session, error) {
	k, err := key.DeriveCaller(key.CallerRequest(req))
	if err != nil {
		return nil, fmt.Errorf("get or create session: %w: %w", ErrInvalid, err)
	}
	for range createAttempts {
		session, err := m.Get(ctx, k.String())
		if !errors.Is(err, ErrSessionNotFound) {
			return session, err
		}
		if err := m.create(ctx, k, req); err != nil && !errors.Is(err, ErrSessionExists) {
			return nil, fmt.Errorf("get or create session: %w", err)
		}
	}
	return nil, fmt.Errorf("get or create session: %w: deleted again and again", ErrSessionNotFound)
}

func (m *manager) create(ctx context.Context, k key.Key, req SessionRequest) error {
	unlock, err := m.locks.lock(ctx, k.String())
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := m.storage.Get(ctx, k.String()); !errors.Is(err, ErrSessionNotFound) {
		return err
	}
	now := m.now()
	return m.storage.Create(ctx, &models.Session{
		Key: k.String(), AgentID: k.AgentID, Channel: req.Channel, Account: req.Account,
		Scope: k.Scope, ScopeID: k.ScopeID, State: models.SessionActive, CurrentSlot: models.DefaultSlot,
		CreatedAt: now, LastActivityAt: now, UpdatedAt: now,
	})
}

func (m *manager) Get(ctx context.Context, key string) (*models.Session, error) {
	session, err := m.get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get session: %w", err)
	}
	if session.Messages, err = m.history(ctx, session, m.cfg.MaxMessages); err != nil {
		return nil, fmt.Errorf("get session: %w", err)
	}
	return session, nil
}

// get returns a session as the storage has it, but never nil without an error.
func (m *manager) get(ctx context.Context, key string) (*models.Session, error) {
	session, err := m.storage.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return nil, ErrSessionNotFound
	}
	return session, nil
}

func (m *manager) GetHistory(ctx context.Context, key string, limit int) ([]*models.SessionMessage, error) {
	session, err := m.get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get history: %w", err)
	}
	messages, err := m.history(ctx, session, limit)
	if err != nil {
		return nil, fmt.Errorf("get history: %w", err)
	}
	return messages, nil
}

// history reads the current slot. A storage that does not tell slots apart is
// asked for twice as much until enough of what it gives is of the slot.
func (m *manager) history(ctx context.Context, session *models.Session, limit int) ([]*models.SessionMessage, error) {
	for ask := limit; ; ask *= 2 {
		all, err := m.storage.GetHistory(ctx, session.Key, ask)
		if err != nil {
			return nil, err
		}
		messages := ofSlot(all, slotOf(session))
		if limit <= 0 {
			return messages, nil
		}
		if len(messages) >= limit || len(all) < ask {
			return messages[max(0, len(messages)-limit):], nil
		}
	}
}

func ofSlot(all []*models.SessionMessage, slot string) []*models.SessionMessage {
	messages := make([]*models.SessionMessage, 0, len(all))
	for _, message := range all {
		if message.Slot == slot || message.Slot == "" && slot == models.DefaultSlot {
			messages = append(messages, message)
		}
	}
	return messages
}

func slotOf(session *models.Session) string {
	if session.CurrentSlot == "" {
		return models.DefaultSlot
	}
	return session.CurrentSlot
}

func (m *manager) Update(ctx context.Context, session *models.Session) error {
	if err := checkSession(session); err != nil {
		return fmt.Errorf("update session: %w", err)
	}
	unlock, err := m.locks.lock(ctx, session.Key)
	if err != nil {
		return fmt.Errorf("update session: %w", err)
	}
	defer unlock()
	current, err := m.get(ctx, session.Key)
	if err != nil {
		return fmt.Errorf("update session: %w", err)
	}
	if err := m.storage.Update(ctx, merge(current, session, m.now())); err != nil {
		return fmt.Errorf("update session: %w", err)
	}
	return nil
}

// merge returns change with what an update must not touch taken from current. The
// copy that a caller changed may be old, so activity never goes back.
func merge(current, change *models.Session, now time.Time) *models.Session {
	s := change.Clone()
	s.Messages = nil
	s.AgentID, s.Scope, s.ScopeID, s.CreatedAt = current.AgentID, current.Scope, current.ScopeID, current.CreatedAt
	s.MessageCount, s.TotalTokenCount = current.MessageCount, current.TotalTokenCount
	s.LastActivityAt = later(current.LastActivityAt, change.LastActivityAt)
	s.LastUserAt = later(current.LastUserAt, change.LastUserAt)
	s.UpdatedAt = now
	if s.State == "" {
		s.State = current.State
	}
	if s.CurrentSlot == "" {
		s.CurrentSlot = slotOf(current)
	}
	return s
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (m *manager) Delete(ctx context.Context, key string) error {
	unlock, err := m.locks.lock(ctx, key)
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	defer unlock()
	if err := m.storage.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	if kept, ok := m.variables.(*memoryVariables); ok {
		kept.forget(key)
	}
	return nil
}

func (m *manager) List(ctx context.Context, query SessionQuery) ([]*models.Session, error) {
	query.Offset, query.Limit = max(0, query.Offset), max(0, query.Limit)
	sessions, err := m.storage.List(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for _, session := range sessions {
		session.Messages = nil
	}
	return sessions, nil
}

// now is the current time as every storage can keep it: UTC, to the millisecond.
func (m *manager) now() time.Time { return m.clock.Now().UTC().Truncate(time.Millisecond) }

// complete returns a copy of a message with what it lacks.
func (m *manager) complete(message *models.SessionMessage, now time.Time) *models.SessionMessage {
	c := message.Clone()
	if c.ID == "" {
		c.ID = models.NewMessageID(now)
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = now
	}
	c.CreatedAt = c.CreatedAt.UTC().Truncate(time.Millisecond)
	if c.TokenCount == 0 {
		c.TokenCount = tokens.Message(c, nil)
	}
	return c
}

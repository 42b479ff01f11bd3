package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/store"
)

// page bounds what one query reads.
const page = 500

// Store is what the storage needs of the product's store.
type Store interface {
	store.Sessions
	store.History
	store.Notebook
}

// Storage is a session storage over the product's store. Its appends are whole
// turns, and it counts by itself.
type Storage struct {
	store Store
	clock clock.Clock
}

var (
	_ sessionmgr.TurnStorage     = (*Storage)(nil)
	_ sessionmgr.CounterStorage  = (*Storage)(nil)
	_ sessionmgr.VariableStorage = (*Storage)(nil)
)

// New returns a storage over s. A nil clock is the real one.
func New(s Store, c clock.Clock) *Storage {
	if c == nil {
		c = clock.Real()
	}
	return &Storage{store: s, clock: c}
}

// KeepsCounters tells that the store counts in the step that appends.
func (*Storage) KeepsCounters() {}

// Create stores a new session with an empty default slot.
func (s *Storage) Create(ctx context.Context, session *models.Session) error {
	return translate("create session", s.store.CreateSession(ctx, session))
}

// Get returns a session without its messages.
func (s *Storage) Get(ctx context.Context, key string) (*models.Session, error) {
	session, err := s.store.Session(ctx, key)
	return session, translate("get session", err)
}

// Update stores what a session says of itself, under its lane's lock.
func (s *Storage) Update(ctx context.Context, session *models.Session) error {
	err := s.store.ChangeSession(ctx, session.Key, func(tx store.SessionTx) error {
		if _, err := tx.Session(); err != nil {
			return err
		}
		return tx.Update(session, s.clock.Now())
	})
	return translate("update session", err)
}

// Delete makes a session unreadable at once; the server's upkeep erases it.
func (s *Storage) Delete(ctx context.Context, key string) error {
	err := s.store.ChangeSession(ctx, key, func(tx store.SessionTx) error {
		if _, err := tx.Session(); err != nil {
			return err
		}
		return tx.Delete(s.clock.Now())
	})
	return translate("delete session", err)
}

// AddMessage appends one message to the current slot.
func (s *Storage) AddMessage(ctx context.Context, key string, message *models.SessionMessage) error {
	return s.AppendTurn(ctx, key, []*models.SessionMessage{message})
}

// AppendTurn appends messages to the current slot in one transaction.
func (s *Storage) AppendTurn(ctx context.Context, key string, messages []*models.SessionMessage) error {
	return translate("append turn", s.store.AppendMessages(ctx, key, models.CloneMessages(messages)))
}

// GetHistory reads the newest messages of the current slot, page by page.
func (s *Storage) GetHistory(ctx context.Context, key string, limit int) ([]*models.SessionMessage, error) {
	session, err := s.store.Session(ctx, key)
	if err != nil {
		return nil, translate("get history", err)
	}
	var pages [][]*models.SessionMessage // newest first
	before := int64(0)
	for read := 0; limit <= 0 || read < limit; {
		want := page
		if limit > 0 {
			want = min(page, limit-read)
		}
		messages, err := s.store.Messages(ctx, key, session.CurrentSlot, before, want)
		if err != nil {
			return nil, translate("get history", err)
		}
		if len(messages) > 0 {
			pages = append(pages, messages)
			before = messages[0].Seq
			read += len(messages)
		}
		if len(messages) < want {
			break
		}
	}
	slices.Reverse(pages)
	return slices.Concat(pages...), nil
}

// List returns the sessions that match, newest first.
func (s *Storage) List(ctx context.Context, q sessionmgr.SessionQuery) ([]*models.Session, error) {
	var out []*models.Session
	cursor, offset := "", max(q.Offset, 0)
	for {
		want := page
		if q.Limit > 0 {
			want = min(page, q.Limit-len(out))
		}
		items, next, err := s.store.ListSessions(ctx, store.SessionQuery{
			AgentID: q.AgentID, Channel: q.Channel, Scope: q.Scope, State: q.State, Limit: want, Cursor: cursor, Offset: offset,
		})
		if err != nil {
			return nil, translate("list sessions", err)
		}
		out = append(out, items...)
		cursor, offset = next, 0
		if next == "" || q.Limit > 0 && len(out) >= q.Limit {
			return out, nil
		}
	}
}

// translate gives the store's sentinels their names in the Go API.
func translate(op string, err error) error {
	if err == nil {
		return nil
	}
	for _, pair := range []struct{ from, to error }{
		{store.ErrNotFound, sessionmgr.ErrSessionNotFound},
		{store.ErrExists, sessionmgr.ErrSessionExists},
		{store.ErrTooLarge, sessionmgr.ErrTooLarge},
		{store.ErrInvalid, sessionmgr.ErrInvalid},
	} {
		if errors.Is(err, pair.from) {
			return fmt.Errorf("%s: %w: %w", op, pair.to, err)
		}
	}
	return fmt.Errorf("%s: %w", op, err)
}

package durable

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chatkeep/chatkeep/store"
)

// Variables returns all variables of a session.
func (s *Storage) Variables(ctx context.Context, key string) (map[string]json.RawMessage, error) {
	all, err := s.store.Variables(ctx, key)
	return all, translate("variables", err)
}

// SetVariable adds or replaces a variable, under the session's lock.
func (s *Storage) SetVariable(ctx context.Context, key, name string, value json.RawMessage) error {
	return translate("set variable", s.store.ChangeSession(ctx, key, func(tx store.SessionTx) error {
		return tx.SetVariable(name, value)
	}))
}

// DeleteVariable removes a variable if there is one.
func (s *Storage) DeleteVariable(ctx context.Context, key, name string) error {
	err := s.store.ChangeSession(ctx, key, func(tx store.SessionTx) error { return tx.DeleteVariable(name) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return translate("delete variable", err)
}

package main

import (
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// notebook lets the tools of a turn change what its session keeps.
type notebook struct {
	store.Notebook

	store store.Store
	clock clock.Clock
}

// Result returns a tool's result that is kept whole.
func (n notebook) Result(ctx context.Context, sessionKey, id string) (*models.FullResult, error) {
	return n.store.Result(ctx, sessionKey, id)
}

// PutNote keeps a note.
func (n notebook) PutNote(ctx context.Context, sessionKey string, note *models.Note) error {
	return n.change(ctx, sessionKey, func(tx store.SessionTx) error { return tx.PutNote(note) })
}

// PutFile replaces a plan file.
func (n notebook) PutFile(ctx context.Context, sessionKey, name, text string) error {
	return n.change(ctx, sessionKey, func(tx store.SessionTx) error { return tx.PutFile(name, text) })
}

// errTurnOver is a tool that comes too late: its turn was stopped, or its session deleted.
var errTurnOver = errors.New("the turn is over")

// change works under the session's lock, while a turn of it runs. The first turn
// of a session makes it.
func (n notebook) change(ctx context.Context, sessionKey string, do func(store.SessionTx) error) error {
	k, err := key.Parse(sessionKey)
	if err != nil {
		return err
	}
	return n.store.ChangeSession(ctx, sessionKey, func(tx store.SessionTx) error {
		pending, err := tx.Pending()
		if err != nil {
			return err
		}
		if len(pending) == 0 {
			return errTurnOver
		}
		_, err = tx.Session()
		if errors.Is(err, store.ErrNotFound) {
			err = tx.Create(&models.Session{
				Key: sessionKey, AgentID: k.AgentID, Channel: pending[0].Channel, Account: pending[0].Account,
				Scope: k.Scope, ScopeID: k.ScopeID, State: models.SessionActive, CurrentSlot: models.DefaultSlot, CreatedAt: n.clock.Now(),
			})
		}
		if err != nil {
			return err
		}
		return do(tx)
	})
}

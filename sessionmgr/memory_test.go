package sessionmgr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/storagetest"
)

func TestMemoryStorage(t *testing.T) {
	storagetest.Run(t, func(*testing.T) sessionmgr.SessionStorage { return new(sessionmgr.MemoryStorage) })
}

func TestMemoryStorageRefusesNil(t *testing.T) {
	ctx, s := context.Background(), sessionmgr.NewMemoryStorage()
	for name, err := range map[string]error{
		"create nil":    s.Create(ctx, nil),
		"create no key": s.Create(ctx, &models.Session{}),
		"update nil":    s.Update(ctx, nil),
		"add nil":       s.AddMessage(ctx, "key", nil),
		"turn of nil":   s.AppendTurn(ctx, "key", []*models.SessionMessage{nil}),
	} {
		if !errors.Is(err, sessionmgr.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package gormstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// lostAnswer loses the answer to the commit of a marked call once, after which something
// happens.
type lostAnswer struct {
	then func()
	once sync.Once
}

func (*lostAnswer) Statement(context.Context, string) error { return nil }
func (*lostAnswer) Commit(context.Context) error            { return nil }

// Committed loses the answer.
func (l *lostAnswer) Committed(ctx context.Context) (err error) {
	if ctx.Value(markedCall{}) != nil {
		l.once.Do(func() {
			l.then()
			err = errors.New("no answer")
		})
	}
	return err
}

// What a lost answer hides was committed for all sessions, though one of them was changed
// by somebody else since.
func TestSeveralAreChangedOnce(t *testing.T) {
	ctx, now := t.Context(), clock.Real().Now()
	cfg := newMySQL(t).config()
	hook := &lostAnswer{}
	cfg.Observer = hook
	s := open(t, cfg)
	keys := []string{"agent:a:one", "agent:a:two"}
	for _, key := range keys {
		if err := s.CreateSession(ctx, storetest.NewSession(key, now)); err != nil {
			t.Fatal(err)
		}
	}
	hook.then = func() {
		if err := s.ChangeSession(ctx, keys[0], func(store.SessionTx) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if err := s.ChangeSessions(context.WithValue(ctx, markedCall{}, true), keys, func(_ string, tx store.SessionTx) error {
		return tx.Append(models.DefaultSlot, []*models.SessionMessage{storetest.NewSessionMessage(models.RoleUser, "once", now)}, now)
	}); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if said, err := s.Messages(ctx, key, models.DefaultSlot, 0, 10); err != nil || len(said) != 1 {
			t.Errorf("%s: %d messages, %v", key, len(said), err)
		}
	}
}

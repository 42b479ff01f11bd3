package durable_test

import (
	"testing"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/durable"
	"github.com/chatkeep/chatkeep/sessionmgr/storagetest"
	"github.com/chatkeep/chatkeep/store/memstore"
)

func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) sessionmgr.SessionStorage {
		t.Helper()
		st := memstore.New()
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return durable.New(st, clock.Real())
	})
}

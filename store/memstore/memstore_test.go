package memstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Options{New: func(tb testing.TB) store.Store {
		s := memstore.New()
		tb.Cleanup(func() { _ = s.Close() })
		return s
	}})
}

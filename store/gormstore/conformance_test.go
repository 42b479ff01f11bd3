package gormstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformanceOnSQLite(t *testing.T) {
	d := newSQLite(t)
	conformance(t, func(tb testing.TB) gormstore.Config { return d.config(d.file(tb)) })
}

func TestConformanceOnMySQL(t *testing.T) {
	d := newMySQL(t)
	conformance(t, func(tb testing.TB) gormstore.Config {
		d.wipe(tb)
		return d.config()
	})
}

// conformance runs the suite on empty databases.
func conformance(t *testing.T, empty func(tb testing.TB) gormstore.Config) {
	configs := map[store.Store]gormstore.Config{}
	start := func(tb testing.TB, cfg gormstore.Config) store.Store {
		s := open(tb, cfg)
		configs[s] = cfg
		return s
	}
	storetest.Run(t, storetest.Options{
		Durable: true,
		New:     func(tb testing.TB) store.Store { return start(tb, empty(tb)) },
		Reopen: func(tb testing.TB, s store.Store) store.Store {
			closeStore(tb, s)
			return start(tb, configs[s])
		},
		Faults: func(tb testing.TB, in *storetest.Injector) store.Store {
			cfg := empty(tb)
			cfg.Observer = in
			return open(tb, cfg)
		},
	})
}

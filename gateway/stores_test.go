package gateway_test

import (
	"context"
	"testing"

	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// stores open an empty store of each kind.
func stores() map[string]func(t *testing.T) store.Store {
	open := func(t *testing.T, cfg gormstore.Config) store.Store {
		t.Helper()
		cfg.Migrate = true
		s, err := gormstore.Open(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close store: %v", err)
			}
		})
		return s
	}
	return map[string]func(t *testing.T) store.Store{
		"sqlite": func(t *testing.T) store.Store {
			t.Helper()
			return open(t, gormstore.Config{Driver: gormstore.SQLite, DSN: gormstore.Memory})
		},
		"mysql": func(t *testing.T) store.Store {
			t.Helper()
			return open(t, gormstore.Config{Driver: gormstore.MySQL, DSN: testmysql.DSN(t)})
		},
	}
}

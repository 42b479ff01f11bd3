package transfer_test

import (
	"flag"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened[S store.Store](t *testing.T, s S, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stores opens an empty store of every kind.
func stores(t *testing.T) map[string]store.Store {
	t.Helper()
	dir := t.TempDir()
	sqlite, err := gormstore.Open(t.Context(), gormstore.Config{Driver: gormstore.SQLite, DSN: filepath.Join(dir, "chatkeep.db"), Migrate: true})
	out := map[string]store.Store{"sqlite": opened(t, sqlite, err)}
	mysql, err := gormstore.Open(t.Context(), gormstore.Config{Driver: gormstore.MySQL, DSN: testmysql.DSN(t), Migrate: true})
	out["mysql"] = opened(t, mysql, err)
	files, err := filestore.Open(t.Context(), filestore.Config{Dir: filepath.Join(dir, "files")})
	out["file"] = opened(t, files, err)
	out["memory"] = opened(t, memstore.New(), nil)
	return out
}

// What holds for every store is tested on the same ones: to make a schema takes long.
func TestAcrossStores(t *testing.T) {
	all := stores(t)
	t.Run("ImportLeavesNothingBehind", func(t *testing.T) { testImportLeavesNothingBehind(t, all) })
	t.Run("ImportTwiceAtOnce", func(t *testing.T) { testImportTwiceAtOnce(t, all) })
	t.Run("RoundTrip", func(t *testing.T) { testRoundTrip(t, all) })
}

// few keeps the number of random sessions low where the command line asks for none:
// each of them costs some hundred statements.
func few(t *testing.T) {
	t.Helper()
	const name, ordinary = "rapid.checks", "20"
	checks := flag.Lookup(name)
	before := checks.Value.String()
	if before != checks.DefValue {
		return
	}
	set := func(v string) {
		if err := flag.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	set(ordinary)
	t.Cleanup(func() { set(before) })
}

package filestore_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, dir string, observer gormstore.Observer) *filestore.Store {
	tb.Helper()
	s, err := filestore.Open(context.Background(), filestore.Config{Dir: dir, Observer: observer})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// The whole contract; and after each of its tests the files say what the database does.
func TestConformance(t *testing.T) {
	dirs := map[store.Store]string{}
	schema := template(t)
	empty := func(tb testing.TB) string {
		dir := tb.TempDir()
		if err := os.CopyFS(dir, os.DirFS(schema)); err != nil {
			tb.Fatal(err)
		}
		return dir
	}
	start := func(tb testing.TB, dir string, observer gormstore.Observer) store.Store {
		s := open(tb, dir, observer)
		dirs[s] = dir
		tb.Cleanup(func() {
			if dirs[s] == "" { // closed already
				return
			}
			wantFaithful(tb, s, dir)
			closeStore(tb, s)
		})
		return s
	}
	storetest.Run(t, storetest.Options{
		Durable: true,
		New:     func(tb testing.TB) store.Store { return start(tb, empty(tb), nil) },
		Reopen: func(tb testing.TB, s store.Store) store.Store {
			dir := dirs[s]
			closeStore(tb, s)
			dirs[s] = ""
			return start(tb, dir, nil)
		},
		Faults: func(tb testing.TB, in *storetest.Injector) store.Store { return start(tb, empty(tb), in) },
	})
}

// template is an empty store: to make the schema costs more than most tests.
func template(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	closeStore(tb, open(tb, dir, nil))
	return dir
}

func closeStore(tb testing.TB, s store.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}

package filestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// BenchmarkTurn accepts a message and commits its turn, in sessions side by side, with
// and without files.
func BenchmarkTurn(b *testing.B) {
	for name, open := range map[string]func(dir string) (store.Store, error){
		"sqlite": func(dir string) (store.Store, error) {
			return gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.SQLite, DSN: filepath.Join(dir, "chatkeep.db"), Migrate: true})
		},
		"file": func(dir string) (store.Store, error) {
			return filestore.Open(context.Background(), filestore.Config{Dir: dir})
		},
	} {
		for _, sessions := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", name, sessions), func(b *testing.B) {
				s, err := open(b.TempDir())
				must(b, err)
				defer closeStore(b, s)
				var lanes atomic.Int32
				b.SetParallelism(sessions)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					k := fmt.Sprint(key, lanes.Add(1))
					for pb.Next() {
						turn(b, s, k)
					}
				})
			})
		}
	}
}

func turn(b *testing.B, s store.Store, k string) {
	b.Helper()
	r := storetest.NewMessage(k, day)
	r.Claim = &store.ClaimRequest{Owner: "replica", Lease: time.Minute}
	a, err := s.Accept(b.Context(), r)
	if err != nil || a.Claim == nil {
		b.Error("accept: ", err)
		return
	}
	t := &store.Turn{Claim: *a.Claim}
	t.Inbounds = append(t.Inbounds, a.Inbound)
	if _, err := s.CommitTurn(b.Context(), storetest.NewAnswer(t, "answer", day)); err != nil {
		b.Error(err)
	}
}

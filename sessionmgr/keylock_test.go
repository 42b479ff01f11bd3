package sessionmgr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func TestKeyLocks(t *testing.T) {
	var locks keyLocks
	counts := make([]int, 10)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				unlock, err := locks.lock(t.Context(), fmt.Sprint(i%len(counts)))
				if err != nil {
					t.Error(err)
					return
				}
				counts[i%len(counts)]++ // -race tells whether the lock holds
				unlock()
			}
		})
	}
	wg.Wait()
	for i, n := range counts {
		if n != 400 {
			t.Errorf("key %d was counted %d times", i, n)
		}
	}

	unlock, err := locks.lock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.lock(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ended with %v", err)
	}
	unlock()
	if len(locks.held) != 0 {
		t.Errorf("%d locks are left", len(locks.held))
	}
}

package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/gateway/lease"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// span is long enough for a busy machine to renew.
	span     = 1500 * time.Millisecond
	patience = 30 * time.Second
)

// leases is a store whose leases may be out of reach.
type leases struct {
	store.Leases

	away atomic.Bool
}

var errAway = errors.New("the database is away")

func (l *leases) AcquireLease(ctx context.Context, name string, c store.ClaimRequest) (bool, error) {
	if l.away.Load() {
		return false, errAway
	}
	return l.Leases.AcquireLease(ctx, name, c)
}

func open(t *testing.T) *leases {
	t.Helper()
	s := memstore.New()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &leases{Leases: s}
}

func of(s store.Leases, owner string) *lease.Lease {
	return lease.New(lease.Config{Name: "work", Owner: owner, Time: span}, s, clock.Real(), slog.New(slog.DiscardHandler))
}

func within(t *testing.T, what string, c <-chan string) string {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
		return ""
	}
}

// Of several replicas one works at a time; when it stops another one goes on.
func TestOneWorksAtATime(t *testing.T) {
	s := open(t)
	var working, most atomic.Int64
	began := make(chan string, 10)
	var group sync.WaitGroup
	stops := map[string]context.CancelFunc{}
	for i := range 3 {
		name := fmt.Sprint("replica-", i)
		ctx, stop := context.WithCancel(context.Background())
		stops[name] = stop
		work := func(ctx context.Context) {
			if n := working.Add(1); n > most.Load() {
				most.Store(n)
			}
			began <- name
			<-ctx.Done()
			working.Add(-1)
		}
		group.Go(func() { of(s, name).Run(ctx, work) })
	}
	seen := map[string]bool{}
	for range 3 {
		name := within(t, "somebody works", began)
		if seen[name] {
			t.Errorf("%s began twice", name)
		}
		seen[name] = true
		stops[name]()
	}
	group.Wait()
	if most.Load() != 1 {
		t.Errorf("%d worked at once", most.Load())
	}
}

func TestDo(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	inner, both := false, 0
	done, err := of(s, "one").Do(ctx, func(ctx context.Context) {
		var err error
		if inner, err = of(s, "two").Do(ctx, func(context.Context) { t.Error("the lease is taken") }); err != nil {
			t.Error(err)
		}
	})
	if err != nil || !done || inner {
		t.Errorf("done %t, meanwhile %t, %v", done, inner, err)
	}
	var mu sync.Mutex
	work := func(context.Context) {
		mu.Lock()
		both++
		mu.Unlock()
	}
	if done, err := of(s, "two").Do(ctx, work, func(ctx context.Context) { work(ctx) }); err != nil || !done || both != 2 {
		t.Errorf("done %t %d times: %v", done, both, err)
	}
	s.away.Store(true)
	if _, err := of(s, "one").Do(ctx, work); !errors.Is(err, errAway) {
		t.Errorf("%v", err)
	}
}

// Work ends by itself before another replica may take the lease, and begins again
// when the lease can be had.
func TestLost(t *testing.T) {
	for name, lose := range map[string]func(s *leases) error{
		"database away": func(s *leases) error {
			s.away.Store(true)
			return nil
		},
		"taken over": func(s *leases) error {
			ctx := context.Background()
			if err := s.Leases.ReleaseLease(ctx, "work", "one"); err != nil {
				return err
			}
			_, err := s.Leases.AcquireLease(ctx, "work", store.ClaimRequest{Owner: "two", Lease: span})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			began, ended := make(chan string, 10), make(chan string, 10)
			ctx, stop := context.WithCancel(context.Background())
			var group sync.WaitGroup
			group.Go(func() {
				of(s, "one").Run(ctx, func(ctx context.Context) {
					began <- "began"
					<-ctx.Done()
					ended <- fmt.Sprint(errors.Is(context.Cause(ctx), lease.ErrLost))
				})
			})
			within(t, "it works", began)
			if err := lose(s); err != nil {
				t.Fatal(err)
			}
			if got := within(t, "it ends", ended); got != "true" {
				t.Error("it ended for another reason")
			}
			s.away.Store(false)
			within(t, "it works again", began)
			stop()
			group.Wait()
			if got := within(t, "it ends", ended); got != "false" {
				t.Error("the lease was lost again")
			}
		})
	}
}

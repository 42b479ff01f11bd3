package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// longLease outlasts every test.
	longLease = time.Minute
	// shortLease is for tests that let one run out. It is long enough for a few
	// statements on a busy machine.
	shortLease = 300 * time.Millisecond
	// patience is how long a test waits for something that must happen.
	patience = 10 * time.Second
	// testTimeout ends a test whose store hangs.
	testTimeout = time.Minute
)

// reporter is how a test fails: a part of testing.TB that a property test has, too.
type reporter interface {
	Helper()
	Log(args ...any)
	Fatalf(format string, args ...any)
}

// fixture is one test's store with what the tests have in common. Its methods
// end the test when the store refuses what it must accept.
type fixture struct {
	store.Store
	reporter
	ctx     context.Context
	options Options
	now     time.Time
	serial  *atomic.Int64
}

func newFixture(tb testing.TB, o Options, s store.Store) *fixture {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	tb.Cleanup(cancel)
	return &fixture{
		Store: s, reporter: tb, ctx: ctx, options: o, serial: new(atomic.Int64),
		now: clock.Real().Now().UTC().Truncate(time.Millisecond),
	}
}

// at is a time after the start of the test.
func (f *fixture) at(d time.Duration) time.Time { return f.now.Add(d) }

// id returns a fresh id.
func (f *fixture) id(prefix string) string { return models.NewID(prefix) }

// key returns a fresh session key.
func (f *fixture) key() string {
	return fmt.Sprintf("agent:assistant:channel:any:scope:per_peer:api/default/peer-%d", f.serial.Add(1))
}

// ok ends the test on an error.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// fails ends the test unless err is the sentinel.
func (f *fixture) fails(err, sentinel error) {
	f.Helper()
	if !errors.Is(err, sentinel) {
		f.Fatalf("error is %v, want %v", err, sentinel)
	}
}

// equal compares what the store says with what it should say.
func equal[T any](f *fixture, what string, got, want T) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("%s is %+v, want %+v", what, got, want)
	}
}

// sameTime compares instants to the millisecond, which is what a store keeps.
func (f *fixture) sameTime(what string, got, want time.Time) {
	f.Helper()
	if !got.Truncate(time.Millisecond).Equal(want.Truncate(time.Millisecond)) {
		f.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// eventually polls until done holds.
func (f *fixture) eventually(what string, done func() bool) {
	f.Helper()
	deadline := clock.Real().Now().Add(patience)
	for !done() {
		if clock.Real().Now().After(deadline) {
			f.Fatalf("%s: not within %v", what, patience)
		}
		if err := clock.Sleep(f.ctx, clock.Real(), 10*time.Millisecond); err != nil {
			f.Fatalf("%s: %v", what, err)
		}
	}
}

// past returns when the clock that measures leases has moved on by d.
func (f *fixture) past(d time.Duration) {
	f.Helper()
	name := f.id("lease")
	held, err := f.AcquireLease(f.ctx, name, store.ClaimRequest{Owner: "first", Lease: d})
	f.ok(err)
	equal(f, "held", held, true)
	f.eventually("end of a lease", func() bool {
		held, err := f.AcquireLease(f.ctx, name, store.ClaimRequest{Owner: "second", Lease: longLease})
		f.ok(err)
		return held
	})
}

// claim is a claim request of an owner that stays.
func claim() store.ClaimRequest { return store.ClaimRequest{Owner: "replica-1", Lease: longLease} }

// dying is a claim request of an owner that is about to die.
func dying() store.ClaimRequest { return store.ClaimRequest{Owner: "replica-0", Lease: shortLease} }

func ids(inbounds []*models.Inbound) []string {
	out := make([]string, 0, len(inbounds))
	for _, in := range inbounds {
		out = append(out, in.ID)
	}
	return out
}

func contents(messages []*models.SessionMessage) []string {
	out := make([]string, 0, len(messages))
	for _, m := range messages {
		out = append(out, m.Content)
	}
	return out
}

// cancelled returns a context whose owner is gone.
func cancelled(f *fixture) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	return ctx, cancel
}

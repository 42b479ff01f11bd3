package storetest

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/store"
)

func leaseTests() []test {
	return []test{
		{"OneHolder", leaseOne},
		{"RunsOut", leaseRunsOut},
		{"OneHolderInARace", leaseRace},
		{"ClockOffset", clockOffset},
		{"PingAndDurable", pingAndDurable},
	}
}

func (f *fixture) acquire(name, owner string, d time.Duration) bool {
	f.Helper()
	held, err := f.AcquireLease(f.ctx, name, store.ClaimRequest{Owner: owner, Lease: d})
	f.ok(err)
	return held
}

func leaseOne(f *fixture) {
	equal(f, "first", f.acquire("sweep", "a", longLease), true)
	equal(f, "second", f.acquire("sweep", "b", longLease), false)
	equal(f, "in another case", f.acquire("sweep", "A", longLease), false)
	equal(f, "renewed", f.acquire("sweep", "a", longLease), true)
	equal(f, "another lease", f.acquire("Sweep", "b", longLease), true)
	f.ok(f.ReleaseLease(f.ctx, "sweep", "b")) // not his to give up
	equal(f, "second", f.acquire("sweep", "b", longLease), false)
	f.ok(f.ReleaseLease(f.ctx, "sweep", "a"))
	equal(f, "second", f.acquire("sweep", "b", longLease), true)
	f.ok(f.ReleaseLease(f.ctx, "unknown", "a"))
}

func leaseRunsOut(f *fixture) {
	equal(f, "first", f.acquire("job", "a", shortLease), true)
	equal(f, "renewed", f.acquire("job", "a", 2*shortLease), true)
	f.past(shortLease)
	equal(f, "second", f.acquire("job", "b", longLease), false)
	f.eventually("take-over of the lease", func() bool { return f.acquire("job", "b", longLease) })
	equal(f, "first", f.acquire("job", "a", longLease), false)
}

func leaseRace(f *fixture) {
	const racers = 8
	for round := range 5 {
		held := make([]bool, racers)
		errs := make([]error, racers)
		race(racers, func(i int) {
			c := store.ClaimRequest{Owner: fmt.Sprintf("replica-%d", i), Lease: longLease}
			held[i], errs[i] = f.AcquireLease(f.ctx, fmt.Sprintf("job-%d", round), c)
		})
		for _, err := range errs {
			f.ok(err)
		}
		won := 0
		for _, h := range held {
			if h {
				won++
			}
		}
		equal(f, "holders", won, 1)
	}
}

func clockOffset(f *fixture) {
	near, err := f.ClockOffset(f.ctx, f.now)
	f.ok(err)
	if near < -time.Second || near > patience {
		f.Fatalf("the database's clock is %v ahead", near)
	}
	behind, err := f.ClockOffset(f.ctx, f.at(-time.Hour))
	f.ok(err)
	if d := behind - time.Hour; d < -time.Second || d > patience {
		f.Fatalf("the database's clock is %v ahead of an hour ago", behind)
	}
}

func pingAndDurable(f *fixture) {
	f.ok(f.Ping(f.ctx))
	equal(f, "durable", f.Durable(), f.options.Durable)
}

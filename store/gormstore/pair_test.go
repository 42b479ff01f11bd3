package gormstore_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// sliceTime is how long each side of a pair runs before the other has its turn.
const sliceTime = 200 * time.Millisecond

// pairedRates are medians over many slices.
type pairedRates struct {
	raw, store float64 // operations per second
	// ratio is the median of store by raw, slice by slice.
	ratio float64
}

// compare runs two operations in short slices that alternate, so that whatever else
// the machine does hits both alike.
func compare(tb testing.TB, writers, pairs int, raw, store func(i int) error) pairedRates {
	tb.Helper()
	var raws, stores, ratios []float64
	for pair := range pairs {
		var r, s float64
		if pair%2 == 0 {
			r, s = rate(tb, writers, raw), rate(tb, writers, store)
		} else {
			s, r = rate(tb, writers, store), rate(tb, writers, raw)
		}
		raws, stores, ratios = append(raws, r), append(stores, s), append(ratios, s/r)
	}
	return pairedRates{raw: median(raws), store: median(stores), ratio: median(ratios)}
}

// rate runs an operation for one slice, in so many goroutines, each on sessions of its own.
func rate(tb testing.TB, writers int, do func(i int) error) float64 {
	tb.Helper()
	var wg sync.WaitGroup
	var done atomic.Int64
	errs := make([]error, writers)
	start := clock.Real().Now()
	for w := range writers {
		wg.Go(func() {
			for i := w; errs[w] == nil && clock.Real().Now().Sub(start) < sliceTime; i += writers {
				errs[w] = do(i)
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := clock.Real().Now().Sub(start)
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return float64(done.Load()) / took.Seconds()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

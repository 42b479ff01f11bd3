package live

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.FixedZone("CST", 8*3600))

func newFeed(t *testing.T) *Feed {
	t.Helper()
	return NewFeed("replica_1", clock.NewFake(start))
}

func watch(t *testing.T, f *Feed, filter Filter, after string) *Watcher {
	t.Helper()
	w, err := f.Watch(filter, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func next(t *testing.T, w *Watcher) Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	e, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// nothing checks that there is nothing to be had now.
func nothing(t *testing.T, w *Watcher) {
	t.Helper()
	if e, changed, err := w.take(); changed == nil {
		t.Errorf("got %+v, %v", e, err)
	}
}

// number makes the n-th of many events.
func number(n int) Event { return Event{Type: MessageState, InboundID: strconv.Itoa(n)} }

func TestFromNowOn(t *testing.T) {
	f := newFeed(t)
	f.Publish(number(0))
	w := watch(t, f, Filter{}, "")
	nothing(t, w)
	f.Publish(number(1))
	e := next(t, w)
	if e.InboundID != "1" || e.Replica != "replica_1" || !e.At.Equal(start) || e.At.Location() != time.UTC || e.ID == "" {
		t.Errorf("got %+v", e)
	}
	nothing(t, w)
}

func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed("replica_1", clock.Real())
		var all sync.WaitGroup
		for range 3 {
			w := watch(t, f, Filter{}, "")
			all.Go(func() {
				for i := range 2 {
					if e := next(t, w); e.InboundID != strconv.Itoa(i) {
						t.Errorf("got %+v, want %d", e, i)
					}
				}
			})
		}
		synctest.Wait()
		f.Publish(number(0))
		synctest.Wait()
		f.Publish(number(1))
		all.Wait()
	})
}

func TestFilter(t *testing.T) {
	f := newFeed(t)
	w := watch(t, f, Filter{Types: []Type{TurnStarted, TurnFinished}, SessionKey: "a"}, "")
	for _, e := range []Event{
		{Type: TurnStarted, SessionKey: "b"}, {Type: MessageState, SessionKey: "a"}, {Type: TurnFinished, SessionKey: "a"}, {Type: TurnStarted},
	} {
		f.Publish(e)
	}
	if e := next(t, w); e.Type != TurnFinished || e.SessionKey != "a" {
		t.Errorf("got %+v", e)
	}
	nothing(t, w)
}

func TestResume(t *testing.T) {
	f := newFeed(t)
	first := watch(t, f, Filter{}, "")
	for n := range 3 {
		f.Publish(number(n))
	}
	seen := next(t, first)
	again := watch(t, f, Filter{}, seen.ID)
	for n := 1; n < 3; n++ {
		if e := next(t, again); e.InboundID != strconv.Itoa(n) {
			t.Errorf("got %+v, want %d", e, n)
		}
	}
	nothing(t, again)
	// An id of another process, or none at all, begins with what is kept.
	for _, id := range []string{"0", "deadbeef.1", f.id(3), f.id(1 << 40), "x.-1"} {
		w := watch(t, f, Filter{}, id)
		if e := next(t, w); e.Type != Missed || e.Missed != 0 {
			t.Errorf("after %q: %+v", id, e)
		}
		if e := next(t, w); e.InboundID != "0" {
			t.Errorf("after %q: %+v", id, e)
		}
	}
}

func TestSlowWatcherMissesSome(t *testing.T) {
	f := newFeed(t)
	slow, quick := watch(t, f, Filter{}, ""), watch(t, f, Filter{}, "")
	for n := range kept + 7 {
		f.Publish(number(n))
		next(t, quick)
	}
	missed := next(t, slow)
	if missed.Type != Missed || missed.Missed != 7 || missed.At.IsZero() {
		t.Fatalf("got %+v", missed)
	}
	if e := next(t, slow); e.InboundID != "7" {
		t.Errorf("got %+v, want 7", e)
	}
	// Whoever comes back after that news has not missed them again.
	back := watch(t, f, Filter{}, missed.ID)
	if e := next(t, back); e.InboundID != "7" {
		t.Errorf("got %+v, want 7", e)
	}
	if len(f.ring) != kept || cap(f.ring) > 2*kept {
		t.Errorf("%d events are kept in room for %d", len(f.ring), cap(f.ring))
	}
	t.Logf("%d KiB of events", cap(f.ring)*int(unsafe.Sizeof(Event{}))>>10)
}

func TestBoundOfWatchers(t *testing.T) {
	f := newFeed(t)
	var all []*Watcher
	for range maxWatchers {
		all = append(all, watch(t, f, Filter{}, ""))
	}
	if _, err := f.Watch(Filter{}, ""); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	all[0].Close()
	all[0].Close()
	watch(t, f, Filter{}, "")
	if _, err := f.Watch(Filter{}, ""); !errors.Is(err, ErrFull) {
		t.Errorf("one closed twice made room for two: %v", err)
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed("replica_1", clock.Real())
		w := watch(t, f, Filter{}, "")
		f.Publish(number(0))
		var last sync.WaitGroup
		last.Go(func() {
			next(t, w)
			if _, err := w.Next(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("after the end: %v", err)
			}
		})
		synctest.Wait()
		f.Close()
		f.Publish(number(1))
		last.Wait()
		if _, err := f.Watch(Filter{}, ""); !errors.Is(err, ErrClosed) {
			t.Errorf("watch after the end: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		open := watch(t, NewFeed("replica_2", clock.Real()), Filter{}, "")
		if _, err := open.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("without its client: %v", err)
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	for _, watchers := range []int{0, 1, maxWatchers} {
		b.Run(strconv.Itoa(watchers)+" watchers", func(b *testing.B) {
			f := NewFeed("replica_1", clock.Real())
			ctx, cancel := context.WithCancel(context.Background())
			var all sync.WaitGroup
			for range watchers {
				w, err := f.Watch(Filter{}, "")
				if err != nil {
					b.Fatal(err)
				}
				all.Go(func() {
					for {
						if _, err := w.Next(ctx); err != nil {
							return
						}
					}
				})
			}
			e := Event{Type: TurnFinished, SessionKey: "agent:a:channel:b:scope:per_peer:c", InboundID: "inb_1", State: "done"}
			b.ReportAllocs()
			for b.Loop() {
				f.Publish(e)
			}
			cancel()
			all.Wait()
		})
	}
}

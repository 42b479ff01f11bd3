package gateway

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// summaryPause is how long after a failure turns do not try again by themselves. The
	// job waits twice as long after each further one, up to mostPause: nobody may ever
	// say anything there that helps, and each try costs.
	summaryPause = 5 * time.Minute
	mostPause    = 24 * time.Hour
	// maxFailures bounds the slots whose failure is remembered.
	maxFailures = 1000
)

// errSummaryStopped is the cause of a summary's end that somebody asked for.
var errSummaryStopped = errors.New("gateway: the summary was stopped")

// slotID names a slot of a session.
type slotID struct{ key, slot string }

// summaries are the compactions that run here, and which of them failed of late. A
// slot is summarised once at a time; other replicas may try the same, and find out
// when they commit.
type summaries struct {
	mu      sync.Mutex
	running map[slotID]*runningSummary
	failed  map[slotID]failure
}

// failure is when a slot failed last, and how often in a row.
type failure struct {
	at    time.Time
	times int
}

type runningSummary struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

func newSummaries() *summaries {
	return &summaries{running: map[slotID]*runningSummary{}, failed: map[slotID]failure{}}
}

// begin makes room for a summary, which ends with end. If one runs already, busy is
// closed once that has ended.
func (s *summaries) begin(ctx context.Context, id slotID) (_ context.Context, end func(), busy <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[id]; r != nil {
		return ctx, nil, r.done
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &runningSummary{cancel: cancel, done: make(chan struct{})}
	s.running[id] = r
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
		close(r.done)
	}, nil
}

// ended waits for the slot's running summary and reports whether it ended before ctx.
func (s *summaries) ended(ctx context.Context, id slotID) bool {
	s.mu.Lock()
	r := s.running[id]
	s.mu.Unlock()
	if r == nil {
		return true
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// runs reports whether a summary of the session is being made.
func (s *summaries) runs(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.running {
		if id.key == key {
			return true
		}
	}
	return false
}

// stop ends the summary of a session's slot; an empty one means all of them.
func (s *summaries) stop(key, slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.running {
		if id.key == key && (slot == "" || id.slot == slot) {
			r.cancel(errSummaryStopped)
		}
	}
}

// settle notes how a summary ended; one that was stopped says nothing about the next.
func (s *summaries) settle(id slotID, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failed, id)
		return
	}
	times := s.failed[id].times + 1
	for other, f := range s.failed {
		if now.Sub(f.at) >= mostPause {
			delete(s.failed, other)
		}
	}
	for other := range s.failed {
		if len(s.failed) < maxFailures {
			break
		}
		delete(s.failed, other) // any: so many fail only if all do
	}
	s.failed[id] = failure{now, times}
}

// paused reports whether the slot failed a short while ago.
func (s *summaries) paused(id slotID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, failed := s.failed[id]
	return failed && now.Sub(f.at) < summaryPause
}

// rests reports whether the slot failed so often of late that the job leaves it alone.
func (s *summaries) rests(id slotID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, failed := s.failed[id]
	if !failed {
		return false
	}
	pause := summaryPause
	for range f.times - 1 {
		if pause *= 2; pause >= mostPause {
			pause = mostPause
			break
		}
	}
	return now.Sub(f.at) < pause
}

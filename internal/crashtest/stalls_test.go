package crashtest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// machine measures how much of a second this machine loses: what is promised in
// seconds can be held against the gateway only for the time that it was given.
type machine struct {
	mu    sync.Mutex
	beats []beat
}

// beat is a small durable write: when it was to begin and by when it was done.
type beat struct{ due, done time.Time }

const beatEvery = 100 * time.Millisecond

func watchMachine(t *testing.T) *machine {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "beat"))
	if err != nil {
		t.Fatal(err)
	}
	m, stop := &machine{}, make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		for {
			due := time.Now().Add(beatEvery)
			select {
			case <-stop:
				return
			case <-time.After(beatEvery):
			}
			_, _ = file.WriteAt([]byte{1}, 0)
			_ = file.Sync()
			m.mu.Lock()
			m.beats = append(m.beats, beat{due, time.Now()})
			m.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		close(stop)
		beating.Wait()
		_ = file.Close()
	})
	return m
}

// lost returns how much time beats were late by, as far as they overlap a span.
func (m *machine) lost(from, to time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := time.Duration(0)
	for _, b := range m.beats {
		if b.done.After(from) && b.due.Before(to) {
			total += b.done.Sub(b.due)
		}
	}
	return total
}

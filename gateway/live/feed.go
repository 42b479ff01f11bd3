package live

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// kept is how many of the latest events a watcher can still get.
	kept = 512
	// maxWatchers bounds who follows at once.
	maxWatchers = 32
)

var (
	// ErrFull means that as many follow as may.
	ErrFull = errors.New("live: too many watchers")
	// ErrClosed means that nothing more will come.
	ErrClosed = errors.New("live: closed")
)

// Feed holds the latest events. All watchers read from its one buffer, each at its own
// pace: one that is too slow for it misses some, and nobody who publishes waits.
type Feed struct {
	replica string
	epoch   string // tells ids of this process from others'
	clock   clock.Clock

	mu       sync.Mutex
	ring     []Event       // event n is at n % kept
	next     uint64        // number of the next event
	changed  chan struct{} // closed by the next event; nil: nobody waits for it
	watchers int
	closed   bool
}

// NewFeed returns a feed without events. replica names the process in them.
func NewFeed(replica string, c clock.Clock) *Feed {
	return &Feed{replica: replica, epoch: uuid.NewString()[:8], clock: c}
}

// Publish tells that something happened, now and here.
func (f *Feed) Publish(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	e.At, e.Replica = f.clock.Now().UTC(), f.replica
	if len(f.ring) < kept {
		f.ring = append(f.ring, e)
	} else {
		f.ring[f.next%kept] = e
	}
	f.next++
	f.wake()
}

func (f *Feed) wake() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// Close ends all watching, at what was published before.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.wake()
}

func (f *Feed) id(n uint64) string { return f.epoch + "." + strconv.FormatUint(n, 10) }

// number reads an id of this feed.
func (f *Feed) number(id string) (uint64, bool) {
	epoch, text, _ := strings.Cut(id, ".")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && epoch == f.epoch && n < f.next
}

// oldest is the number of the oldest event that is kept.
func (f *Feed) oldest() uint64 { return f.next - uint64(len(f.ring)) }

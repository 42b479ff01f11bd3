package live

import (
	"context"
	"slices"
)

// Filter says which events are wanted; the zero value wants all.
type Filter struct {
	// Types are those wanted; none: all.
	Types []Type
	// SessionKey, when not empty, is the one session whose events are wanted.
	SessionKey string
}

func (f *Filter) wants(e *Event) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) && (f.SessionKey == "" || f.SessionKey == e.SessionKey)
}

// Watcher follows a feed. It is for one goroutine.
type Watcher struct {
	feed   *Feed
	filter Filter
	at     uint64 // the next event to look at
	lost   bool   // nobody knows how many were missed before it
	closed bool
}

// Watch follows a feed from now on or, if after is the id of an event, from the one
// behind it. An id that is none of this feed begins with all that is kept, and with
// the news that something may have been missed. Close the watcher.
func (f *Feed) Watch(filter Filter, after string) (*Watcher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, ErrClosed
	case f.watchers >= maxWatchers:
		return nil, ErrFull
	}
	f.watchers++
	w := &Watcher{feed: f, filter: filter, at: f.next}
	if after != "" {
		seen, ok := f.number(after)
		if w.at, w.lost = seen+1, !ok; !ok {
			w.at = f.oldest()
		}
	}
	return w, nil
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.feed.watchers--
	}
}

// Next returns the next event that is wanted, or what was missed before it, and waits
// for one to be published. [ErrClosed] if none will be.
func (w *Watcher) Next(ctx context.Context) (Event, error) {
	for {
		e, changed, err := w.take()
		if changed == nil {
			return e, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// take returns the next event, or what to wait for.
func (w *Watcher) take() (Event, <-chan struct{}, error) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if oldest := f.oldest(); w.lost || w.at < oldest {
		missed := Event{Type: Missed, At: f.clock.Now().UTC(), Replica: f.replica}
		if w.at < oldest && !w.lost {
			missed.Missed = oldest - w.at
		}
		w.at, w.lost = max(w.at, oldest), false
		if w.at > 0 {
			missed.ID = f.id(w.at - 1)
		}
		return missed, nil, nil
	}
	for w.at < f.next {
		e := &f.ring[w.at%kept]
		w.at++
		if w.filter.wants(e) {
			found := *e
			found.ID = f.id(w.at - 1)
			return found, nil, nil
		}
	}
	if f.closed {
		return Event{}, nil, ErrClosed
	}
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return Event{}, f.changed, nil
}

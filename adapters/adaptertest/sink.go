package adaptertest

import (
	"context"
	"sync"

	"github.com/chatkeep/chatkeep/adapters"
)

// Sink is an [adapters.Sink] that remembers what it was given. The zero value
// takes everything.
type Sink struct {
	mu       sync.Mutex
	err      error
	gate     <-chan struct{}
	messages []*adapters.Message
	contexts []context.Context
	events   []*adapters.Event
}

// Accept remembers m, waits while the sink is held, and returns the sink's error.
func (s *Sink) Accept(ctx context.Context, m *adapters.Message) error {
	s.mu.Lock()
	s.messages = append(s.messages, m)
	s.contexts = append(s.contexts, ctx)
	err, gate := s.err, s.gate
	s.mu.Unlock()
	return wait(ctx, gate, err)
}

// Notify remembers e, waits while the sink is held, and returns the sink's error.
func (s *Sink) Notify(ctx context.Context, e *adapters.Event) error {
	s.mu.Lock()
	s.events = append(s.events, e)
	err, gate := s.err, s.gate
	s.mu.Unlock()
	return wait(ctx, gate, err)
}

func wait(ctx context.Context, gate <-chan struct{}, err error) error {
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// FailWith makes every call from now on return err; nil mends the sink.
func (s *Sink) FailWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Hold makes every call from now on wait until release is called.
func (s *Sink) Hold() (release func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
	var once sync.Once
	return func() {
		once.Do(func() {
			s.mu.Lock()
			s.gate = nil
			s.mu.Unlock()
			close(gate)
		})
	}
}

// Messages returns what was accepted or tried, oldest first.
func (s *Sink) Messages() []*adapters.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*adapters.Message(nil), s.messages...)
}

// Events returns what was notified or tried, oldest first.
func (s *Sink) Events() []*adapters.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*adapters.Event(nil), s.events...)
}

// lastContext returns the context of the newest Accept.
func (s *Sink) lastContext() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contexts[len(s.contexts)-1]
}

// count tells how often a message reached the sink.
func (s *Sink) count(id string) int {
	n := 0
	for _, m := range s.Messages() {
		if m.ID == id {
			n++
		}
	}
	return n
}

package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

const (
	// pollEvery is how often the outcomes of all awaited messages are read, in one query.
	pollEvery = 200 * time.Millisecond
	// batch is the most messages that one query reads.
	batch = 1000
)

// Outcomes reads messages.
type Outcomes interface {
	InboundBatch(ctx context.Context, ids []string) ([]*models.Inbound, error)
	Inbound(ctx context.Context, id string) (*models.Inbound, error)
}

// Hub knows who waits for which message.
type Hub struct {
	inbox Outcomes
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	streams map[string]*stream // by inbound id
}

// stream is what is known of a message that somebody waits for.
type stream struct {
	watchers int
	text     []byte
	restarts int
	tools    []agents.ToolEvent
	done     *models.Inbound
	changed  chan struct{} // closed and replaced at every change
}

// NewHub returns a hub without watchers.
func NewHub(inbox Outcomes, c clock.Clock, log *slog.Logger) *Hub {
	return &Hub{inbox: inbox, clock: c, log: log, streams: map[string]*stream{}}
}

// Run looks for outcomes that other replicas brought about, until ctx ends.
func (h *Hub) Run(ctx context.Context) {
	for clock.Sleep(ctx, h.clock, pollEvery) == nil {
		open := h.open()
		for len(open) > 0 {
			n := min(len(open), batch)
			h.poll(ctx, open[:n])
			open = open[n:]
		}
	}
}

func (h *Hub) open() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	for id, s := range h.streams {
		if s.done == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (h *Hub) poll(ctx context.Context, ids []string) {
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := h.inbox.InboundBatch(bounded, ids)
	if err != nil {
		if ctx.Err() == nil {
			h.log.Error("awaited messages could not be read", "error", err)
		}
		return
	}
	for _, in := range rows {
		if in.State.Final() {
			h.Done(in)
		}
	}
}

// Emit passes on what an agent shows of the message's answer.
func (h *Hub) Emit(inboundID string, e agents.Event) {
	h.change(inboundID, func(s *stream) {
		switch {
		case e.Restart:
			s.restart()
		case e.Tool != nil:
			s.tools = append(s.tools, *e.Tool)
		default:
			s.text = append(s.text, e.Delta...)
		}
	})
}

// Done tells the outcome.
func (h *Hub) Done(in *models.Inbound) {
	h.change(in.ID, func(s *stream) { s.done = in })
}

// Reopened tells that a message runs again.
func (h *Hub) Reopened(inboundID string) {
	h.change(inboundID, func(s *stream) {
		s.done = nil
		s.restart()
	})
}

// restart voids what was shown, if anything was.
func (s *stream) restart() {
	if len(s.text) > 0 {
		s.text = nil
		s.restarts++
	}
}

func (h *Hub) change(id string, change func(*stream)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[id]
	if s == nil {
		return
	}
	change(s)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Watcher follows one message.
type Watcher struct {
	hub      *Hub
	id       string
	sent     int
	restarts int
	tools    int
	once     sync.Once
}

// Watch follows a message from what is known of it here, which for a message that
// was not watched before is nothing. Close the watcher.
func (h *Hub) Watch(inboundID string) *Watcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[inboundID]
	if s == nil {
		s = &stream{changed: make(chan struct{})}
		h.streams[inboundID] = s
	}
	s.watchers++
	return &Watcher{hub: h, id: inboundID}
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.once.Do(func() {
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		if s := w.hub.streams[w.id]; s != nil {
			if s.watchers--; s.watchers == 0 {
				delete(w.hub.streams, w.id)
			}
		}
	})
}

// Update is what is new since the last one.
type Update struct {
	// Restart voids all text so far.
	Restart bool
	Delta   string
	Tools   []agents.ToolEvent
	// Done is the message with its outcome; it comes last.
	Done *models.Inbound
}

// Next waits for news.
func (w *Watcher) Next(ctx context.Context) (Update, error) {
	for {
		u, changed, news := w.take()
		if news {
			return u, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Update{}, ctx.Err()
		}
	}
}

func (w *Watcher) take() (Update, <-chan struct{}, bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	s := w.hub.streams[w.id]
	var u Update
	if s.restarts != w.restarts {
		u.Restart, w.restarts, w.sent = true, s.restarts, 0
	}
	u.Delta, w.sent = string(s.text[w.sent:]), len(s.text)
	u.Tools, w.tools = append(u.Tools, s.tools[w.tools:]...), len(s.tools)
	if u.Delta == "" && len(u.Tools) == 0 && !u.Restart {
		u.Done = s.done
	}
	return u, s.changed, u.Restart || u.Delta != "" || len(u.Tools) > 0 || u.Done != nil
}

// Wait returns the message once it has its outcome.
func (w *Watcher) Wait(ctx context.Context) (*models.Inbound, error) {
	for {
		u, err := w.Next(ctx)
		if err != nil {
			return nil, err
		}
		if u.Done != nil {
			return w.hub.inbox.Inbound(ctx, w.id)
		}
	}
}

package dingtalk

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"
)

const (
	// laneCount is how many messages are stored at once. Those of one conversation
	// share a lane and keep their order, across connections too.
	laneCount = 16
	// laneLength is how many wait in a lane before the reader does.
	laneLength = 256
)

// lanes store the messages that connections read, and answer them.
type lanes struct {
	in     *intake
	log    *slog.Logger
	queues [laneCount]chan job
	group  sync.WaitGroup

	mu       sync.Mutex
	deadline time.Time // for what is still queued when Run ends
}

type job struct {
	conn *conn
	f    *frame
}

func newLanes(in *intake, log *slog.Logger) *lanes { return &lanes{in: in, log: log} }

// start begins to handle. After ctx ended what is queued is handled for as long as
// the intake has patience; the rest stays unanswered.
func (l *lanes) start(ctx context.Context) {
	for i := range l.queues {
		queue := make(chan job, laneLength)
		l.queues[i] = queue
		l.group.Go(func() {
			for j := range queue {
				if !l.late(ctx) {
					l.handle(j)
				}
				j.conn.pending.Done()
			}
		})
	}
}

// stop returns when everything taken is handled. Nothing may be taken any more.
func (l *lanes) stop() {
	for _, q := range l.queues {
		close(q)
	}
	l.group.Wait()
}

// take answers what needs no storing and queues the rest. It is called by readers.
func (l *lanes) take(c *conn, f *frame) {
	switch {
	case f.Type == frameSystem && f.Headers.Topic == topicPing:
		c.answer(f.ack(200, "OK", string(f.payload())))
	case f.Type == frameSystem && f.Headers.Topic == topicDisconnect:
		c.answer(f.ack(200, "OK", ""))
		c.markExpiring()
	case f.Type == frameSystem: // CONNECTED, REGISTERED and the like need no answer
	case f.Type == frameEvent:
		c.answer(f.ack(200, "OK", tookEvent))
	case f.Type == frameCallback && (f.Headers.Topic == topicMessage || f.Headers.Topic == topicCard):
		c.pending.Add(1)
		l.queues[laneOf(f.payload())] <- job{c, f}
	case f.Headers.MessageID != "":
		c.answer(f.ack(404, "no such topic", ""))
	}
}

func (l *lanes) late(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.in.clock.Now()
	if l.deadline.IsZero() {
		l.deadline = now.Add(l.in.patience)
	}
	return now.After(l.deadline)
}

func laneOf(data []byte) int {
	var key struct {
		ConversationID str `json:"conversationId"`
		OutTrackID     str `json:"outTrackId"`
	}
	_ = json.Unmarshal(data, &key) // what is no JSON goes to one lane
	h := fnv.New32a()
	h.Write([]byte(key.ConversationID + key.OutTrackID))
	return int(h.Sum32() % laneCount)
}

// handle answers only what is stored. To anything else silence is the answer: the
// platform delivers again what is not acknowledged in time.
func (l *lanes) handle(j job) {
	defer recovered(l.log, "handling a frame")
	ctx, id := context.Background(), string(j.f.Headers.MessageID)
	if j.f.Headers.Topic == topicCard {
		if e := cardEvent(j.f.payload(), id); e == nil || l.in.event(ctx, e) == nil {
			j.conn.answer(j.f.ack(200, "OK", tookCard))
		}
		return
	}
	if l.in.message(ctx, j.f.payload(), id) == nil {
		j.conn.answer(j.f.ack(200, "OK", tookMessage))
	}
}

package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/panics"
)

const (
	// storeTimeout bounds storing one event; the platform waits 3 s for its answer.
	storeTimeout = 2 * time.Second
	// chatLookup bounds asking what kind of chat a message is from before it is stored.
	chatLookup = 500 * time.Millisecond
	// intakeSlots bounds the events that are stored at the same time: a redelivery
	// burst comes as one goroutine per frame.
	intakeSlots = 64
)

var (
	errNotRunning = errors.New("the adapter is not running")
	errRunning    = errors.New("the adapter is running already")
	errPanicked   = errors.New("panic while handling an event")
)

// intake guards the sink: events are taken only while Run runs, and Run ends only
// after the events that it took.
type intake struct {
	slots chan struct{}

	mu      sync.Mutex
	sink    adapters.Sink
	pending sync.WaitGroup
}

func (in *intake) open(sink adapters.Sink) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sink != nil {
		return errRunning
	}
	in.sink = sink
	return nil
}

func (in *intake) close() {
	in.mu.Lock()
	in.sink = nil
	in.mu.Unlock()
	in.pending.Wait()
}

// enter returns the sink; leave must be called after its use.
func (in *intake) enter(ctx context.Context) (sink adapters.Sink, leave func(), err error) {
	in.mu.Lock()
	sink = in.sink
	if sink == nil {
		in.mu.Unlock()
		return nil, nil, errNotRunning
	}
	in.pending.Add(1)
	in.mu.Unlock()
	select {
	case in.slots <- struct{}{}:
		return sink, func() { <-in.slots; in.pending.Done() }, nil
	case <-ctx.Done():
		in.pending.Done()
		return nil, nil, fmt.Errorf("too many events at once: %w", ctx.Err())
	}
}

// handle takes one event, whatever transport it came over. A nil error means that
// it is stored, or that nothing in it is worth storing; after any other the
// platform must send it again. The answer is not nil for callbacks.
func (a *Adapter) handle(ctx context.Context, payload []byte) (reply *callback.CardActionTriggerResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.log.ErrorContext(ctx, "panic while handling an event", "panic", panics.Value(p))
			reply, err = nil, errPanicked
		}
	}()
	e, err := parseEnvelope(payload)
	if err != nil {
		a.log.WarnContext(ctx, "an event is dropped: it cannot be read", "bytes", len(payload))
		return nil, nil
	}
	// What was begun is finished even if the connection or the program ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	sink, leave, err := a.intake.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	a.sawEvent()
	switch e.Header.EventType {
	case eventMessage:
		err = a.acceptMessage(ctx, sink, e)
	case eventCardAction:
		reply, err = a.cardAction(ctx, sink, e)
	default:
		err = a.notify(ctx, sink, e)
	}
	if errors.Is(err, errNoEvent) {
		a.log.WarnContext(ctx, "an event is dropped: it cannot be read", "type", clip(e.Header.EventType, 80), "event", clip(e.Header.EventID, 80), "error", err)
		return reply, nil
	}
	if err != nil {
		a.log.ErrorContext(ctx, "an event is not stored and will come again", "type", e.Header.EventType, "event", e.Header.EventID, "error", err)
	}
	return reply, err
}

func (a *Adapter) acceptMessage(ctx context.Context, sink adapters.Sink, e *envelope) error {
	event, err := parseMessage(e.Event)
	if err != nil {
		return err
	}
	topic := event.needsTopic() && a.isTopicChat(ctx, event.Message.ChatID)
	m, err := decodeMessage(e.Header.EventID, event, a.selfID(), topic)
	if errors.Is(err, errOwnMessage) {
		return nil
	}
	if err != nil {
		return err
	}
	if m.SentAt.IsZero() {
		m.SentAt = e.Header.CreateTime.Time
	}
	if m.SentAt.IsZero() {
		m.SentAt = a.clock.Now().UTC()
	}
	return sink.Accept(ctx, m)
}

// isTopicChat reports whether a chat consists of topics. What cannot be learned
// in time counts as an ordinary group.
func (a *Adapter) isTopicChat(ctx context.Context, chatID string) bool {
	ctx, cancel := context.WithTimeout(ctx, chatLookup)
	defer cancel()
	info, err := a.chats.get(ctx, chatID)
	return err == nil && info.topic
}

// decodeEvent reads the body of an event.
func decodeEvent[T any](e *envelope) (T, error) {
	var event T
	var strange *json.UnmarshalTypeError
	if err := json.Unmarshal(e.Event, &event); err != nil && !errors.As(err, &strange) {
		return event, fmt.Errorf("decode event: %w", errNoEvent)
	}
	return event, nil
}

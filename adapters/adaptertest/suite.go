package adaptertest

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// patience is how long the suite waits for what must happen.
const patience = 10 * time.Second

// Run runs the whole suite. known are goroutines that a library leaves behind and
// that nothing can end.
func Run(t *testing.T, setup Setup, known ...goleak.Option) {
	tests := []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"ack follows accept", ackFollowsAccept},
		{"ack within a second", ackWithinASecond},
		{"sink error means no ack", sinkErrorMeansNoAck},
		{"redelivery keeps the message id", redeliveryKeepsID},
		{"accept outlives the end of Run", acceptOutlivesRun},
		{"messages survive JSON", messagesSurviveJSON},
		{"mentions decide groups", directAndGroup},
		{"many chats at once", manyChats},
		{"garbage does no harm", garbage},
		{"forgeries are refused", forgeries},
		{"status", status},
		{"pieces are sendable", piecesAreSendable},
		{"an empty answer has no pieces", emptyAnswer},
		{"render is pure", renderIsPure},
		{"send errors are classified", sendErrors},
		{"a repeated send shows once", repeatedSend},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			h := setup(t)
			b := &bench{t: t, Harness: h, sink: &Sink{}}
			defer func() {
				b.stop()
				h.Close()
				if err := goleak.Find(append(known, before)...); err != nil && !t.Failed() {
					t.Errorf("goroutines are left: %v", err)
				}
			}()
			b.start()
			test.run(t, b)
		})
	}
}

// bench is a running adapter.
type bench struct {
	Harness
	t      *testing.T
	sink   *Sink
	cancel context.CancelFunc
	done   chan error
}

func (b *bench) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.done = cancel, make(chan error, 1)
	go func() { b.done <- b.Adapter.Run(ctx, b.sink) }()
	b.until("the adapter is connected", func() bool { return b.Adapter.Status().Connected })
}

// stop ends the adapter, which must return nil soon. Repeating it does nothing.
func (b *bench) stop() {
	b.t.Helper()
	if b.cancel == nil {
		return
	}
	b.cancel()
	b.cancel = nil
	select {
	case err := <-b.done:
		if err != nil {
			b.t.Errorf("Run returned %v after its context ended, want nil", err)
		}
	case <-time.After(patience):
		b.t.Error("Run did not return after its context ended")
	}
}

// until waits for a condition.
func (b *bench) until(what string, condition func() bool) {
	b.t.Helper()
	if !eventually(patience, condition) {
		b.t.Fatalf("waited in vain until %s", what)
	}
}

func eventually(limit time.Duration, condition func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			return condition()
		case <-tick.C:
		}
	}
	return true
}

// stays checks that a condition holds for a while.
func (b *bench) stays(what string, condition func() bool) {
	b.t.Helper()
	if eventually(200*time.Millisecond, func() bool { return !condition() }) {
		b.t.Fatalf("it is not so that %s", what)
	}
}

func message(id string) Message {
	return Message{ID: id, ChatID: "oc_direct_1", SenderID: "ou_person_1", Text: "hello", Direct: true}
}

// received pushes a message and returns it as the sink got it.
func (b *bench) received(m Message) *adapters.Message {
	b.t.Helper()
	b.Platform.Push(m)
	var got *adapters.Message
	b.until("the sink has message "+m.ID, func() bool {
		for _, candidate := range b.sink.Messages() {
			if candidate.ID == m.ID {
				got = candidate
			}
		}
		return got != nil
	})
	return got
}

// Delivery returns a delivery of text as answer to m.
func Delivery(m *adapters.Message, id, text string) *models.Delivery {
	return &models.Delivery{
		ID:        id,
		InboundID: "inb_" + m.ID,
		Target:    Target(m),
		Text:      text,
		Kind:      models.DeliveryAnswer,
		Part:      1,
		Parts:     1,
	}
}

// Target returns where the answer to m goes, as the gateway fixes it.
func Target(m *adapters.Message) models.Target {
	return models.Target{
		ChatID:   m.Chat.ID,
		UserID:   m.Sender.ID,
		ThreadID: m.Chat.ThreadID,
		ReplyTo:  m.ID,
		Direct:   m.Chat.Type == adapters.Direct,
		Ref:      m.Ref,
	}
}

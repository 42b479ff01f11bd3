package dingtalk

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an adapter with its platform.
type bench struct {
	t        *testing.T
	platform *dingtalktest.Server
	adapter  *Adapter
	sink     *sink
	clock    *clock.Fake // nil unless asked for
}

type setup struct {
	platform dingtalktest.Options
	config   Config
	fake     bool // drive adapter and platform by a fake clock
}

// quick are waits that let a test run through what takes minutes.
var quick = Timing{
	Ping: 20 * time.Millisecond, ReconnectMin: time.Millisecond, ReconnectMax: 20 * time.Millisecond,
	CardPace: time.Nanosecond,
}

func newBench(t *testing.T, s setup) *bench {
	t.Helper()
	b := &bench{t: t, sink: &sink{seen: map[string]int{}}}
	deps := Deps{Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}
	if s.fake {
		b.clock = clock.NewFake(time.Date(2026, 10, 15, 9, 0, 0, 0, time.UTC))
		deps.Clock, s.platform.Clock = b.clock, b.clock
	}
	platform, err := dingtalktest.New(s.platform)
	if err != nil {
		t.Fatal(err)
	}
	b.platform = platform
	s.config.Account = "main"
	s.config.ClientID, s.config.ClientSecret = platform.ClientID(), platform.ClientSecret()
	if s.config.BaseURL == "" {
		s.config.BaseURL = platform.URL()
	}
	if s.config.OAPIBaseURL == "" {
		s.config.OAPIBaseURL = platform.URL()
	}
	if s.config.Timing == (Timing{}) {
		s.config.Timing = quick
	}
	transport := &http.Transport{}
	deps.API, deps.Downloads = &http.Client{Transport: transport}, &http.Client{Transport: transport}
	b.adapter, err = New(s.config, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		platform.Close()
		transport.CloseIdleConnections()
	})
	return b
}

// run starts the adapter and waits for the connection; it stops with the test.
func (b *bench) run() (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.adapter.Run(ctx, b.sink) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					b.t.Errorf("Run: %v", err)
				}
			case <-time.After(20 * time.Second):
				b.t.Error("Run does not return")
			}
		})
	}
	b.t.Cleanup(stop)
	b.until("the adapter is connected, and the platform knows it", func() bool {
		return b.adapter.Status().Connected && (b.adapter.cfg.Mode == ModeWebhook || b.platform.Connections() > 0)
	})
	return stop
}

// until waits for a condition.
func (b *bench) until(what string, condition func() bool) {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			b.t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

// received sends a message and returns it as the sink got it.
func (b *bench) received(in dingtalktest.Inbound) *adapters.Message {
	b.t.Helper()
	id := b.platform.Send(in)
	b.until("the message is acknowledged", func() bool { return len(b.platform.Acks(id)) > 0 })
	return b.sink.get(id)
}

// replyTo is a delivery that answers m.
func replyTo(m *adapters.Message, text string) *models.Delivery {
	return &models.Delivery{
		ID: "dlv_" + m.ID, InboundID: "inb_" + m.ID, Text: text, Kind: models.DeliveryAnswer, Part: 1, Parts: 1,
		Target: models.Target{
			ChatID: m.Chat.ID, UserID: m.Sender.ID, ReplyTo: m.ID, Direct: m.Chat.Type == adapters.Direct, Ref: m.Ref,
		},
	}
}

func (b *bench) send(d *models.Delivery) (adapters.Sent, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	return b.adapter.Send(ctx, d)
}

// last returns the newest message of a chat that the robot wrote.
func (b *bench) last(chat string) dingtalktest.Message {
	b.t.Helper()
	all := b.platform.Messages(chat)
	for _, m := range slices.Backward(all) {
		if m.User == "" {
			return m
		}
	}
	b.t.Fatal("the robot wrote nothing")
	return dingtalktest.Message{}
}

// sink takes each message once and counts how often it came, as the gateway's does.
type sink struct {
	mu       sync.Mutex
	seen     map[string]int
	messages []*adapters.Message
	events   []*adapters.Event
	fail     error
}

func (s *sink) Accept(ctx context.Context, m *adapters.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	if s.seen[m.ID]++; s.seen[m.ID] == 1 {
		s.messages = append(s.messages, m)
	}
	return nil
}

func (s *sink) Notify(_ context.Context, e *adapters.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	return s.fail
}

func (s *sink) get(id string) *adapters.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (s *sink) all() []*adapters.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*adapters.Message(nil), s.messages...)
}

func (s *sink) failWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func kindOfErr(err error) adapters.SendErrorKind {
	if err == nil {
		return ""
	}
	return adapters.SendErrorOf(err).Kind
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(context.Background())
}

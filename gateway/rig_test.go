package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// lease is short enough to wait for, and long enough for a busy machine to renew.
const lease = 2 * time.Second

// rig is a gateway with one account of a platform, one agent and a store in memory.
type rig struct {
	t        *testing.T
	config   gateway.Config
	settings gateway.Settings
	chat     gateway.ChatSettings
	store    store.Store
	platform *platform
	mind     *mind
	gateway  *gateway.Gateway
	options  []gateway.Option
	known    func(channel string) bool // further channels; nil: none
	clock    clock.Clock
}

// newRig makes a rig that is not running; change what it is like before [rig.start].
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		t: t, platform: newPlatform(), mind: newMind(), clock: clock.Real(),
		config: gateway.Config{Owner: "replica", Lease: lease, Workers: 16, Grace: 5 * time.Second},
		chat: gateway.ChatSettings{
			Agent: "assistant", RequireMention: true, Observe: true, Streaming: true, WorkingSign: true, Language: "en",
			Access: access.Policy{Direct: access.Open, Groups: access.Open},
		},
	}
	r.settings = gateway.Settings{
		Agents:   map[string]gateway.Agent{"assistant": {ID: "assistant", Agent: r.mind, Timeout: 30 * time.Second, ContextWindow: 100_000}},
		Queue:    gateway.Queue{Mode: gateway.Followup},
		Observed: gateway.Observed{MaxMessages: 50}, MaxMessages: 100, MaxTokens: 100_000, Location: time.UTC,
	}
	r.open(nil)
	return r
}

// open replaces the store by an empty one that reports to an observer.
func (r *rig) open(o gormstore.Observer) {
	r.t.Helper()
	s, err := gormstore.Open(context.Background(), gormstore.Config{
		Driver: gormstore.SQLite, DSN: gormstore.Memory, Migrate: true, Observer: o,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.t.Errorf("close store: %v", err)
		}
	})
	r.store = s
}

// start runs the gateway until the end of the test.
func (r *rig) start() *rig {
	r.t.Helper()
	drain := r.run()
	r.t.Cleanup(func() {
		r.mind.release()
		if err := <-drain(); err != nil {
			r.t.Errorf("Run: %v", err)
		}
	})
	return r
}

// run runs the gateway until drain is called, which returns how it ended.
func (r *rig) run() (drain func() <-chan error) {
	r.t.Helper()
	r.make()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.gateway.Run(ctx) }()
	r.until("the gateway works", func() bool { return r.gateway.Ready() && r.platform.connected() })
	return func() <-chan error {
		cancel()
		return done
	}
}

// make makes the gateway without running it: it accepts, and starts nothing by itself.
func (r *rig) make() {
	r.t.Helper()
	r.settings.Chat = func(channel, account, _ string) (gateway.ChatSettings, bool) {
		return r.chat, (channel == r.platform.Channel() || r.known != nil && r.known(channel)) && account == r.platform.Account()
	}
	g, err := gateway.New(r.config, r.settings, r.store, []adapters.Adapter{r.platform}, r.clock, slog.New(slog.DiscardHandler), r.options...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.gateway = g
}

// until waits for a condition.
func (r *rig) until(what string, condition func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			r.t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

// said is a message in the group that most tests play in.
func said(id, user, text string) *adapters.Message {
	return &adapters.Message{
		ID: id, EventID: "event-" + id, Text: text, Mentioned: true, SentAt: time.Now(),
		Chat: adapters.Chat{ID: "group", Type: adapters.Group}, Sender: adapters.Sender{ID: user, Name: "Name of " + user},
	}
}

// say delivers a message as the platform would.
func (r *rig) say(m *adapters.Message) {
	r.t.Helper()
	if err := r.accept(m, func(*gateway.Incoming) {}); err != nil {
		r.t.Fatalf("accept %s: %v", m.ID, err)
	}
}

func (r *rig) accept(m *adapters.Message, change func(*gateway.Incoming)) error {
	in := &gateway.Incoming{Channel: r.platform.Channel(), Account: r.platform.Account(), Message: m}
	change(in)
	_, err := r.gateway.Accept(context.Background(), in)
	return err
}

// event delivers anything else that happens on the platform.
func (r *rig) event(e *adapters.Event) {
	r.t.Helper()
	if err := r.platform.events().Notify(context.Background(), e); err != nil {
		r.t.Fatalf("notify %s: %v", e.Kind, err)
	}
}

// inbound returns what is stored of a message.
func (r *rig) inbound(id string) *models.Inbound {
	r.t.Helper()
	in, err := r.store.FindInbound(context.Background(), gateway.MessageKey(r.platform.Channel(), r.platform.Account(), id))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// ends waits until a message has its outcome, which must be state.
func (r *rig) ends(id string, state models.InboundState) *models.Inbound {
	r.t.Helper()
	var in *models.Inbound
	r.until(id+" has its outcome", func() bool {
		in = r.inbound(id)
		return in != nil && in.State.Final()
	})
	if in.State != state {
		r.t.Fatalf("%s is %s (%s %s), want %s", id, in.State, in.Code, in.Error, state)
	}
	return in
}

// fetched is what becomes of a message whose answer is fetched.
func (r *rig) fetched(id, said string) (in *models.Inbound) {
	r.t.Helper()
	if err := r.accept(whisper(id, "ann", said), func(in *gateway.Incoming) { in.Pulled, in.Awaited = true, true }); err != nil {
		r.t.Fatal(err)
	}
	r.until(id+" has its outcome", func() bool {
		items, _, err := r.store.ListInbound(context.Background(), store.InboundQuery{Limit: 50})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, item := range items {
			if item.PlatformMessageID == id && item.State.Final() {
				in = item
			}
		}
		return in != nil
	})
	return in
}

// running waits until the agent works on a text.
func (r *rig) running(text string) {
	r.t.Helper()
	r.until("the agent works on "+text, func() bool { return r.mind.working(text) })
}

// delivered waits until nothing is left to send and returns all that people see.
func (r *rig) delivered() []string {
	r.t.Helper()
	r.until("everything is sent", func() bool {
		return !slices.ContainsFunc(r.deliveries(), func(d *models.Delivery) bool {
			return d.State == models.DeliveryPending || d.State == models.DeliverySending
		})
	})
	return r.platform.screen()
}

// deliveries returns all of them, newest first. A list is read state by state and
// may miss what moves meanwhile: it counts once it is the same twice.
func (r *rig) deliveries() []*models.Delivery {
	r.t.Helper()
	before := "not read yet"
	for {
		all, _, err := r.store.ListDeliveries(context.Background(), store.DeliveryQuery{Limit: 100})
		if err != nil {
			r.t.Fatal(err)
		}
		now := ""
		for _, d := range all {
			now += d.ID + " " + string(d.State) + "\n"
		}
		if now == before {
			return all
		}
		before = now
	}
}

// history returns what is stored of the session of a message, as "role text" lines.
func (r *rig) history(id string) []string {
	r.t.Helper()
	in := r.inbound(id)
	messages, err := r.store.Messages(context.Background(), in.SessionKey, in.Slot, 0, 100)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.t.Fatal(err)
	}
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s %s", m.Role, m.Content))
	}
	return out
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
		t.Errorf("%s:\n\t%s\nwant:\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// mind is the agent: it answers "re: " and what was said, unless told otherwise.
// Texts with the word hold wait until [mind.release].
type mind struct {
	mu       sync.Mutex
	requests []*agents.Request
	active   map[string]int
	respond  func(ctx context.Context, req *agents.Request) (*agents.Response, error)
	gate     chan struct{}
}

const hold = "hold"

func newMind() *mind {
	return &mind{active: map[string]int{}, gate: make(chan struct{})}
}

func (m *mind) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.gate:
	default:
		close(m.gate)
	}
}

// does sets what becomes of the turns that are not over yet.
func (m *mind) does(respond func(context.Context, *agents.Request) (*agents.Response, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.respond = respond
}

// Respond answers one turn.
func (m *mind) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	m.active[req.Text]++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.active[req.Text]--
		m.mu.Unlock()
	}()
	if strings.Contains(req.Text, hold) {
		emit(agents.Event{Delta: "re: "})
		select {
		case <-m.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	respond := m.respond
	m.mu.Unlock()
	if respond != nil {
		return respond(ctx, req)
	}
	return answer("re: " + req.Text), nil
}

func answer(text string) *agents.Response {
	return &agents.Response{
		Messages: []*models.SessionMessage{{Role: models.RoleAssistant, Content: text}}, FinishReason: "stop",
	}
}

func (m *mind) working(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active[text] > 0
}

// asked returns what the agent was asked, turn by turn.
func (m *mind) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, r := range m.requests {
		out = append(out, r.Text)
	}
	return out
}

// last returns the latest request.
func (m *mind) last() *agents.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[len(m.requests)-1]
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/memstore"
)

const (
	account = "main"
	// patience is how long a test waits for what must happen.
	patience = 60 * time.Second
	// lease is short enough to wait for, and long enough for a busy machine to renew.
	lease = 3 * time.Second
	// grace is how long a replica that stops waits for turns that run.
	grace = 200 * time.Millisecond
)

// world is one platform with a model server and a store, between which any
// number of replicas may work.
type world struct {
	t       *testing.T
	model   *agenttest.Server
	store   store.Store
	chat    gateway.ChatSettings
	queue   gateway.Queue
	http    *http.Client
	channel string
	// adapter makes the platform's adapter for one more replica.
	adapter func() (adapters.Adapter, error)
	// changed is closed at the next change on the platform.
	changed func() <-chan struct{}
	// connections counts the connections that the platform sees.
	connections func() int

	agent    gateway.Agent
	started  int
	replicas int // that run
}

// replica is one gateway at work.
type replica struct {
	gateway *gateway.Gateway
	adapter adapters.Adapter
	stop    func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{
		t: t, model: agenttest.NewServer(agenttest.ServerOptions{}), store: memstore.New(),
		http: &http.Client{Transport: &http.Transport{}},
		chat: gateway.ChatSettings{
			Agent: "assistant", RequireMention: true, Observe: true, Language: "en",
			Access: access.Policy{Direct: access.Open, Groups: access.Open},
		},
		queue: gateway.Queue{Mode: gateway.Followup},
	}
	closing(t, w.store)
	base := w.model.Start(t)
	t.Cleanup(w.http.CloseIdleConnections)
	agent, err := openai.New(openai.Config{BaseURL: base, Model: "test-model", Images: true, RetryBudget: -1}, w.http, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	w.agent = gateway.Agent{ID: "assistant", Agent: agent, Timeout: time.Minute, ContextWindow: 100_000, Images: true}
	return w
}

func closing(t *testing.T, s store.Store) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
}

// openMySQL returns two stores on one database, as two replicas have them.
func openMySQL(t *testing.T) (one, other store.Store) {
	t.Helper()
	dsn := testmysql.DSN(t)
	one, other = open(t, gormstore.MySQL, dsn), open(t, gormstore.MySQL, dsn)
	closing(t, one)
	closing(t, other)
	return one, other
}

func open(t *testing.T, driver gormstore.Driver, dsn string) store.Store {
	t.Helper()
	s, err := gormstore.Open(context.Background(), gormstore.Config{Driver: driver, DSN: dsn, Migrate: true, MaxOpenConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs one more replica on the world's store until it is stopped, at the
// latest with the test.
func (w *world) start() *replica {
	w.t.Helper()
	return w.startOn(w.store)
}

func (w *world) startOn(s store.Store) *replica {
	w.t.Helper()
	adapter, err := w.adapter()
	if err != nil {
		w.t.Fatal(err)
	}
	w.started++
	settings := gateway.Settings{
		Agents: map[string]gateway.Agent{"assistant": w.agent},
		Chat: func(channel, name, _ string) (gateway.ChatSettings, bool) {
			return w.chat, channel == w.channel && name == account
		},
		Queue: w.queue, Observed: gateway.Observed{MaxMessages: 50}, MaxMessages: 100, MaxTokens: 100_000, Location: time.UTC,
	}
	cfg := gateway.Config{Owner: fmt.Sprintf("replica-%d", w.started), Lease: lease, Workers: 64, Grace: grace}
	g, err := gateway.New(cfg, settings, s, []adapters.Adapter{adapter}, clock.Real(), slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	r := &replica{gateway: g, adapter: adapter}
	r.stop = sync.OnceFunc(func() {
		cancel()
		w.replicas--
		select {
		case err := <-done:
			if err != nil {
				w.t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			w.t.Error("Run does not return")
		}
	})
	w.t.Cleanup(r.stop)
	w.replicas++
	w.until("the replica is connected", func() bool {
		return g.Ready() && adapter.Status().Connected && w.connections() >= w.replicas
	})
	return r
}

// until waits for a condition on what the platform shows.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	w.wait(what, condition, w.changed)
}

// stored waits for a condition on what the store holds. It tells of no changes, and
// is not asked at each of the platform's.
func (w *world) stored(what string, condition func() bool) {
	w.t.Helper()
	w.wait(what, condition, func() <-chan struct{} { return nil })
}

func (w *world) wait(what string, condition func() bool, changed func() <-chan struct{}) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		next := changed()
		if condition() {
			return
		}
		select {
		case <-next:
		case <-look.C:
		case <-deadline.C:
			w.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// settled waits until no message waits for its outcome and nothing for being sent.
func (w *world) settled() {
	w.t.Helper()
	quiet := 0
	// Twice in a row: a turn that ends between two of the counts adds what it has to say.
	w.stored("everything is answered and sent", func() bool {
		stats, err := w.store.Stats(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		quiet++
		if stats.Inbound["received"]+stats.Inbound["running"]+stats.Deliveries["pending"]+stats.Deliveries["sending"] > 0 {
			quiet = 0
		}
		return quiet == 2
	})
}

// lost fails the test if a delivery was given up.
func (w *world) lost() {
	w.t.Helper()
	stats, err := w.store.Stats(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	if n := stats.Deliveries["dead"] + stats.Deliveries["failed"]; n > 0 {
		w.t.Errorf("%d deliveries were given up: %v", n, stats.Deliveries)
	}
}

// inbound returns what is stored of a message; nil if nothing is.
func (w *world) inbound(messageID string) *models.Inbound {
	w.t.Helper()
	in, err := w.store.FindInbound(context.Background(), gateway.MessageKey(w.channel, account, messageID))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// ends waits until a message has its outcome, which must be state.
func (w *world) ends(messageID string, state models.InboundState) {
	w.t.Helper()
	var in *models.Inbound
	w.stored(messageID+" has its outcome", func() bool {
		in = w.inbound(messageID)
		return in != nil && in.State.Final()
	})
	if in.State != state {
		w.t.Errorf("%s is %s (%s %s), want %s", messageID, in.State, in.Code, in.Error, state)
	}
}

// deliveries returns what is stored of all that was to be sent.
func (w *world) deliveries() []*models.Delivery {
	w.t.Helper()
	all, _, err := w.store.ListDeliveries(context.Background(), store.DeliveryQuery{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// asked waits until the model got its n-th request and returns that.
func (w *world) asked(n int) *agenttest.ChatRequest {
	w.t.Helper()
	w.stored(fmt.Sprintf("the model is asked %d times", n), func() bool { return len(w.model.Requests()) >= n })
	return w.model.Requests()[n-1]
}

// prompt returns all texts of a request.
func prompt(r *agenttest.ChatRequest) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Role + ": " + m.Text() + "\n")
	}
	return b.String()
}

// hold makes the model think until the returned function is called.
func (w *world) hold() (release func()) {
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	w.t.Cleanup(release)
	w.model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		<-gate
		return agenttest.Echo(r)
	})
	return release
}

// silent is a model that shows some words and says no more.
func silent() agenttest.Reply {
	return agenttest.Reply{Text: "some words and never the rest of them", ChunkRunes: 5, Fault: agenttest.FaultSilence, After: 2}
}

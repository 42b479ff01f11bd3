package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/echo"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

// Tokens of the test's accounts.
const (
	adminToken = "admin-canary-7f3a"
	teamToken  = "team-canary-91bc"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// world is a whole gateway behind a real HTTP server.
type world struct {
	t       *testing.T
	url     string
	client  *http.Client
	gateway *gateway.Gateway
	store   store.Store
	model   *agenttest.Server
	gate    *gate
	channel *fakeChannel
	metrics *telemetry.Metrics
	log     *syncBuffer
	handler http.Handler
	doc     *document
}

// options change a world.
type options struct {
	http     func(*httpapi.Config)
	settings func(*gateway.Settings)
	chat     func(*gateway.ChatSettings)
	server   func(*http.Server)
	gateway  []gateway.Option
	echo     echo.Config
	stopped  bool // the gateway does not run
	tracer   *tracing.Tracer
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	st := memstore.New()
	t.Cleanup(func() { _ = st.Close() })
	w := &world{
		t: t, store: st, model: agenttest.NewServer(agenttest.ServerOptions{}), channel: &fakeChannel{},
		metrics: telemetry.New("test", clock.Real()), log: &syncBuffer{},
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.gate = newGate(w.model)
	modelServer := httptest.NewServer(w.gate)
	t.Cleanup(func() {
		modelServer.CloseClientConnections()
		modelServer.Close()
	})
	model, err := openai.New(openai.Config{BaseURL: modelServer.URL + "/v1", Model: "test-model", RetryBudget: -1}, modelServer.Client(), clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	settings := gateway.Settings{
		Agents: map[string]gateway.Agent{
			"assistant": {ID: "assistant", Agent: echo.New(o.echo, clock.Real()), Timeout: time.Minute},
			"model":     {ID: "model", Agent: model, Timeout: time.Minute, SystemPrompt: "You are at work. {{now}}"},
			"hasty":     {ID: "hasty", Agent: model, Timeout: 50 * time.Millisecond},
			"tiny":      {ID: "tiny", Agent: model, Timeout: time.Minute, ContextWindow: 200},
		},
		Chat: func(channel, account, _ string) (gateway.ChatSettings, bool) {
			c := gateway.ChatSettings{
				Agent: "assistant", RequireMention: true, Observe: true,
				Access: access.Policy{Direct: access.Open, Groups: access.Open, DenyUsers: []string{"eve"}},
			}
			if account == "work" {
				c.Agent = "model"
			}
			if o.chat != nil {
				o.chat(&c)
			}
			return c, channel == "api" || channel == "fake" && account == "main"
		},
		Observed: gateway.Observed{MaxMessages: 10}, MaxMessages: 50, MaxTokens: 100_000, MaxInboundBytes: 10_000,
		Location: time.UTC,
	}
	if o.settings != nil {
		o.settings(&settings)
	}
	w.gateway, err = gateway.New(gateway.Config{Owner: "test", Lease: 5 * time.Second, Workers: 8, Grace: 5 * time.Second},
		settings, st, []adapters.Adapter{w.channel}, clock.Real(), log, append(o.gateway, gateway.WithMetrics(w.metrics), gateway.WithTracer(o.tracer))...)
	if err != nil {
		t.Fatal(err)
	}
	if !o.stopped {
		w.run()
	}
	cfg := httpapi.Config{
		AdminToken: adminToken, MaxBody: 64 << 10, Version: "test", CheckURL: dial.New(dial.Policy{}).CheckURL,
		Accounts: []httpapi.Account{{Name: "default"}, {Name: "team", Tokens: []string{teamToken, "second"}}, {Name: "work", Tokens: []string{"work-token"}}},
		Agents:   []httpapi.AgentInfo{{ID: "assistant", Kind: "echo"}, {ID: "model", Kind: "openai", Model: "test-model"}, {ID: "hasty"}, {ID: "tiny"}},
		Redacted: func() ([]byte, error) { return []byte(`{"server":{"adminToken":"***"}}`), nil },
	}
	if o.http != nil {
		o.http(&cfg)
	}
	h := health{w.gateway, st}
	httpapi.Observe(w.metrics, h)
	api := httpapi.New(cfg, httpapi.Deps{
		Chats: chats{w.gateway, st}, Stateless: w.gateway, Sessions: st, Control: w.gateway, Contexts: w.gateway, Pruner: w.gateway, Search: st, Exports: st, Imports: st, Slots: w.gateway, Compactor: w.gateway, Notebooks: w.gateway,
		Results: st, Approvals: st, ApprovalControl: w.gateway, Access: st, AccessControl: w.gateway, Usage: w.gateway,
		Queues: st, QueueControl: w.gateway, Tasks: w.gateway, TaskControl: w.gateway, Jobs: w.gateway, Health: h, Metrics: w.metrics,
		Live: w.gateway.Live(), Tracer: o.tracer,
	}, clock.Real(), log)
	w.handler, w.doc = api.All(), readDocument(t, api)
	server := httptest.NewUnstartedServer(w.handler)
	if o.server != nil {
		o.server(server.Config)
	}
	server.Start()
	t.Cleanup(server.Close)
	w.url, w.client = server.URL, &http.Client{Transport: &checking{t, w.doc, server.Client().Transport}}
	return w
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.gateway.Run(ctx) }()
	w.t.Cleanup(func() {
		w.gate.open()
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("gateway: %v", err)
		}
	})
	eventually(w.t, "the gateway is ready", w.gateway.Ready)
}

type chats struct {
	*gateway.Gateway

	inbox store.Inbox
}

func (c chats) Inbound(ctx context.Context, id string) (*models.Inbound, error) {
	return c.inbox.Inbound(ctx, id)
}

type health struct {
	*gateway.Gateway

	store.Store
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !ok() {
		if clock.Sleep(ctx, clock.Real(), 5*time.Millisecond) != nil {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// answer is a response, read whole.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// request is one request; body may be a string, or anything that becomes JSON.
type request struct {
	method, path string
	body         any
	token        string
	header       map[string]string
	host         string
}

func (w *world) build(ctx context.Context, r request) *http.Request {
	w.t.Helper()
	var body io.Reader
	switch b := r.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, w.url+r.path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.host != "" {
		req.Host = r.host
	}
	return req
}

func (w *world) do(r request) *answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	res, err := w.client.Do(w.build(ctx, r))
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return &answer{w.t, res.StatusCode, res.Header, body}
}

// obj is a JSON object of a test.
type obj = map[string]any

func (w *world) chat(body obj) *answer {
	w.t.Helper()
	return w.do(request{method: http.MethodPost, path: "/v1/chat", body: body})
}

// work is chat with the account whose agent is the model server.
func (w *world) work(body obj) *answer {
	w.t.Helper()
	return w.do(request{method: http.MethodPost, path: "/v1/chat", body: body, token: "work-token"})
}

func (w *world) admin(method, path string, body any) *answer {
	w.t.Helper()
	return w.do(request{method: method, path: "/admin/v1" + path, body: body, token: adminToken})
}

// want checks the status and, for errors, the code of the document.
func (a *answer) want(status int, code models.ErrorCode) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if a.header.Get("X-Request-ID") == "" {
		a.t.Error("no X-Request-Id")
	}
	if code == "" {
		return a
	}
	if got := a.get("error", "code"); got != string(code) {
		a.t.Errorf("code %v, want %s: %s", got, code, a.body)
	}
	if got := a.get("error", "requestId"); got != a.header.Get("X-Request-ID") {
		a.t.Errorf("requestId %v is not the header's", got)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		if a.header.Get("Retry-After") == "" {
			a.t.Error("no Retry-After")
		}
	}
	return a
}

func (a *answer) ok() *answer {
	a.t.Helper()
	return a.want(http.StatusOK, "")
}

// get walks into the body: keys of objects, indices of lists.
func (a *answer) get(path ...any) any {
	a.t.Helper()
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("not JSON: %v: %s", err, a.body)
	}
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return nil
			}
			v = l[s]
		}
	}
	return v
}

func (a *answer) str(path ...any) string {
	a.t.Helper()
	s, _ := a.get(path...).(string)
	return s
}

func (a *answer) items() []any {
	a.t.Helper()
	items, ok := a.get("items").([]any)
	if !ok {
		a.t.Fatalf("no items: %s", a.body)
	}
	return items
}

// content checks the reply's text.
func (a *answer) content(want string) *answer {
	a.t.Helper()
	a.ok()
	if got := a.str("reply", "content"); got != want {
		a.t.Fatalf("reply %q, want %q", got, want)
	}
	return a
}

// session is the admin path of a session.
func session(key string) string { return "/sessions/" + url.PathEscape(key) }

// sessionPath is the admin path of the session that a chat answer names.
func (a *answer) session() string { return session(a.str("sessionKey")) }

// gate holds requests to the model whose text says so, until it is opened.
type gate struct {
	next    http.Handler
	entered chan string // one element per held request
	gone    chan struct{}
	once    sync.Once
	release chan struct{}
}

func newGate(next http.Handler) *gate {
	return &gate{next: next, entered: make(chan string, 100), gone: make(chan struct{}, 100), release: make(chan struct{})}
}

func (g *gate) open() { g.once.Do(func() { close(g.release) }) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte("hold")) {
		g.entered <- string(body)
		select {
		case <-g.release:
		case <-r.Context().Done():
			g.gone <- struct{}{}
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	timer := clock.Real().NewTimer(patience)
	defer timer.Stop()
	var v T
	select {
	case v = <-from:
	case <-timer.C:
		t.Fatalf("waited in vain: %s", what)
	}
	return v
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func readAnswer(t *testing.T, res *http.Response) *answer {
	t.Helper()
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body) // a client that was cut off has what it has
	return &answer{t, res.StatusCode, res.Header, body}
}

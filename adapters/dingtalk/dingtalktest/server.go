package dingtalktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Options are one simulated app. Zero fields get the defaults.
type Options struct {
	// Addr is where the platform listens; empty: a free port of 127.0.0.1.
	Addr string
	// ClientID and ClientSecret are the app's; empty: "dingsim" and "sim-secret".
	ClientID, ClientSecret string
	// WebhookTarget makes the robot one in HTTP mode: messages are posted to this
	// URL. Empty: stream mode. [Server.SetWebhookTarget] changes it.
	WebhookTarget string
	// WebhookTTL is how long session webhooks live; zero: 90 min, as the platform's.
	WebhookTTL time.Duration
	// TicketTTL is how long a stream ticket is good for; zero: 90 s, as the platform's.
	TicketTTL time.Duration
	// Linger is how long a connection stays open after it was told to disconnect;
	// zero: 10 s, as the platform's.
	Linger time.Duration
	// RedeliverAfter is when an unacknowledged message comes again, twice at most;
	// zero: only [Server.Redeliver] does that.
	RedeliverAfter time.Duration
	// WebhooksPerMinute and CardsPerSecond are limits per conversation and per app; zero: none.
	WebhooksPerMinute, CardsPerSecond int
	Clock                             clock.Clock // nil: the real one
}

// Server is the simulated platform. All methods are safe for concurrent use.
type Server struct {
	opts     Options
	clock    clock.Clock
	http     *http.Server
	listener net.Listener
	client   *http.Client
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu         sync.Mutex
	target     string
	seq        int
	users      map[string]*User
	chats      map[string]*chat
	order      []string // chats, oldest first
	deliveries map[string]*delivery
	acks       map[string][]Ack
	acked      int
	conns      map[*connection]struct{}
	tickets    map[string]time.Time
	opened     int // tickets given out
	badFrames  int
	waiting    []string // message ids without a connection to go to
	mutePings  bool
	token      string
	sessions   map[string]*session
	cards      map[string]*card
	cardCalls  []time.Time
	files      map[string]file
	flow       map[string]bool
	faults     map[Op][]Fault
	journal    []Entry
	changed    chan struct{} // closed and replaced at every change
}

// New starts the platform.
func New(opts Options) (*Server, error) {
	orDefault(&opts.Addr, "127.0.0.1:0")
	orDefault(&opts.ClientID, "dingsim")
	orDefault(&opts.ClientSecret, "sim-secret")
	orDefault(&opts.WebhookTTL, 90*time.Minute)
	orDefault(&opts.TicketTTL, 90*time.Second)
	orDefault(&opts.Linger, 10*time.Second)
	if opts.Clock == nil {
		opts.Clock = clock.Real()
	}
	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", opts.Addr)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("dingtalktest: %w", err)
	}
	s := &Server{
		opts: opts, clock: opts.Clock, listener: l, ctx: ctx, cancel: cancel,
		client:     &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second},
		target:     opts.WebhookTarget,
		users:      map[string]*User{},
		chats:      map[string]*chat{},
		deliveries: map[string]*delivery{},
		acks:       map[string][]Ack{},
		conns:      map[*connection]struct{}{},
		tickets:    map[string]time.Time{},
		sessions:   map[string]*session{},
		cards:      map[string]*card{},
		files:      map[string]file{},
		flow:       map[string]bool{},
		faults:     map[Op][]Fault{},
		changed:    make(chan struct{}),
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.work.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// URL is the base URL of both APIs, without a trailing slash.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// ClientID returns the app's id, which is its robot code too.
func (s *Server) ClientID() string { return s.opts.ClientID }

// ClientSecret returns the app's secret.
func (s *Server) ClientSecret() string { return s.opts.ClientSecret }

// Close ends the platform and everything it started.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel() // nothing is spawned after this
	s.mu.Unlock()
	s.DropConnections()
	_ = s.http.Close()
	s.client.CloseIdleConnections()
	s.work.Wait()
}

// spawn runs f in a goroutine that [Server.Close] waits for, unless it was called.
func (s *Server) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.work.Go(f)
	}
}

// Changed returns a channel that is closed at the next change of anything that
// can be asked.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// notify tells those who wait for a change. The caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// next returns a fresh number. The caller holds mu.
func (s *Server) next() int {
	s.seq++
	return s.seq
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, op Op, h func(*request)) { mux.Handle(pattern, s.scripted(op, h)) }
	handle("POST /v1.0/gateway/connections/open", OpOpen, s.open)
	mux.HandleFunc("GET /connect", s.connect)
	handle("POST /v1.0/oauth2/accessToken", OpToken, s.accessToken)
	handle("POST /robot/sendBySession", OpWebhook, s.sendBySession)
	handle("POST /v1.0/robot/groupMessages/send", OpGroupSend, s.authorised(s.groupSend))
	handle("POST /v1.0/robot/oToMessages/batchSend", OpDirectSend, s.authorised(s.directSend))
	handle("POST /v1.0/robot/messageFiles/download", OpDownload, s.authorised(s.downloadURL))
	handle("POST /v1.0/robot/emotion/reply", OpEmotion, s.authorised(s.emotionReply))
	handle("POST /v1.0/robot/emotion/recall", OpEmotionRecall, s.authorised(s.emotionRecall))
	handle("POST /v1.0/card/instances/createAndDeliver", OpCardCreate, s.authorised(s.cardCreate))
	handle("PUT /v1.0/card/streaming", OpCardStream, s.authorised(s.cardStream))
	handle("POST /media/upload", OpUpload, s.upload)
	mux.HandleFunc("GET /files/{id}", s.serveFile)
	return mux
}

// request is one call with its body read.
type request struct {
	w    http.ResponseWriter
	r    *http.Request
	body []byte
}

func (r *request) decode(v any) bool {
	if err := json.Unmarshal(r.body, v); err != nil {
		r.refuse(400, "InvalidParameter", "the body is no JSON")
		return false
	}
	return true
}

func (r *request) reply(status int, v any) {
	r.w.Header().Set("Content-Type", "application/json")
	r.w.WriteHeader(status)
	_ = json.NewEncoder(r.w).Encode(v)
}

// refuse answers as the OpenAPI does.
func (r *request) refuse(status int, code, message string) {
	r.reply(status, struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"requestid"`
	}{code, message, "SIM-REQUEST"})
}

// errcode answers as session webhooks and the older API do: always 200.
func (r *request) errcode(code int, message string) {
	r.reply(200, struct {
		ErrCode int    `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
	}{code, message})
}

// maxRequest is the largest request that is read, in bytes.
const maxRequest = 32 << 20

// scripted reads the body, writes the journal, and applies the next fault of op.
func (s *Server) scripted(op Op, h func(*request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			status := http.StatusBadRequest
			if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "unreadable body", status)
			return
		}
		s.record(op, r, body)
		s.faulty(op, &request{w, r, body}, h)
	})
}

func (s *Server) accessToken(r *request) {
	var in struct{ AppKey, AppSecret string }
	if !r.decode(&in) {
		return
	}
	if in.AppKey != s.opts.ClientID || in.AppSecret != s.opts.ClientSecret {
		r.refuse(400, "invalidClientIdOrSecret", "wrong clientId or clientSecret")
		return
	}
	s.mu.Lock()
	if s.token == "" {
		s.token = fmt.Sprintf("sim-token-%d", s.next())
	}
	token := s.token
	s.mu.Unlock()
	r.reply(200, struct {
		AccessToken string `json:"accessToken"`
		ExpireIn    int    `json:"expireIn"`
	}{token, 7200})
}

// RevokeToken makes the current access token invalid.
func (s *Server) RevokeToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = ""
}

func (s *Server) authorised(h func(*request)) func(*request) {
	return func(r *request) {
		if !s.validToken(r.r.Header.Get("X-Acs-Dingtalk-Access-Token")) {
			r.refuse(401, "InvalidAuthentication", "the access token is not valid")
			return
		}
		h(r)
	}
}

func (s *Server) validToken(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token != "" && token == s.token
}

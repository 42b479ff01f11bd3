package feishutest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// The credentials and identity of the app unless [Options] say otherwise.
const (
	DefaultAppID     = "cli_simulated"
	DefaultAppSecret = "simulated-secret"
	DefaultBotName   = "Bot"
	BotOpenID        = "ou_bot"
)

// Options say what the platform is like. The zero value is a healthy platform
// that pushes over the long connection.
type Options struct {
	Clock clock.Clock
	// Listen is the address to listen on; empty: a free port of loopback.
	Listen    string
	AppID     string
	AppSecret string
	BotName   string

	// WebhookURL is where events are pushed; empty: the long connection.
	WebhookURL        string
	VerificationToken string
	EncryptKey        string

	// TokenLife is how long an access token lives; zero: two hours.
	TokenLife time.Duration
	// ChatQPS is how many messages a second one chat takes; zero: any number.
	ChatQPS int
	// Redeliver is after how long without acknowledgement an event is pushed again,
	// each time counted from the last; nil: never by itself.
	Redeliver []time.Duration
	// FragmentSize splits larger events into several frames; zero: never.
	FragmentSize int
	// Extra serves all paths that are not the platform's, e.g. a page.
	Extra http.Handler
}

// RealRedelivery is the platform's own schedule:
// https://open.feishu.cn/document/server-docs/event-subscription-guide/event-subscription-configure-.
var RealRedelivery = []time.Duration{15 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.AppID == "" {
		o.AppID = DefaultAppID
	}
	if o.AppSecret == "" {
		o.AppSecret = DefaultAppSecret
	}
	if o.BotName == "" {
		o.BotName = DefaultBotName
	}
	if o.TokenLife == 0 {
		o.TokenLife = 2 * time.Hour
	}
	return o
}

// Server is a running platform with one app. Its methods are safe for concurrent use.
type Server struct {
	opts   Options
	clock  clock.Clock
	http   *http.Server
	pusher *http.Client
	ln     net.Listener
	done   chan struct{} // closed by Close
	tasks  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	down    bool
	changed chan struct{}
	serial  int

	tokens   map[string]time.Time
	fetches  int
	users    map[string]User
	chats    map[string]*chat
	messages map[string]*message
	uuids    map[string]sentOnce
	cards    map[string]*cardEntity
	blobs    map[string]Blob
	sends    map[string][]time.Time
	faults   []*Fault
	calls    []Call

	conns  []*wsConn
	events map[string]*pushed // by event id
	order  []string           // event ids as they were pushed
}

// New starts a platform.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("feishutest: %w", err)
	}
	s := &Server{
		opts:     opts,
		clock:    opts.Clock,
		pusher:   &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: answerWithin},
		ln:       ln,
		done:     make(chan struct{}),
		changed:  make(chan struct{}),
		tokens:   map[string]time.Time{},
		users:    map[string]User{},
		chats:    map[string]*chat{},
		messages: map[string]*message{},
		uuids:    map[string]sentOnce{},
		cards:    map[string]*cardEntity{},
		blobs:    map[string]Blob{},
		sends:    map[string][]time.Time{},
		events:   map[string]*pushed{},
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.tasks.Go(func() { _ = s.http.Serve(ln) }) // ends with Close
	if len(opts.Redeliver) > 0 {
		s.tasks.Go(s.redeliverLoop)
	}
	return s, nil
}

// Close ends the platform and waits for what it runs.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.done)
	s.mu.Unlock()
	_ = s.http.Close()
	s.DropConnections()
	s.tasks.Wait()
}

// URL is the base URL of the platform.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// SetWebhookURL sets where events are pushed from now on; empty: over the long connection.
func (s *Server) SetWebhookURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.WebhookURL = url
}

// SetDown takes the platform away, or brings it back: while it is down every
// connection breaks.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.DropConnections()
	}
	s.touch()
}

// Down reports whether the platform is taken away.
func (s *Server) Down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// Changed is closed at the next change of anything that can be seen.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Server) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touchLocked()
}

func (s *Server) touchLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// id returns a fresh id with a prefix; s.mu is held.
func (s *Server) id(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s_%06d", prefix, s.serial)
}

// run runs a task that Close waits for. It reports false once the platform is closed.
func (s *Server) run(task func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Go(task)
	return true
}

var errClosed = errors.New("feishutest: the platform is closed")

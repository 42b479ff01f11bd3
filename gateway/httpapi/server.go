package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Config is what an operator decides about the HTTP side.
type Config struct {
	// AdminToken opens the admin API; empty: from this machine only.
	AdminToken string
	// Accounts are those of the API channel.
	Accounts []Account
	// MaxBody bounds a request's body, in bytes.
	MaxBody int64
	// WriteTimeout is how long a client may leave one write unread before it is cut
	// off; an answer as a whole may take for ever. Zero: a minute.
	WriteTimeout time.Duration
	// TrustedProxies are the addresses whose forwarding headers are believed.
	TrustedProxies []string
	// Agents lists the agents: their ids are the models of the OpenAI-compatible routes.
	Agents []AgentInfo
	// CheckURL says what is wrong with the URL of a picture that a caller names; nil: any
	// will do.
	CheckURL func(url string) error
	// Redacted returns the configuration as JSON, without its secrets.
	Redacted func() ([]byte, error)
	// Version of the program.
	Version string
}

// Account is one account of the API channel.
type Account struct {
	Name string
	// Tokens are bearer tokens, any of which opens the account; none: it is open
	// from this machine only.
	Tokens []string
}

const defaultWriteTimeout = time.Minute

// Server answers HTTP requests.
type Server struct {
	cfg   Config
	deps  Deps
	clock clock.Clock
	log   *slog.Logger
}

// New returns a server. Its handlers are [Server.Public], [Server.Admin] and
// [Server.All].
func New(cfg Config, deps Deps, c clock.Clock, log *slog.Logger) *Server {
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = defaultWriteTimeout
	}
	return &Server{cfg: cfg, deps: deps, clock: c, log: log}
}

// Public serves the API channel, webhooks, and what operators probe.
func (s *Server) Public() http.Handler { return s.engine(s.probeRoutes, s.channelRoutes) }

// Admin serves the admin API, metrics, and what operators probe.
func (s *Server) Admin() http.Handler { return s.engine(s.probeRoutes, s.adminRoutes) }

// All serves everything on one listener.
func (s *Server) All() http.Handler {
	return s.engine(s.probeRoutes, s.channelRoutes, s.adminRoutes)
}

func (s *Server) engine(routes ...func(*gin.Engine)) *gin.Engine {
	gin.SetMode(gin.ReleaseMode) // no banner and no route list on stdout
	e := gin.New()
	// Session keys hold %2F and +: gin's other settings answer 404 or make it a blank.
	e.UseEscapedPath, e.UnescapePathValues = true, false
	e.RedirectTrailingSlash, e.HandleMethodNotAllowed = false, true
	_ = e.SetTrustedProxies(s.cfg.TrustedProxies) // validated with the configuration
	e.Use(s.identify, s.measure, s.recover, s.bound)
	for _, add := range routes {
		add(e)
	}
	e.NoRoute(func(c *gin.Context) { s.fail(c, notFound("there is nothing at this path")) })
	e.NoMethod(func(c *gin.Context) {
		s.failWith(c, http.StatusMethodNotAllowed, invalid("this path does not take "+c.Request.Method))
	})
	return e
}

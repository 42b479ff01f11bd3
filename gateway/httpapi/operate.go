package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/store"
)

// Health tells whether the program can do its work.
type Health interface {
	// Ready reports whether the gateway runs and does not drain.
	Ready() bool
	// Adapters are the accounts of the platforms.
	Adapters() []adapters.Adapter
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Durable is false if everything is gone when the process ends.
	Durable() bool
	Stats(ctx context.Context) (store.Stats, error)
}

// readyTimeout bounds the question to the database.
const readyTimeout = 2 * time.Second

type healthBody struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

func (s *Server) health(c *gin.Context) {
	c.JSON(http.StatusOK, healthBody{Status: "ok", Version: s.cfg.Version})
}

type readyBody struct {
	Ready    bool            `json:"ready"`
	Database bool            `json:"database"`
	Workers  bool            `json:"workers"`
	Durable  bool            `json:"durable"`
	Channels []channelStatus `json:"channels"`
}

// readiness says whether traffic should come here. A platform that is away does
// not make the gateway unready: the other channels work.
func (s *Server) readiness(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	body := readyBody{
		Database: s.deps.Health.Ping(ctx) == nil, Workers: s.deps.Health.Ready(),
		Durable: s.deps.Health.Durable(), Channels: s.channelStatuses(),
	}
	body.Ready = body.Database && body.Workers
	if body.Ready {
		c.JSON(http.StatusOK, body)
		return
	}
	c.Header("Retry-After", strconv.Itoa(seconds(retrySoon)))
	c.JSON(http.StatusServiceUnavailable, body)
}

// AgentInfo is what may be shown of an agent.
type AgentInfo struct {
	ID            string `json:"id"`
	Kind          string `json:"kind"`
	Model         string `json:"model"`
	ContextWindow int    `json:"contextWindow"` // tokens; zero: unknown
}

func (s *Server) agents(c *gin.Context) {
	c.JSON(http.StatusOK, pageOf(s.cfg.Agents, ""))
}

func (s *Server) stats(c *gin.Context) {
	stats, err := s.deps.Health.Stats(c.Request.Context())
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, stats)
}

// configuration serves the configuration without its secrets.
func (s *Server) configuration(c *gin.Context) {
	redacted, err := s.cfg.Redacted()
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Data(http.StatusOK, "application/json; charset=utf-8", redacted)
}

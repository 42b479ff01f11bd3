package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
)

// Pruner shortens what slots show of old tool calls.
type Pruner interface {
	Prune(ctx context.Context, key, slot string, dryRun bool) (gateway.Pruning, error)
}

func (s *Server) pruneSession(c *gin.Context) {
	dry, err := dryRun(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	slot, err := s.slotOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	pruning, err := s.deps.Pruner.Prune(c.Request.Context(), keyOf(c), slot, dry)
	if err != nil {
		s.fail(c, slotProblem(err))
		return
	}
	c.JSON(http.StatusOK, pruning)
}

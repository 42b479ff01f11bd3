package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Approvals lists the calls of tools that wait for a person, or did.
type Approvals interface {
	ListApprovals(ctx context.Context, q store.ApprovalQuery) (items []*models.Approval, nextCursor string, err error)
}

// ApprovalControl decides on calls.
type ApprovalControl interface {
	Decide(ctx context.Context, code string, approve bool) (*models.Approval, error)
}

// approvalRoutes are those of the admin API.
func (s *Server) approvalRoutes(a *gin.RouterGroup) {
	a.GET("/approvals", s.listApprovals)
	a.POST("/approvals/:id/approve", func(c *gin.Context) { s.decide(c, true) })
	a.POST("/approvals/:id/deny", func(c *gin.Context) { s.decide(c, false) })
}

func (s *Server) listApprovals(c *gin.Context) {
	v, n, err := stateQuery(c)
	state := models.ApprovalState(v["state"])
	if err == nil && state != "" && !state.Valid() {
		err = invalid("state must be pending, approved, running, done, denied or expired")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	stored := state
	if state == models.ApprovalExpired { // nothing is stored when time is over
		stored = models.ApprovalPending
	}
	items, next, err := s.deps.Approvals.ListApprovals(c.Request.Context(), store.ApprovalQuery{State: stored, Limit: n, Cursor: v["cursor"]})
	if err != nil {
		s.fail(c, err)
		return
	}
	now := s.clock.Now()
	shown := items[:0]
	for _, a := range items {
		if asOf(a, now); state == "" || a.State == state {
			shown = append(shown, a)
		}
	}
	c.JSON(http.StatusOK, pageOf(shown, next))
}

func asOf(a *models.Approval, now time.Time) { a.State = a.At(now) }

// decide handles POST /approvals/{code}/approve and deny.
func (s *Server) decide(c *gin.Context, approve bool) {
	code, err := idOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	call, err := s.deps.ApprovalControl.Decide(c.Request.Context(), strings.ToUpper(code), approve)
	if errors.Is(err, gateway.ErrDecided) {
		asOf(call, s.clock.Now())
		err = conflict("the call is " + string(call.State) + " already")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, call)
}

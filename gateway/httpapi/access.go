package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Access lists who asked to be let in, and who was.
type Access interface {
	ListAccess(ctx context.Context, q store.AccessQuery) (items []*models.AccessGrant, nextCursor string, err error)
	RemoveAccess(ctx context.Context, id string) (*models.AccessGrant, error)
}

// AccessControl decides on requests, and tells whoever asked.
type AccessControl interface {
	DecideAccess(ctx context.Context, code string, approve bool) (*models.AccessGrant, error)
}

// accessRoutes are those of the admin API.
func (s *Server) accessRoutes(a *gin.RouterGroup) {
	a.GET("/access/requests", s.listAccessRequests)
	a.POST("/access/requests/:code/approve", func(c *gin.Context) { s.decideAccess(c, true) })
	a.POST("/access/requests/:code/deny", func(c *gin.Context) { s.decideAccess(c, false) })
	a.GET("/access/grants", s.listAccessGrants)
	a.DELETE("/access/grants/:id", s.removeAccessGrant)
}

func (s *Server) listAccessRequests(c *gin.Context) {
	s.listAccess(c, func(string) (models.AccessState, error) { return models.AccessPending, nil })
}

// listAccessGrants lists who was approved and who was denied.
func (s *Server) listAccessGrants(c *gin.Context) {
	s.listAccess(c, func(state string) (models.AccessState, error) {
		switch wanted := models.AccessState(state); wanted {
		case "", models.AccessApproved, models.AccessDenied:
			return wanted, nil
		}
		return "", invalid("state must be approved or denied")
	})
}

func (s *Server) listAccess(c *gin.Context, stateOf func(string) (models.AccessState, error)) {
	v, n, err := stateQuery(c)
	var state models.AccessState
	if err == nil {
		state, err = stateOf(v["state"])
	}
	var of map[string]string
	if err == nil {
		of, err = queries(c, "channel", "account")
	}
	if err == nil && (of["channel"] == "") != (of["account"] == "") {
		err = invalid("channel and account go together")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	items, next, err := s.deps.Access.ListAccess(c.Request.Context(), store.AccessQuery{
		State: state, Channel: of["channel"], Account: of["account"], Now: s.clock.Now(), Limit: n, Cursor: v["cursor"],
	})
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}

// decideAccess handles POST /access/requests/{code}/approve and deny.
func (s *Server) decideAccess(c *gin.Context, approve bool) {
	code, err := nameIn(c, "code")
	if err != nil {
		s.fail(c, err)
		return
	}
	grant, err := s.deps.AccessControl.DecideAccess(c.Request.Context(), code, approve)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, grant)
}

// removeAccessGrant takes back what was decided: whoever it was about is unknown again.
func (s *Server) removeAccessGrant(c *gin.Context) {
	id, err := idOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	grant, err := s.deps.Access.RemoveAccess(c.Request.Context(), id)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, grant)
}

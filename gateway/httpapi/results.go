package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
)

// Results reads results of tools that were too large for a context.
type Results interface {
	Results(ctx context.Context, sessionKey string) ([]*models.FullResult, error)
	Result(ctx context.Context, sessionKey, id string) (*models.FullResult, error)
}

// resultRoutes are those below a session.
func (s *Server) resultRoutes(one *gin.RouterGroup) {
	one.GET("/results", s.listResults)
	one.GET("/results/:id", s.getResult)
}

func (s *Server) listResults(c *gin.Context) {
	if _, err := s.deps.Sessions.Session(c.Request.Context(), keyOf(c)); err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	all, err := s.deps.Results.Results(c.Request.Context(), keyOf(c))
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(all, ""))
}

// getResult answers the text as it is.
func (s *Server) getResult(c *gin.Context) {
	id, err := idOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	result, err := s.deps.Results.Result(c.Request.Context(), keyOf(c), id)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(result.Text))
}

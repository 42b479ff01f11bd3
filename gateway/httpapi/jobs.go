package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
)

// Jobs shows and runs the jobs on sessions.
type Jobs interface {
	Jobs(ctx context.Context) ([]lifecycle.View, error)
	RunJob(ctx context.Context, name string, dryRun bool) (*lifecycle.Report, error)
}

func (s *Server) jobRoutes(a *gin.RouterGroup) {
	a.GET("/jobs", s.listJobs)
	a.POST("/jobs/:name/run", s.runJob)
}

func (s *Server) listJobs(c *gin.Context) {
	jobs, err := s.deps.Jobs.Jobs(c.Request.Context())
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(jobs, ""))
}

// runJob runs a job and answers when it is done.
func (s *Server) runJob(c *gin.Context) {
	dry, err := dryRun(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	report, err := s.deps.Jobs.RunJob(c.Request.Context(), c.Param("name"), dry)
	switch {
	case errors.Is(err, lifecycle.ErrUnknownJob):
		s.fail(c, notFound("there is no such job; GET /admin/v1/jobs lists them"))
	case errors.Is(err, lifecycle.ErrRunning):
		s.fail(c, conflict("the job is running already, here or on another replica; try again when it is done"))
	case err != nil:
		s.fail(c, err)
	default:
		c.JSON(http.StatusOK, report)
	}
}

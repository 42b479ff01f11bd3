package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// dryRuns are the requests that can be tried out.
var dryRuns = map[string]bool{
	"DELETE " + sessionPath:                true,
	"POST " + sessionPath + "/prune":       true,
	"POST " + sessionPath + "/compact":     true,
	"POST " + sessionPath + "/reset":       true,
	"POST " + sessionPath + "/archive":     true,
	"POST " + sessionPath + "/restore":     true,
	"POST " + sessionPath + "/cancel":      true,
	"DELETE " + sessionPath + "/slots/:id": true,
	"POST /admin/v1/jobs/:name/run":        true,
}

// refuseDryRun refuses to carry out what somebody wants to try out only.
func (s *Server) refuseDryRun(c *gin.Context) {
	if c.Request.Method == http.MethodGet || dryRuns[c.Request.Method+" "+c.FullPath()] {
		return
	}
	if dry, err := dryRun(c); err != nil || dry {
		s.fail(c, invalid("this cannot be tried out: it has no dryRun"))
	}
}

// dryRun reads ?dryRun=.
func dryRun(c *gin.Context) (bool, error) {
	switch c.Query("dryRun") {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, invalid("dryRun must be true or false")
}

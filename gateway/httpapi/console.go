package httpapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway/console"
)

const consolePath = "/console/"

// consoleRoutes serve the web console to anybody: it is empty without the admin API, which
// it calls with the token that is typed in.
func (s *Server) consoleRoutes(e *gin.Engine) {
	e.GET("/console", toConsole)
	e.GET(consolePath, s.console)
	e.GET(consolePath+":file", s.console)
	e.GET(consolePath+"views/:file", s.console)
}

// toConsole stays relative, as a proxy may serve all of this below a path of its own.
func toConsole(c *gin.Context) {
	c.Header("Location", strings.TrimPrefix(consolePath, "/"))
	c.Status(http.StatusMovedPermanently)
}

func (s *Server) console(c *gin.Context) {
	if !console.Serve(c.Writer, c.Request, strings.TrimPrefix(c.Request.URL.Path, consolePath)) {
		s.fail(c, notFound("the console has no such file"))
	}
}

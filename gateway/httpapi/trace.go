package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// traced makes a span of a request. Like the log it names the route and never the path,
// which holds ids, and codes of people who ask for access: OpenTelemetry's own
// middleware would.
func (s *Server) traced(c *gin.Context) {
	if s.deps.Tracer == nil || c.FullPath() == livePath { // which lasts for as long as somebody looks on
		return
	}
	method, route := c.Request.Method, c.FullPath()
	ctx, span := s.deps.Tracer.Serve(c.Request.Context(), method+" "+route)
	defer span.End()
	c.Request = c.Request.WithContext(ctx)
	span.Note("http.request.method", method)
	span.Note("http.route", route)
	c.Next()
	status := c.Writer.Status()
	span.Count("http.response.status_code", status)
	if status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(status))
	}
}

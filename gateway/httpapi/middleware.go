package httpapi

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/internal/tracing"
)

const (
	requestIDKey    = "requestId"
	requestIDHeader = "X-Request-ID"
	// maxRequestID bounds a caller's own request id, in bytes.
	maxRequestID = 256
)

// identify gives every request an id, the caller's if it sent a sane one, and the
// place in a trace that its traceparent names.
func (s *Server) identify(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if !printable(id) || len(id) > maxRequestID {
		id = uuid.NewString()
	}
	c.Set(requestIDKey, id)
	h := c.Writer.Header()
	h.Set(requestIDHeader, id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store") // what people said stays in no browser's or proxy's cache
	if parent := c.GetHeader(tracing.Header); parent != "" {
		c.Request = c.Request.WithContext(tracing.Continue(c.Request.Context(), parent))
	}
}

func printable(s string) bool {
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return s != ""
}

func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// about is what the log says of a request: never its path, which holds ids.
func about(c *gin.Context) []any {
	attrs := []any{
		slog.String("method", c.Request.Method), slog.String("route", c.FullPath()), slog.String("requestId", requestID(c)),
	}
	if id := tracing.ID(c.Request.Context()); id != "" {
		attrs = append(attrs, slog.String("traceId", id))
	}
	return attrs
}

// noRoute is the label of requests that no route takes: a client cannot make up values.
const noRoute = "none"

// measure counts the request and its time.
func (s *Server) measure(c *gin.Context) {
	began := s.clock.Now()
	defer func() {
		route := c.FullPath()
		if route == "" {
			route = noRoute
		}
		s.deps.Metrics.Request(c.Request.Method, route, c.Writer.Status(), s.clock.Now().Sub(began))
	}()
	c.Next()
}

// recover turns a panic into a 503 and a log line; an answer that has begun is cut
// off, so that nobody takes it for whole.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		s.log.Error("request panicked", append(about(c), slog.Any("panic", panics.Value(v)))...)
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		s.fail(c, unavailable("something went wrong; try again"))
	}()
	c.Next()
}

// bound keeps bodies within the limit, and clients from holding a handler by not
// reading what it writes.
func (s *Server) bound(c *gin.Context) {
	if c.FullPath() != importPath { // which holds no more than a part of it at a time
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, s.cfg.MaxBody)
	}
	c.Writer = &patientWriter{ResponseWriter: c.Writer, control: http.NewResponseController(c.Writer), server: s}
}

// patientWriter gives every write a deadline of its own.
type patientWriter struct {
	gin.ResponseWriter

	control *http.ResponseController
	server  *Server
}

func (w *patientWriter) extend() {
	// A writer without a connection (in a test) knows no deadlines.
	_ = w.control.SetWriteDeadline(w.server.clock.Now().Add(w.server.cfg.WriteTimeout))
}

// Write is part of [http.ResponseWriter].
func (w *patientWriter) Write(b []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(b)
}

// WriteString is part of [gin.ResponseWriter].
func (w *patientWriter) WriteString(s string) (int, error) {
	w.extend()
	return w.ResponseWriter.WriteString(s)
}

// Unwrap lets [http.ResponseController] through.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

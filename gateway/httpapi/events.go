package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// keepAlive is how often a stream gets a comment, so that no proxy takes it for dead.
const keepAlive = 15 * time.Second

// events writes server-sent events, and comments now and then. A failed
// write ends the request's context; what follows it is dropped.
type events struct {
	w     gin.ResponseWriter
	clock clock.Clock
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu     sync.Mutex
	failed bool
}

// startEvents begins the answer. Close the events before the handler returns.
func (s *Server) startEvents(c *gin.Context) *events {
	h := c.Writer.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // nginx holds streams back otherwise
	c.Writer.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancel(c.Request.Context())
	c.Request = c.Request.WithContext(ctx)
	e := &events{w: c.Writer, clock: s.clock, stop: cancel}
	e.done.Go(func() {
		for clock.Sleep(ctx, e.clock, keepAlive) == nil {
			e.write(": still here\n\n")
		}
	})
	return e
}

// close ends the comments.
func (e *events) close() {
	e.stop()
	e.done.Wait()
}

// send writes one event; name may be empty.
func (e *events) send(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("event %s: %v", name, err)) // a type of ours that cannot be written
	}
	e.raw(name, string(data))
}

// sendNumbered is send for an event that a client may come back after.
func (e *events) sendNumbered(id, name string, v any) {
	if id != "" {
		name += "\nid: " + id
	}
	e.send(name, v)
}

func (e *events) raw(name, data string) {
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: " + data + "\n\n")
	e.write(b.String())
}

func (e *events) write(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed {
		return
	}
	if _, err := e.w.WriteString(s); err != nil {
		e.failed = true
		e.stop()
		return
	}
	e.w.Flush() // what goes wrong here ends the request's context
}

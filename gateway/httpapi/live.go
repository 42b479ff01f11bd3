package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway/live"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// Live is where what happens is told, and followed.
type Live interface {
	Publish(e live.Event)
	Watch(filter live.Filter, after string) (*live.Watcher, error)
}

// watchersRetry is what a watcher is told to wait if as many follow as may.
const watchersRetry = 10 * time.Second

// liveEvents shows what happens on this replica, as server-sent events, until the client
// goes away or the program ends.
func (s *Server) liveEvents(c *gin.Context) {
	filter, after, err := liveQuery(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	watcher, err := s.deps.Live.Watch(filter, after)
	switch {
	case errors.Is(err, live.ErrFull):
		s.fail(c, &problem{code: models.CodeRateLimited, message: "as many follow the events as may; try again when one has left", retryAfter: watchersRetry})
		return
	case err != nil:
		s.fail(c, unavailable("the service is stopping; try again"))
		return
	}
	defer watcher.Close()
	e := s.startEvents(c)
	defer e.close()
	e.write(": from now on\n\n") // so that the client knows that it is heard
	for {
		event, err := watcher.Next(c.Request.Context())
		if err != nil {
			return
		}
		e.sendNumbered(event.ID, string(event.Type), event)
	}
}

// liveQuery reads what a client wants to follow, and from where.
func liveQuery(c *gin.Context) (live.Filter, string, error) {
	var filter live.Filter
	q, err := queries(c, "type", "session", "after")
	if err != nil {
		return filter, "", err
	}
	for name := range strings.SplitSeq(q["type"], ",") {
		if name == "" {
			continue
		}
		if !slices.Contains(live.Types(), live.Type(name)) {
			return filter, "", invalid("type must be some of the event types, with commas between them")
		}
		filter.Types = append(filter.Types, live.Type(name))
	}
	if q["session"] != "" {
		k, err := key.Parse(q["session"])
		if err != nil {
			return filter, "", err
		}
		filter.SessionKey = k.String()
	}
	after := q["after"]
	if last := c.GetHeader("Last-Event-ID"); last != "" && len(last) <= maxQuery {
		after = last // a client that comes back by itself repeats its first request
	}
	return filter, after, nil
}

const (
	livePath    = "/admin/v1/events"
	sessionPath = "/admin/v1/sessions/:key"
)

// tellChange tells what an administrator did to a session or its slots.
func (s *Server) tellChange(c *gin.Context) {
	c.Next()
	if c.Request.Method == http.MethodGet || c.IsAborted() || c.Writer.Status() >= http.StatusMultipleChoices {
		return
	}
	if dry, err := dryRun(c); err != nil || dry {
		return
	}
	e := live.Event{Type: live.SessionChanged, SessionKey: keyOf(c)}
	steps := strings.Split(strings.TrimPrefix(c.FullPath(), sessionPath), "/") // the first is empty
	switch {
	case len(steps) == 1:
		e.Action = strings.ToLower(c.Request.Method)
	case steps[1] != "slots":
		e.Action = steps[1]
	default:
		e.Type, e.Action = live.SlotChanged, steps[len(steps)-1]
		e.Slot, _ = idOf(c)
		if len(steps) < 4 {
			e.Action = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}[c.Request.Method]
		}
	}
	s.deps.Live.Publish(e)
}

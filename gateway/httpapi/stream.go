package httpapi

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
)

type deltaEvent struct {
	Text string `json:"text"`
}

type toolEvent struct {
	Name  string `json:"name"`
	Phase string `json:"phase"`
}

// stream follows a message's answer as server-sent events: accepted, then delta,
// tool and restart (all text so far is void), then done or error.
func (s *Server) stream(c *gin.Context, t *taken) {
	e := s.startEvents(c)
	defer e.close()
	e.send("accepted", t.accepted())
	sawText := false
	in, err := s.follow(c.Request.Context(), t, func(u watch.Update) {
		if u.Restart {
			sawText = false
			e.send("restart", struct{}{})
		}
		if u.Delta != "" {
			sawText = true
			e.send("delta", deltaEvent{u.Delta})
		}
		for _, tool := range u.Tools {
			e.send("tool", toolEvent{tool.Name, string(tool.Phase)})
		}
	})
	if err == nil {
		err = s.refusal(in)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = unavailable(stillRunning)
	}
	if err != nil {
		s.failEvents(c, e, "error", err)
		return
	}
	if text := replyText(in); !sawText && text != "" {
		e.send("delta", deltaEvent{text}) // it ran elsewhere, or before
	}
	e.send("done", bodyOf(in))
}

// failEvents ends a stream with an error document.
func (s *Server) failEvents(c *gin.Context, e *events, name string, err error) {
	p := problemOf(err)
	s.logProblem(c, p)
	e.send(name, p.document(c))
}

func replyText(in *models.Inbound) string {
	if in.Reply == nil {
		return ""
	}
	return in.Reply.Content
}

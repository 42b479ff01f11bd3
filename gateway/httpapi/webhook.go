package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// webhook hands a platform's request to the account's adapter.
func (s *Server) webhook(c *gin.Context) {
	for _, a := range s.deps.Health.Adapters() {
		if a.Channel() != c.Param("channel") || a.Account() != c.Param("account") {
			continue
		}
		if hook, ok := a.(adapters.Webhook); ok {
			w := &webhookWriter{ResponseWriter: c.Writer}
			hook.ServeWebhook(w, c.Request)
			if w.refused != 0 {
				s.refuseWebhook(c, w.refused)
			}
			return
		}
	}
	s.fail(c, notFound("no account receives webhooks at this path"))
}

// refuseWebhook gives an adapter's refusal the form of every error.
func (s *Server) refuseWebhook(c *gin.Context, status int) {
	c.Writer.Header().Del("Content-Type") // the adapter's
	p := unavailable("the event could not be stored; send it again")
	switch {
	case status == http.StatusUnauthorized:
		p = unauthorized("the signature or token is wrong")
	case status == http.StatusForbidden:
		p = &problem{code: models.CodeForbidden, message: "the event was refused"}
	case status == http.StatusNotFound:
		p = notFound("this account does not receive webhooks")
	case status == http.StatusRequestEntityTooLarge:
		p = &problem{code: models.CodeTooLarge, message: "the event is too large"}
	case status < http.StatusInternalServerError:
		p = invalid("the event cannot be read")
	}
	s.fail(c, p)
}

// webhookWriter passes on what an adapter answers, and holds back a refusal.
type webhookWriter struct {
	http.ResponseWriter

	refused int
}

// WriteHeader is part of [http.ResponseWriter].
func (w *webhookWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write is part of [http.ResponseWriter].
func (w *webhookWriter) Write(b []byte) (int, error) {
	if w.refused != 0 {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] through.
func (w *webhookWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// maxWait is how long a client may wait for an answer; then it is told where to look.
const maxWait = 10 * time.Minute

// lookAgain is how often it is checked that an awaited message still exists: one
// whose session was deleted on another replica has no outcome to be told of.
const lookAgain = 15 * time.Second

// stillRunning is what a stream ends with after [maxWait].
const stillRunning = "the answer is not there yet; GET /v1/inbound/{inboundId} will have it"

// answer waits for the outcome and writes it.
func (s *Server) answer(c *gin.Context, t *taken) {
	in, err := s.follow(c.Request.Context(), t, func(watch.Update) {})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.JSON(http.StatusAccepted, t.accepted())
	case err != nil:
		s.fail(c, err)
	default:
		if err := s.refusal(in); err != nil {
			s.fail(c, err)
			return
		}
		c.JSON(http.StatusOK, bodyOf(in))
	}
}

// follow passes on what becomes visible of a message's answer until the message
// has its outcome, and returns it whole, with its reply.
func (s *Server) follow(ctx context.Context, t *taken, show func(watch.Update)) (*models.Inbound, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	in := t.inbound
	for !in.State.Final() {
		patient, done := context.WithTimeout(ctx, lookAgain)
		u, err := t.watcher.Next(patient)
		done()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			if _, err := s.deps.Chats.Inbound(ctx, in.ID); errors.Is(err, store.ErrNotFound) {
				return deleted(in), nil
			}
		case u.Done != nil:
			in = u.Done
		default:
			show(u)
		}
	}
	whole, err := s.deps.Chats.Inbound(ctx, in.ID)
	if errors.Is(err, store.ErrNotFound) {
		return deleted(in), nil
	}
	return whole, err
}

// deleted is what is left of a message whose session was deleted.
func deleted(in *models.Inbound) *models.Inbound {
	return &models.Inbound{ID: in.ID, SessionKey: in.SessionKey, Slot: in.Slot, State: models.InboundSuperseded, Code: models.CodeSuperseded}
}

package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// ContextPreview shows what slots hold, and what the next turn would send.
type ContextPreview interface {
	// Messages returns those of a slot, also of one that is not stored.
	Messages(ctx context.Context, key, slot string, before int64, limit int) ([]*models.SessionMessage, error)
	Context(ctx context.Context, key, slot string) (*gateway.ContextView, error)
}

// sessionMessages lists the newest messages first, page by page, each page oldest
// first: nextCursor is the before of the page with what came earlier.
func (s *Server) sessionMessages(c *gin.Context) {
	n, err := limit(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	before, err := beforeSeq(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	slot, err := s.slotOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	messages, err := s.deps.Contexts.Messages(c.Request.Context(), keyOf(c), slot, before, n+1)
	if err != nil {
		s.fail(c, slotProblem(err))
		return
	}
	next := ""
	if len(messages) > n { // the oldest of them begins the next page
		messages = messages[len(messages)-n:]
		next = strconv.FormatInt(messages[0].Seq, 10)
	}
	c.JSON(http.StatusOK, pageOf(whole(messages), next))
}

// beforeSeq reads ?before=, or ?cursor= as lists elsewhere have it.
func beforeSeq(c *gin.Context) (int64, error) {
	raw := c.Query("before")
	if raw == "" {
		raw = c.Query("cursor")
	}
	if raw == "" {
		return 0, nil
	}
	before, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || before < 1 {
		return 0, invalid("before must be the seq of a message")
	}
	return before, nil
}

// slotOf is ?slot=, or the session's current slot.
func (s *Server) slotOf(c *gin.Context) (string, error) {
	session, err := s.deps.Sessions.Session(c.Request.Context(), keyOf(c))
	if err != nil {
		return "", sessionProblem(err)
	}
	slot := c.Query("slot")
	switch {
	case slot == "":
		return session.CurrentSlot, nil
	case !models.ValidName(slot):
		return "", noSlot()
	}
	return slot, nil
}

// slotProblem is problemOf where what is missing is the slot.
func slotProblem(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return noSlot()
	}
	return err
}

// whole makes absent lists empty ones, as the contract shows them.
func whole(messages []*models.SessionMessage) []*models.SessionMessage {
	for _, m := range messages {
		if m.Images == nil {
			m.Images = []string{}
		}
		if m.ToolCalls == nil {
			m.ToolCalls = []models.ToolCall{}
		}
	}
	return messages
}

func (s *Server) sessionContext(c *gin.Context) {
	slot, err := s.slotOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	view, err := s.deps.Contexts.Context(c.Request.Context(), keyOf(c), slot)
	if err != nil {
		s.fail(c, slotProblem(err))
		return
	}
	c.JSON(http.StatusOK, view)
}

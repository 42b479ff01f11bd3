package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
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
	messages, more, err := s.newestMessages(c.Request.Context(), keyOf(c), slot, before, n)
	if err != nil {
		s.fail(c, slotProblem(err))
		return
	}
	next := ""
	if more {
		next = strconv.FormatInt(messages[0].Seq, 10)
	}
	c.JSON(http.StatusOK, pageOf(whole(messages), next))
}

const (
	// maxPageBytes is where a page of messages ends, however few they are.
	maxPageBytes = 16 << 20
	// messagesAtOnce is how many are read at once: each may have megabytes of pictures.
	messagesAtOnce = 10
)

// newestMessages reads a page of at most n messages, oldest first, and whether there
// are earlier ones.
func (s *Server) newestMessages(ctx context.Context, key, slot string, before int64, n int) (page []*models.SessionMessage, more bool, err error) {
	size := 0
	defer func() { slices.Reverse(page) }()
	for {
		some, err := s.deps.Contexts.Messages(ctx, key, slot, before, messagesAtOnce)
		if err != nil {
			return nil, false, err
		}
		for _, m := range slices.Backward(some) {
			size += bytesOf(m)
			if len(page) == n || len(page) > 0 && size > maxPageBytes {
				return page, true, nil
			}
			page = append(page, m)
		}
		if len(some) < messagesAtOnce {
			return page, false, nil
		}
		before = some[0].Seq
	}
}

// bytesOf is about how much of a page a message takes.
func bytesOf(m *models.SessionMessage) int {
	n := len(m.Content)
	for _, image := range m.Images {
		n += len(image)
	}
	for i := range m.ToolCalls {
		n += len(m.ToolCalls[i].Arguments)
	}
	return n
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

package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Compactor summarises slots.
type Compactor interface {
	Compact(ctx context.Context, key, slot, instructions string, dryRun bool) (gateway.Compacted, error)
}

// compactBody is the body of POST /compact, which may be missing.
type compactBody struct {
	Slot         string `json:"slot"`
	Instructions string `json:"instructions"`
}

// maxInstructions bounds what a summary is to heed, in bytes.
const maxInstructions = 4 << 10

func (b *compactBody) check() error {
	if b.Slot != "" && !models.ValidName(b.Slot) {
		return noSlot()
	}
	return checkTexts(text{"instructions", b.Instructions, maxInstructions})
}

// compactSession summarises a slot and answers when that is done.
func (s *Server) compactSession(c *gin.Context) {
	var body compactBody
	dry, err := dryRun(c)
	if err == nil {
		err = decodeOptional(c, &body)
	}
	if asked := c.Query("slot"); err == nil && asked != "" {
		if body.Slot != "" && body.Slot != asked {
			err = invalid("the query and the body name different slots")
		}
		body.Slot = asked
	}
	if err == nil {
		err = body.check()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	key := keyOf(c)
	compacted, err := s.deps.Compactor.Compact(c.Request.Context(), key, body.Slot, body.Instructions, dry)
	if err != nil {
		s.fail(c, s.compactProblem(c, err))
		return
	}
	c.JSON(http.StatusOK, compacted)
}

// compactProblem tells a missing slot from a missing session, and failures of a model
// from our own.
func (s *Server) compactProblem(c *gin.Context, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		if _, err := s.deps.Sessions.Session(c.Request.Context(), keyOf(c)); err == nil {
			return noSlot()
		}
		return noSession()
	default:
		return summaryProblem(err)
	}
}

// summaryProblem says what became of a summary that a model was asked for.
func summaryProblem(err error) error {
	switch {
	case errors.Is(err, gateway.ErrSummary):
		return &problem{code: models.CodeAgentFailed, message: "the agent gave no summary that could be used; nothing was changed", cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{code: models.CodeAgentTimeout, message: "the agent took too long; nothing was changed", cause: err}
	default:
		return agentProblem(err)
	}
}

// decodeOptional reads a JSON body if there is one.
func decodeOptional(c *gin.Context, v any) error {
	body, err := readBody(c)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	return decodeJSON(body, v, true)
}

package httpapi

import (
	"errors"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

// exportSession writes a whole session as a document, page by page.
func (s *Server) exportSession(c *gin.Context) {
	format, err := transfer.ParseFormat(c.DefaultQuery("format", string(transfer.JSONL)))
	if err != nil {
		s.fail(c, invalid("format must be jsonl, markdown or html"))
		return
	}
	w := document{c.Writer, format.ContentType()}
	err = transfer.Export(c.Request.Context(), s.deps.Exports, keyOf(c), transfer.Options{Format: format, Slot: c.Query("slot")}, w)
	switch {
	case err == nil:
	case c.Writer.Written():
		// The document lacks its end, which is how its reader learns of the failure.
		s.log.Error("export was cut", "requestId", requestID(c), "error", err)
		c.Abort()
	case errors.Is(err, transfer.ErrNoSlot):
		s.fail(c, &problem{code: models.CodeSlotNotFound, message: "the session has no such slot"})
	default:
		s.fail(c, sessionProblem(err))
	}
}

// document names its type with its first byte: before that, an error may still be
// the answer.
type document struct {
	to          gin.ResponseWriter
	contentType string
}

func (d document) Write(p []byte) (int, error) {
	if !d.to.Written() {
		h := d.to.Header()
		h.Set("Content-Type", d.contentType)
		// A page that is opened in a browser must not be one of the console's origin.
		h.Set("Content-Security-Policy", "sandbox")
	}
	return d.to.Write(p)
}

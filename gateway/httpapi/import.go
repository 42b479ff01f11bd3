package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

// importPath is the route whose body is a document of any size and type.
const importPath = "/admin/v1/sessions/import"

// importSession stores an exported session, all of it or nothing. The document is
// stored as it comes in.
func (s *Server) importSession(c *gin.Context) {
	body := &patientBody{body: c.Request.Body, control: http.NewResponseController(c.Writer), server: s}
	got, err := transfer.Import(c.Request.Context(), s.deps.Imports, body)
	body.end()
	switch {
	case errors.Is(err, transfer.ErrDocument) && errors.Is(err, store.ErrTooLarge):
		err = &problem{code: models.CodeTooLarge, message: detail(err, transfer.ErrDocument)}
	case errors.Is(err, transfer.ErrDocument):
		err = invalid(detail(err, transfer.ErrDocument))
	case errors.Is(err, store.ErrExists):
		err = conflict("the session exists already")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	session, err := s.deps.Sessions.Session(c.Request.Context(), got.Key)
	if err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	c.JSON(http.StatusCreated, session)
}

// patientBody gives every read a deadline of its own: a large document may take long,
// but not stand still.
type patientBody struct {
	body    io.Reader
	control *http.ResponseController
	server  *Server
}

// Read implements [io.Reader].
func (b *patientBody) Read(p []byte) (int, error) {
	// A request without a connection (in a test) knows no deadlines.
	_ = b.control.SetReadDeadline(b.server.clock.Now().Add(b.server.cfg.WriteTimeout))
	n, err := b.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = invalid("the body could not be read")
	}
	return n, err
}

func (b *patientBody) end() { _ = b.control.SetReadDeadline(time.Time{}) }

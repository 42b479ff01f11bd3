package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

// Notebooks are what sessions keep beside their messages.
type Notebooks interface {
	Variables(ctx context.Context, key string) ([]gateway.Variable, error)
	Variable(ctx context.Context, key, name string) (gateway.Variable, error)
	SetVariable(ctx context.Context, key string, v gateway.Variable) error
	DeleteVariable(ctx context.Context, key, name string) error
	Notes(ctx context.Context, key string) ([]*models.Note, error)
	AddNote(ctx context.Context, key, about, value string) (*models.Note, error)
	Forget(ctx context.Context, key, id string) error
	ForgetAll(ctx context.Context, key string) (int, error)
	File(ctx context.Context, key, name string) (string, error)
	PutFile(ctx context.Context, key, name, text string) error
}

// notebookRoutes are those below a session.
func (s *Server) notebookRoutes(one *gin.RouterGroup) {
	one.GET("/variables", s.listVariables)
	one.GET("/variables/:name", s.getVariable)
	one.PUT("/variables/:name", s.putVariable)
	one.DELETE("/variables/:name", s.deleteVariable)
	one.GET("/memory", s.listNotes)
	one.POST("/memory", s.addNote)
	one.DELETE("/memory", s.forgetNotes)
	one.DELETE("/memory/:id", s.forgetNote)
	one.GET("/files/:name", s.getFile)
	one.PUT("/files/:name", s.putFile)
}

func (s *Server) listVariables(c *gin.Context) {
	all, err := s.deps.Notebooks.Variables(c.Request.Context(), keyOf(c))
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.JSON(http.StatusOK, pageOf(all, ""))
}

// variableInPath is the variable that the path names. What can be none is not found.
func variableInPath(c *gin.Context) (string, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil || name == "" || len(name) > models.MaxForeignID || checkText("name", name) != nil {
		return "", gateway.ErrNoVariable
	}
	return name, nil
}

func (s *Server) getVariable(c *gin.Context) {
	var v gateway.Variable
	name, err := variableInPath(c)
	if err == nil {
		v, err = s.deps.Notebooks.Variable(c.Request.Context(), keyOf(c), name)
	}
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.JSON(http.StatusOK, v)
}

// variableBody is the body of PUT /variables/{name}.
type variableBody struct {
	Value json.RawMessage `json:"value"`
}

func (s *Server) putVariable(c *gin.Context) {
	var body variableBody
	name, err := variableInPath(c)
	if err != nil {
		err = invalid("a variable's name must have 1 to 256 bytes of text")
	} else if err = decodeBody(c, &body, true); err == nil && body.Value == nil {
		err = invalid("value is missing")
	}
	var compact bytes.Buffer
	if err == nil {
		err = json.Compact(&compact, body.Value)
	}
	v := gateway.Variable{Name: name, Value: compact.Bytes()}
	if err == nil {
		err = s.deps.Notebooks.SetVariable(c.Request.Context(), keyOf(c), v)
	}
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.JSON(http.StatusOK, v)
}

func (s *Server) deleteVariable(c *gin.Context) {
	name, err := variableInPath(c)
	if err == nil {
		err = s.deps.Notebooks.DeleteVariable(c.Request.Context(), keyOf(c), name)
	}
	s.removed(c, 1, err)
}

// removed answers what was taken away.
func (s *Server) removed(c *gin.Context, n int, err error) {
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.JSON(http.StatusOK, gateway.Change{Changed: n})
}

func (s *Server) listNotes(c *gin.Context) {
	notes, err := s.deps.Notebooks.Notes(c.Request.Context(), keyOf(c))
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.JSON(http.StatusOK, pageOf(notes, ""))
}

// noteBody is the body of POST /memory.
type noteBody struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (s *Server) addNote(c *gin.Context) {
	var body noteBody
	err := decodeBody(c, &body, true)
	if err == nil {
		err = checkTexts(foreignID("key", body.Key), text{"value", body.Value, models.MaxNote})
	}
	if err == nil && body.Value == "" {
		err = invalid("value is missing")
	}
	var note *models.Note
	if err == nil {
		note, err = s.deps.Notebooks.AddNote(c.Request.Context(), keyOf(c), body.Key, body.Value)
	}
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.JSON(http.StatusCreated, note)
}

func (s *Server) forgetNotes(c *gin.Context) {
	n, err := s.deps.Notebooks.ForgetAll(c.Request.Context(), keyOf(c))
	s.removed(c, n, err)
}

func (s *Server) forgetNote(c *gin.Context) {
	id, err := idOf(c)
	if err == nil {
		err = s.deps.Notebooks.Forget(c.Request.Context(), keyOf(c), id)
	}
	s.removed(c, 1, err)
}

// filePath is the route whose body is a plan file's text.
const filePath = "/admin/v1/sessions/:key/files/:name"

// fileInPath is the plan file that the path names.
func fileInPath(c *gin.Context) (string, error) {
	name := c.Param("name")
	if !slices.Contains(models.PlanFiles(), name) {
		return "", notFound("a session has the files PLAN.md and TODO.md")
	}
	return name, nil
}

const markdown = "text/markdown; charset=utf-8"

func (s *Server) getFile(c *gin.Context) {
	var content string
	name, err := fileInPath(c)
	if err == nil {
		content, err = s.deps.Notebooks.File(c.Request.Context(), keyOf(c), name)
	}
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.Data(http.StatusOK, markdown, []byte(content))
}

func (s *Server) putFile(c *gin.Context) {
	var body []byte
	name, err := fileInPath(c)
	if err == nil {
		body, err = readBody(c)
	}
	if err == nil {
		err = checkText("the file", string(body))
	}
	if err == nil {
		err = s.deps.Notebooks.PutFile(c.Request.Context(), keyOf(c), name, string(body))
	}
	if err != nil {
		s.fail(c, notebookFailure(err))
		return
	}
	c.Data(http.StatusOK, markdown, body)
}

// notebookFailure translates what went wrong with a notebook. What is missing
// besides its entries is the session.
func notebookFailure(err error) error {
	switch {
	case errors.Is(err, gateway.ErrNoVariable):
		return notFound("the session has no such variable")
	case errors.Is(err, gateway.ErrNoNote):
		return notFound("the session has no such note")
	}
	return sessionProblem(err)
}

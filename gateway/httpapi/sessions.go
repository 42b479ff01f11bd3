package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// SessionReader reads sessions.
type SessionReader interface {
	Session(ctx context.Context, key string) (*models.Session, error)
	ListSessions(ctx context.Context, q store.SessionQuery) (items []*models.Session, nextCursor string, err error)
}

// SessionControl changes sessions.
type SessionControl interface {
	Patch(ctx context.Context, key string, apply func(*models.Session)) (*models.Session, error)
	Delete(ctx context.Context, key string, dryRun bool) (gateway.Change, error)
	Reset(ctx context.Context, key string, dryRun bool) (gateway.Change, error)
	Archive(ctx context.Context, key string, dryRun bool) (gateway.Change, error)
	Activate(ctx context.Context, key string, dryRun bool) (gateway.Change, error)
	Restore(ctx context.Context, key string, dryRun bool) (gateway.Change, error)
	Cancel(ctx context.Context, key string, dryRun bool) (gateway.Change, error)
}

func (s *Server) listSessions(c *gin.Context) {
	q, err := sessionQuery(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	items, next, err := s.deps.Sessions.ListSessions(c.Request.Context(), q)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}

func sessionQuery(c *gin.Context) (store.SessionQuery, error) {
	n, err := limit(c)
	if err != nil {
		return store.SessionQuery{}, err
	}
	v, err := queries(c, "agentId", "channel", "scope", "state", "q", "cursor")
	if err != nil {
		return store.SessionQuery{}, err
	}
	q := store.SessionQuery{
		AgentID: v["agentId"], Channel: v["channel"], Scope: models.Scope(v["scope"]), State: models.SessionState(v["state"]),
		Text: v["q"], Limit: n, Cursor: v["cursor"],
	}
	switch {
	case q.Scope != "" && !q.Scope.Valid():
		return q, invalid("scope must be main, per_peer, per_channel_peer, per_account_channel_peer, thread or task")
	case q.State != "" && !q.State.Valid():
		return q, invalid("state must be active, idle, compacted or archived")
	}
	return q, nil
}

func (s *Server) getSession(c *gin.Context) {
	session, err := s.deps.Sessions.Session(c.Request.Context(), keyOf(c))
	if err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	c.JSON(http.StatusOK, session)
}

// sessionPatch is the body of PATCH /sessions/{key}; what is absent stays as it is.
type sessionPatch struct {
	Title        *string `json:"title"`
	Model        *string `json:"model"`
	SystemPrompt *string `json:"systemPrompt"`
	Pinned       *bool   `json:"pinned"`
}

// maxPrompt bounds a session's own system prompt, in bytes.
const maxPrompt = 64 << 10

func (p *sessionPatch) check() error {
	value := func(name string, v *string, most int) text {
		if v == nil {
			return text{}
		}
		return text{name, *v, most}
	}
	return checkTexts(
		value("title", p.Title, models.MaxTitle), value("model", p.Model, models.MaxForeignID),
		value("systemPrompt", p.SystemPrompt, maxPrompt),
	)
}

func (s *Server) patchSession(c *gin.Context) {
	var patch sessionPatch
	err := decodeBody(c, &patch, true)
	if err == nil {
		err = patch.check()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	session, err := s.deps.Control.Patch(c.Request.Context(), keyOf(c), func(m *models.Session) {
		set(&m.Title, patch.Title)
		set(&m.Model, patch.Model)
		set(&m.SystemPrompt, patch.SystemPrompt)
		set(&m.Pinned, patch.Pinned)
	})
	if err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	c.JSON(http.StatusOK, session)
}

func set[T any](dst, value *T) {
	if value != nil {
		*dst = *value
	}
}

// change runs one of the operations that answer with what they changed.
func (s *Server) change(c *gin.Context, do func(ctx context.Context, key string, dryRun bool) (gateway.Change, error)) {
	dry, err := dryRun(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	change, err := do(c.Request.Context(), keyOf(c), dry)
	if err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	c.JSON(http.StatusOK, change)
}

func (s *Server) deleteSession(c *gin.Context)  { s.change(c, s.deps.Control.Delete) }
func (s *Server) resetSession(c *gin.Context)   { s.change(c, s.deps.Control.Reset) }
func (s *Server) archiveSession(c *gin.Context) { s.change(c, s.deps.Control.Archive) }
func (s *Server) cancelSession(c *gin.Context)  { s.change(c, s.deps.Control.Cancel) }

// restoreSession makes a session active, or brings back what its latest reset set aside.
func (s *Server) restoreSession(c *gin.Context) {
	switch c.Query("reset") {
	case "":
		s.change(c, s.deps.Control.Activate)
	case "latest":
		s.change(c, s.deps.Control.Restore)
	default:
		s.fail(c, invalid("reset must be latest"))
	}
}

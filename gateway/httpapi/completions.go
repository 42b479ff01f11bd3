package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
)

// Stateless asks an agent without a session: nothing is stored.
type Stateless interface {
	Complete(ctx context.Context, agentID string, messages []*models.SessionMessage, stream bool, emit func(agents.Event)) (*agents.Response, error)
}

// Headers by which an OpenAI client names a chat whose memory is to be used.
const (
	headerChatID = "X-Chatkeep-Chat-Id"
	headerUserID = "X-Chatkeep-User-Id"
)

// completions handles POST /v1/chat/completions.
func (s *Server) completions(c *gin.Context) {
	var body completionRequest
	if err := decodeBody(c, &body, false); err != nil {
		s.fail(c, err)
		return
	}
	messages, err := body.messages()
	for _, m := range messages {
		if err == nil {
			err = s.checkImages(m.Images)
		}
	}
	if err == nil && !s.hasAgent(body.Model) {
		err = invalid("model must be the id of an agent; GET /v1/models lists them")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	if chatID := c.GetHeader(headerChatID); chatID != "" {
		s.completeInSession(c, &body, chatID, messages)
		return
	}
	s.completeStateless(c, &body, messages)
}

func (s *Server) hasAgent(id string) bool {
	for i := range s.cfg.Agents {
		if s.cfg.Agents[i].ID == id {
			return true
		}
	}
	return false
}

// completeInSession makes the last user message one turn of the chat's session.
func (s *Server) completeInSession(c *gin.Context, body *completionRequest, chatID string, messages []*models.SessionMessage) {
	last := lastUser(messages)
	if last == nil {
		s.fail(c, invalid("with "+headerChatID+" a message of the user is needed"))
		return
	}
	request := chatRequest{ChatID: chatID, UserID: c.GetHeader(headerUserID), Text: last.Content, Images: last.Images}
	if request.UserID == "" {
		request.UserID = chatID
	}
	in, err := request.incoming(accountOf(c), c.GetHeader(headerIdempotencyKey))
	if err != nil {
		s.fail(c, err)
		return
	}
	in.AgentID, in.Awaited = body.Model, true
	t, err := s.take(c.Request.Context(), in)
	if err != nil {
		s.fail(c, err)
		return
	}
	defer t.watcher.Close()
	w := s.beginCompletion(c, body)
	defer w.close()
	outcome, err := s.follow(c.Request.Context(), t, func(u watch.Update) {
		if u.Restart {
			w.restart()
		}
		w.delta(u.Delta)
	})
	if err == nil {
		err = s.refusal(outcome)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = unavailable("the answer is not there yet; ask again with the same " + headerIdempotencyKey)
	}
	if err != nil {
		s.failCompletion(c, w, err)
		return
	}
	usage := models.Usage{}
	if outcome.Reply != nil {
		usage = outcome.Reply.Usage
	}
	w.end(replyText(outcome), outcome.FinishReason, usage)
}

// completeStateless asks the agent with the caller's messages alone. A caller that
// goes away cancels it.
func (s *Server) completeStateless(c *gin.Context, body *completionRequest, messages []*models.SessionMessage) {
	w := s.beginCompletion(c, body)
	defer w.close()
	response, err := s.deps.Stateless.Complete(c.Request.Context(), body.Model, messages, body.Stream, func(e agents.Event) {
		if e.Restart {
			w.restart()
		}
		w.delta(e.Delta)
	})
	if err != nil {
		s.failCompletion(c, w, s.statelessProblem(err))
		return
	}
	w.end(response.Final().Content, response.FinishReason, response.Usage)
}

// statelessProblem is agentProblem for a call that limits may have refused.
func (s *Server) statelessProblem(err error) error {
	switch {
	case errors.Is(err, gateway.ErrBudgetExceeded):
		return &problem{
			code: models.CodeBudgetExceeded, message: "today's budget of this agent is used up",
			retryAfter: s.deps.Usage.RetryAfter(models.CodeBudgetExceeded, s.clock.Now()),
		}
	case errors.Is(err, gateway.ErrWordRefused):
		return &problem{code: models.CodeForbidden, message: "the messages, or the answer, hold a word that is not allowed here"}
	}
	return agentProblem(err)
}

func agentProblem(err error) error {
	var e *agents.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case agents.Timeout:
		return &problem{code: models.CodeAgentTimeout, message: "the agent took too long", cause: err}
	case agents.Overflow:
		return &problem{code: models.CodeTooLarge, message: "the messages do not fit the agent's window"}
	default:
		return &problem{code: models.CodeAgentFailed, message: "the agent could not answer", cause: err}
	}
}

func (s *Server) failCompletion(c *gin.Context, w *completionWriter, err error) {
	if w.events == nil {
		s.fail(c, err)
		return
	}
	s.failEvents(c, w.events, "", err)
}

type modelList struct {
	Object string      `json:"object"`
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// models handles GET /v1/models: the agents, as models.
func (s *Server) models(c *gin.Context) {
	list := modelList{Object: "list", Data: []modelItem{}}
	for i := range s.cfg.Agents {
		list.Data = append(list.Data, modelItem{s.cfg.Agents[i].ID, "model", 0, "chatkeep"})
	}
	c.JSON(http.StatusOK, list)
}

package httpapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
)

type completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"` // Unix seconds
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   *completionUsage   `json:"usage,omitempty"`
}

type completionChoice struct {
	Index        int              `json:"index"`
	Message      *completionReply `json:"message,omitempty"`
	Delta        *completionReply `json:"delta,omitempty"`
	FinishReason *string          `json:"finish_reason"`
}

type completionReply struct {
	Role    models.Role `json:"role,omitempty"`
	Content string      `json:"content"`
}

type completionUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// completionWriter writes OpenAI's two forms of an answer.
type completionWriter struct {
	c       *gin.Context
	id      string
	model   string
	created int64
	usage   bool
	events  *events // nil: one document

	shown strings.Builder
	// void is set when the agent started again: OpenAI's stream cannot take back
	// what was shown, so the new text waits until it is whole.
	void bool
}

func (s *Server) beginCompletion(c *gin.Context, body *completionRequest) *completionWriter {
	w := &completionWriter{
		c: c, id: models.NewID("chatcmpl"), model: body.Model,
		created: s.clock.Now().Unix(), usage: body.Options.IncludeUsage,
	}
	if body.Stream {
		w.events = s.startEvents(c)
		w.chunk(completionChoice{Delta: &completionReply{Role: models.RoleAssistant}})
	}
	return w
}

func (w *completionWriter) close() {
	if w.events != nil {
		w.events.close()
	}
}

func (w *completionWriter) restart() { w.void = w.void || w.shown.Len() > 0 }

func (w *completionWriter) delta(words string) {
	if w.events == nil || words == "" || w.void {
		return
	}
	w.shown.WriteString(words)
	w.chunk(completionChoice{Delta: &completionReply{Content: words}})
}

// rest shows what of the whole answer was not shown yet.
func (w *completionWriter) rest(content string) {
	w.void = false
	rest, extends := strings.CutPrefix(content, w.shown.String())
	if !extends {
		rest = "\n\n" + content
	}
	w.delta(rest)
}

func (w *completionWriter) chunk(choices ...completionChoice) {
	w.events.send("", completion{ID: w.id, Object: "chat.completion.chunk", Created: w.created, Model: w.model, Choices: choices})
}

// end writes the whole answer, or what is missing of it.
func (w *completionWriter) end(content, finishReason string, u models.Usage) {
	if finishReason != "length" && finishReason != "content_filter" {
		finishReason = "stop"
	}
	usage := &completionUsage{u.PromptTokens, u.CompletionTokens, u.PromptTokens + u.CompletionTokens}
	if w.events == nil {
		choice := completionChoice{Message: &completionReply{models.RoleAssistant, content}, FinishReason: &finishReason}
		w.c.JSON(http.StatusOK, completion{w.id, "chat.completion", w.created, w.model, []completionChoice{choice}, usage})
		return
	}
	w.rest(content)
	w.chunk(completionChoice{Delta: &completionReply{}, FinishReason: &finishReason})
	if w.usage {
		w.events.send("", completion{w.id, "chat.completion.chunk", w.created, w.model, []completionChoice{}, usage})
	}
	w.events.raw("", "[DONE]")
}

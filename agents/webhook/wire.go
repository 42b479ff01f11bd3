package webhook

import (
	"encoding/json"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
)

// version is the protocol's.
const version = 1

// request is the body that is posted.
type request struct {
	Version    int                        `json:"version"`
	InboundID  string                     `json:"inboundId"`
	SessionKey string                     `json:"sessionKey"`
	Slot       string                     `json:"slot"`
	AgentID    string                     `json:"agentId"`
	Channel    string                     `json:"channel"`
	Account    string                     `json:"account"`
	Chat       chat                       `json:"chat"`
	Sender     sender                     `json:"sender"`
	Messages   []message                  `json:"messages"`
	Variables  map[string]json.RawMessage `json:"variables"`
	Stream     bool                       `json:"stream"`
	Model      string                     `json:"model,omitempty"`
	MaxTokens  int                        `json:"maxTokens,omitempty"`
}

type chat struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Name     string `json:"name"`
	ThreadID string `json:"threadId"`
}

type sender struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type message struct {
	Role       models.Role       `json:"role"`
	Content    string            `json:"content"`
	Images     []string          `json:"images,omitempty"`
	ToolCalls  []models.ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string            `json:"toolCallId,omitempty"`
	SenderID   string            `json:"senderId,omitempty"`
	SenderName string            `json:"senderName,omitempty"`
}

// response is a whole answer, and the data of the event that ends a stream.
type response struct {
	Content      *string      `json:"content"`
	Usage        models.Usage `json:"usage"`
	FinishReason string       `json:"finishReason"`
}

func encode(req *agents.Request) ([]byte, error) {
	body := request{
		Version:    version,
		InboundID:  req.InboundID,
		SessionKey: req.SessionKey,
		Slot:       req.Slot,
		AgentID:    req.AgentID,
		Channel:    req.Channel,
		Account:    req.Account,
		Chat:       chat(req.Chat),
		Sender:     sender(req.Sender),
		Messages:   make([]message, 0, len(req.Messages)),
		Variables:  req.Variables,
		Stream:     req.Stream,
		Model:      req.Model,
		MaxTokens:  req.MaxTokens,
	}
	if body.Variables == nil {
		body.Variables = map[string]json.RawMessage{}
	}
	for _, m := range req.Messages {
		body.Messages = append(body.Messages, message{
			Role: m.Role, Content: m.Content, Images: m.Images,
			ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID,
			SenderID: m.SenderID, SenderName: m.SenderName,
		})
	}
	return json.Marshal(body)
}

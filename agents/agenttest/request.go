package agenttest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// ChatRequest is a request for a completion, as far as the server looks at it.
type ChatRequest struct {
	Model               string          `json:"model"`
	Messages            []ChatMessage   `json:"messages"`
	Tools               []ChatTool      `json:"tools"`
	Stream              bool            `json:"stream"`
	StreamOptions       *StreamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	Header              http.Header     `json:"-"`
	Body                json.RawMessage `json:"-"`
	// PromptTokens is what the request holds by the server's estimate.
	PromptTokens int `json:"-"`
}

// StreamOptions ask for the usage at the end of a stream.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// ChatMessage is one message of a request.
type ChatMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ToolCalls        []ChatToolCall  `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningContent *string         `json:"reasoning_content"`
}

// ChatToolCall is a call in an assistant's message.
type ChatToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ChatTool is a tool that may be called.
type ChatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// ContentPart is a piece of a content that is a list.
type ContentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// Text returns the message's text, with the parts of a list joined.
func (m ChatMessage) Text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	parts, _ := m.Parts()
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text)
	}
	return b.String()
}

// Parts returns a content that is a list.
func (m ChatMessage) Parts() ([]ContentPart, error) {
	var parts []ContentPart
	err := json.Unmarshal(m.Content, &parts)
	return parts, err
}

// Last returns the last message of a role; the zero value if there is none.
func (r *ChatRequest) Last(role string) ChatMessage {
	for _, v := range slices.Backward(r.Messages) {
		if v.Role == role {
			return v
		}
	}
	return ChatMessage{}
}

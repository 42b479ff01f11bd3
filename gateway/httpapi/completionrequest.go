package httpapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// completionRequest is the part of an OpenAI request that is used; the rest is ignored.
type completionRequest struct {
	Model    string              `json:"model"`
	Messages []completionMessage `json:"messages"`
	Stream   bool                `json:"stream"`
	Options  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type completionMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// roles maps OpenAI's roles to ours.
var roles = map[string]models.Role{
	"system": models.RoleSystem, "developer": models.RoleSystem, "user": models.RoleUser,
	"assistant": models.RoleAssistant, "tool": models.RoleTool,
}

func (r *completionRequest) messages() ([]*models.SessionMessage, error) {
	if len(r.Messages) == 0 {
		return nil, invalid("messages is needed")
	}
	out := make([]*models.SessionMessage, len(r.Messages))
	for i := range r.Messages {
		m := &r.Messages[i]
		role, ok := roles[m.Role]
		if !ok {
			return nil, invalid("a message's role must be system, developer, user, assistant or tool")
		}
		content, images, err := m.content()
		if err != nil {
			return nil, err
		}
		out[i] = &models.SessionMessage{Role: role, Content: content, Images: images, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			out[i].ToolCalls = append(out[i].ToolCalls, models.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
	}
	return out, nil
}

// content returns text and pictures, from a string or from a list of parts.
func (m *completionMessage) content() (words string, images []string, err error) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return "", nil, nil
	}
	if json.Unmarshal(m.Content, &words) == nil {
		return words, nil, checkText("content", words)
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", nil, invalid("a message's content must be a string or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image_url":
			images = append(images, p.ImageURL.URL)
		default:
			return "", nil, invalid("a content part's type must be text or image_url")
		}
	}
	words = strings.Join(texts, "\n")
	return words, images, checkText("content", words)
}

// lastUser returns the last message of the user, or nil.
func lastUser(messages []*models.SessionMessage) *models.SessionMessage {
	for _, m := range slices.Backward(messages) {
		if m.Role == models.RoleUser {
			return m
		}
	}
	return nil
}

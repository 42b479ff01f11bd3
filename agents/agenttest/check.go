package agenttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check decodes a request and applies the rules that real providers refuse by.
// Unknown fields are allowed, as they are everywhere.
func (s *Server) check(header http.Header, body []byte) (*ChatRequest, *Rejection) {
	var request ChatRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, invalid("We could not parse the JSON body of your request: %v", err)
	}
	request.Header, request.Body = header.Clone(), body
	if refused := s.checkParameters(&request); refused != nil {
		return nil, refused
	}
	if refused := checkTools(request.Tools); refused != nil {
		return nil, refused
	}
	conversation := conversation{server: s, ids: map[string]bool{}, pending: map[string]bool{}}
	for i, message := range request.Messages {
		if refused := conversation.add(i, message); refused != nil {
			return nil, refused
		}
	}
	if refused := conversation.end(request.Messages); refused != nil {
		return nil, refused
	}
	return &request, s.checkWindow(&request)
}

func invalid(format string, args ...any) *Rejection {
	return &Rejection{Status: http.StatusBadRequest, Code: "invalid_value", Message: fmt.Sprintf(format, args...)}
}

func (s *Server) checkParameters(r *ChatRequest) *Rejection {
	switch {
	case r.Model == "":
		return invalid("you must provide a model parameter")
	case len(r.Messages) == 0:
		return invalid("[] is too short - 'messages'")
	case r.MaxTokens != nil && *r.MaxTokens < 1, r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 1:
		return invalid("max_tokens must be at least 1")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return invalid("temperature must be between 0 and 2")
	case r.StreamOptions != nil && !r.Stream:
		return invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case r.StreamOptions != nil && s.options.RefuseStreamOptions:
		return invalid("Unrecognized request argument supplied: stream_options")
	}
	return nil
}

func checkTools(tools []ChatTool) *Rejection {
	seen := map[string]bool{}
	for i, tool := range tools {
		name := tool.Function.Name
		var parameters struct {
			Type string `json:"type"`
		}
		switch {
		case tool.Type != "function":
			return invalid("tools[%d].type must be 'function'", i)
		case !functionName.MatchString(name):
			return invalid("tools[%d].function.name: %q does not match %s", i, name, functionName)
		case seen[name]:
			return invalid("tools: duplicate function name %q", name)
		case json.Unmarshal(tool.Function.Parameters, &parameters) != nil || parameters.Type != "object":
			return invalid("tools[%d].function.parameters: schema must be of type \"object\"", i)
		}
		seen[name] = true
	}
	return nil
}

// conversation checks the order of messages.
type conversation struct {
	server  *Server
	ids     map[string]bool // of all calls so far
	pending map[string]bool // calls of the last assistant message without a result
}

func (c *conversation) add(i int, m ChatMessage) *Rejection {
	if len(c.pending) > 0 && m.Role != "tool" {
		return c.unanswered()
	}
	if m.ReasoningContent != nil && (c.server.options.RefuseReasoning || m.Role != "assistant") {
		return invalid("messages[%d]: unsupported field reasoning_content", i)
	}
	switch m.Role {
	case "system":
		if i != 0 {
			return invalid("System message must be at the beginning.")
		}
		return checkText(i, m)
	case "user":
		return checkUser(i, m)
	case "assistant":
		return c.assistant(i, m)
	case "tool":
		if !c.pending[m.ToolCallID] {
			return invalid("messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (id %q)", i, m.ToolCallID)
		}
		delete(c.pending, m.ToolCallID)
		return checkText(i, m)
	default:
		return invalid("messages[%d].role: %q is not one of ['system', 'assistant', 'user', 'tool']", i, m.Role)
	}
}

func (c *conversation) assistant(i int, m ChatMessage) *Rejection {
	if len(m.ToolCalls) == 0 {
		return checkText(i, m)
	}
	if len(m.Content) > 0 && string(m.Content) != "null" {
		if refused := checkText(i, m); refused != nil {
			return refused
		}
	}
	if c.server.options.RequireReasoning && m.ReasoningContent == nil {
		return invalid("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
	}
	for _, call := range m.ToolCalls {
		switch {
		case call.ID == "" || len(call.ID) > 40:
			return invalid("messages[%d].tool_calls: id %q must have 1 to 40 characters", i, call.ID)
		case c.ids[call.ID]:
			return invalid("messages[%d].tool_calls: duplicate id %q", i, call.ID)
		case call.Type != "function":
			return invalid("messages[%d].tool_calls: type must be 'function'", i)
		case !functionName.MatchString(call.Function.Name):
			return invalid("messages[%d].tool_calls: function name %q does not match %s", i, call.Function.Name, functionName)
		case !json.Valid([]byte(call.Function.Arguments)):
			return invalid("messages[%d].tool_calls: arguments of %q are not valid JSON", i, call.ID)
		}
		c.ids[call.ID], c.pending[call.ID] = true, true
	}
	return nil
}

func (c *conversation) end(messages []ChatMessage) *Rejection {
	if len(c.pending) > 0 {
		return c.unanswered()
	}
	if last := messages[len(messages)-1].Role; last != "user" && last != "tool" {
		return invalid("the last message must have role 'user' or 'tool', not %q", last)
	}
	return nil
}

func (c *conversation) unanswered() *Rejection {
	ids := make([]string, 0, len(c.pending))
	for id := range c.pending {
		ids = append(ids, id)
	}
	return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

func checkText(i int, m ChatMessage) *Rejection {
	var text string
	if json.Unmarshal(m.Content, &text) != nil || string(m.Content) == "null" {
		return invalid("messages[%d].content must be a string", i)
	}
	if text == "" {
		return invalid("messages[%d].content must not be empty", i)
	}
	return nil
}

func checkUser(i int, m ChatMessage) *Rejection {
	if !strings.HasPrefix(string(m.Content), "[") {
		return checkText(i, m)
	}
	parts, err := m.Parts()
	if err != nil || len(parts) == 0 {
		return invalid("messages[%d].content must be a string or a list of parts", i)
	}
	for j, part := range parts {
		switch part.Type {
		case "text":
			if part.Text == "" {
				return invalid("messages[%d].content[%d].text must not be empty", i, j)
			}
		case "image_url":
			if part.ImageURL == nil || !imageURL(part.ImageURL.URL) {
				return invalid("messages[%d].content[%d].image_url: invalid URL", i, j)
			}
		default:
			return invalid("messages[%d].content[%d].type: unknown %q", i, j, part.Type)
		}
	}
	return nil
}

func imageURL(u string) bool {
	return strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "data:image/")
}

// Overheads of a message and a picture in a prompt, of the size that providers count.
const (
	messageTokens = 4
	imageTokens   = 85
)

// checkWindow counts the prompt and refuses what does not fit.
func (s *Server) checkWindow(r *ChatRequest) *Rejection {
	for _, m := range r.Messages {
		r.PromptTokens += messageTokens + s.options.Estimate(m.Text())
		if m.ReasoningContent != nil {
			r.PromptTokens += s.options.Estimate(*m.ReasoningContent)
		}
		for _, call := range m.ToolCalls {
			r.PromptTokens += s.options.Estimate(call.Function.Name + call.Function.Arguments)
		}
		parts, _ := m.Parts()
		for _, part := range parts {
			if part.ImageURL != nil {
				r.PromptTokens += imageTokens
			}
		}
	}
	for _, tool := range r.Tools {
		r.PromptTokens += s.options.Estimate(tool.Function.Name + string(tool.Function.Parameters))
	}
	total := r.PromptTokens
	if r.MaxTokens != nil {
		total += *r.MaxTokens
	}
	if s.options.ContextWindow == 0 || total <= s.options.ContextWindow {
		return nil
	}
	return &Rejection{
		Status:  http.StatusBadRequest,
		Code:    "context_length_exceeded",
		Message: fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", s.options.ContextWindow, total),
	}
}

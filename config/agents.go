package config

import "time"

// AgentKind names what answers.
type AgentKind string

// The kinds of agents.
const (
	AgentEcho    AgentKind = "echo"    // streams its input back
	AgentOpenAI  AgentKind = "openai"  // any OpenAI-compatible endpoint
	AgentWebhook AgentKind = "webhook" // the user's own service
)

func (AgentKind) values() []string { return []string{"echo", "openai", "webhook"} }

// Agent is one answering party. Which keys apply depends on Kind.
type Agent struct {
	ID   string    `json:"id"`
	Kind AgentKind `json:"kind"`

	// Kind openai.
	BaseURL    URL    `json:"baseUrl,omitzero"`
	APIKey     Secret `json:"apiKey,omitzero"`
	APIKeyFile string `json:"apiKeyFile,omitzero"`
	Model      string `json:"model,omitzero"`

	// Kind webhook.
	URL        URL    `json:"url,omitzero"`
	Secret     Secret `json:"secret,omitzero"` // key of the request's HMAC
	SecretFile string `json:"secretFile,omitzero"`

	// Kind echo.
	Delay     Duration `json:"delay,omitzero"`     // pause before each chunk
	ChunkSize int      `json:"chunkSize,omitzero"` // runes per chunk, 0: the whole text at once

	// ContextWindow is the model's window in tokens.
	ContextWindow int `json:"contextWindow"`
	// MaxTokens bounds one answer; 0 leaves it to the provider.
	MaxTokens int `json:"maxTokens"`
	// SystemPrompt may use {{now}} {{chat.name}} {{sender.name}} {{var.NAME}}.
	SystemPrompt string `json:"systemPrompt"`
	// Temperature is not sent when nil (null in the file).
	Temperature *float64 `json:"temperature"`
	// Images sends pictures to the model; false names them only.
	Images bool `json:"images"`
	// Headers are added to every request; their values are taken as secrets.
	Headers     map[string]Secret `json:"headers"`
	HeadersFile string            `json:"headersFile,omitzero"` // lines of Name: value
	// ExtraBody is merged into the request, for switches of a provider.
	ExtraBody map[string]RawJSON `json:"extraBody"`
	// Timeout bounds the whole turn: model calls, retries and tools; 0s: none.
	Timeout Duration `json:"timeout"`
	// MaxToolRounds bounds the rounds of tool calls in one turn.
	MaxToolRounds int `json:"maxToolRounds"`
	// Tools are names under mcpServers, or built-in tools.
	Tools []string `json:"tools"`
	// SendTo are chats (channel/account/chatId) that the tool send_to_chat may send to
	// besides the one it is called in.
	SendTo []string `json:"sendTo"`
	// Approve are tools, by the names that models see or patterns with *, whose calls a
	// person must approve.
	Approve []string `json:"approve"`
	// Models are those that /model may choose besides Model.
	Models []string `json:"models"`
	// Fallbacks are ids of other agents, tried in order on a provider failure.
	Fallbacks []string `json:"fallbacks"`
}

// DefaultAgent returns an agent without id and kind, all else at its default.
func DefaultAgent() Agent {
	temperature := 0.7
	return Agent{
		ContextWindow: 128000,
		SystemPrompt:  "You are a helpful assistant.",
		Temperature:   &temperature,
		Images:        true,
		Headers:       map[string]Secret{},
		ExtraBody:     map[string]RawJSON{},
		Timeout:       Duration(120 * time.Second),
		MaxToolRounds: 10,
		Tools:         []string{},
		SendTo:        []string{},
		Approve:       []string{},
		Models:        []string{},
		Fallbacks:     []string{},
	}
}

func (a *Agent) setDefaults() { *a = DefaultAgent() }

// MCPServer is a server of tools: a command spoken to over stdio, or a URL
// spoken to over streamable HTTP.
type MCPServer struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitzero"`
	URL     URL      `json:"url,omitzero"`
	// Env is what the environment of Command holds beside paths, language, time zone,
	// proxies and certificates.
	Env     map[string]Secret `json:"env,omitzero"`
	EnvFile string            `json:"envFile,omitzero"` // lines of NAME=value
	// Headers are added to every request to URL.
	Headers     map[string]Secret `json:"headers,omitzero"`
	HeadersFile string            `json:"headersFile,omitzero"` // lines of Name: value
	// Timeout bounds one call of a tool.
	Timeout Duration `json:"timeout"`
}

func (s *MCPServer) setDefaults() { s.Timeout = Duration(time.Minute) }

// BuiltinTools are the tools that agents may name without an MCP server.
func BuiltinTools() []string {
	return []string{"time", "remember", "recall", "plan", "read_more", "history_search", "send_to_chat", "task"}
}

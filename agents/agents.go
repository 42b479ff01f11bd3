package agents

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Agent answers one turn.
type Agent interface {
	// Respond answers the request. While it works it may call emit, from one
	// goroutine at a time and never after it returned. It must end soon after ctx
	// does, and returns an [*Error] for every failure of a provider or service.
	Respond(ctx context.Context, req *Request, emit func(Event)) (*Response, error)
}

// Prober is implemented by agents that can tell cheaply whether their service
// answers and accepts the credentials.
type Prober interface {
	Probe(ctx context.Context) error
}

// Request is everything an agent knows about a turn.
type Request struct {
	InboundID  string
	SessionKey string
	Slot       string
	AgentID    string
	Channel    string
	Account    string
	Chat       Chat
	Sender     Sender
	// Text is what the user wrote, without the name, quote and pictures that the last
	// of Messages may hold as well.
	Text string
	// Messages is the whole context, oldest first: system prompt, summary,
	// history, and last the user's message. It fits the window and holds whole
	// tool groups only.
	Messages []*models.SessionMessage
	// Variables are the session's, as JSON values.
	Variables map[string]json.RawMessage
	// Model overrides the agent's own model when not empty.
	Model string
	// Tools may be called by agents that can; nil means none.
	Tools Toolset
	// Keep stores a result that is too large for the model as a whole, and returns the
	// id that it can be read by. Nil: what is cut is lost.
	Keep func(ctx context.Context, tool, text string) (id string, err error)
	// Decided is a call of an earlier turn that a person has decided on: the turn begins
	// with what became of it. Nil: there is none.
	Decided *DecidedCall
	// Stream asks for deltas. Without it an agent may still emit them.
	Stream bool
	// MaxTokens bounds the answer when positive.
	MaxTokens int
	// Window is how many tokens a call of the model may have, tools included and the
	// answer not; zero: not known. Messages fit it: what a turn adds must fit, too.
	Window int
}

// Chat is where the user's message was written.
type Chat struct {
	ID       string
	Type     string // "direct" or "group"
	Name     string
	ThreadID string
}

// Sender is who wrote the user's message.
type Sender struct {
	ID   string
	Name string
}

// Event is what an agent shows while it works: a piece of text, or a tool's phase.
type Event struct {
	// Delta is text to append to what is shown.
	Delta string
	// Tool is set instead of Delta when a tool starts or ends.
	Tool *ToolEvent
	// Restart tells that what was shown so far is void (a retry, a fallback).
	Restart bool
}

// ToolEvent tells of a tool that starts or has ended.
type ToolEvent struct {
	Name  string
	Phase ToolPhase
}

// ToolPhase is a moment in a tool's run.
type ToolPhase string

// The phases of a tool.
const (
	ToolStarted ToolPhase = "started"
	ToolDone    ToolPhase = "done"
	ToolFailed  ToolPhase = "failed"
)

// Response is a whole answer.
type Response struct {
	// Messages are all new messages of the turn after the user's, oldest first:
	// tool calls, tool results, and last the assistant's final answer.
	Messages []*models.SessionMessage
	// Usage sums all model calls of the turn; zero if the provider did not say.
	Usage models.Usage
	// ContextTokens is the provider's own count of the last prompt; zero if unknown.
	ContextTokens int
	// Held are calls that a person must approve. They were not made; the model knows.
	Held []HeldCall
	// FinishReason is "stop", "length", "content_filter" or "tool_limit".
	FinishReason string
}

// Final returns the assistant's final answer.
func (r *Response) Final() *models.SessionMessage { return r.Messages[len(r.Messages)-1] }

// HeldCall is a call of a tool that waits for a person.
type HeldCall struct {
	Tool string
	// Arguments is one JSON object in canonical form.
	Arguments json.RawMessage
	// Key is the idempotency key that the call is to be made with.
	Key string
	// Reasoning is what the model thought when it made the call; nil: nothing was given.
	Reasoning *string
}

// DecidedCall is a held call that a person has decided on.
type DecidedCall struct {
	HeldCall

	// Resolve returns what the call came to. It makes the call through the function that
	// it is given, at most once ever, or knows the result already.
	Resolve func(ctx context.Context, call func(context.Context) ToolResult) ToolResult
}

// Tool is something a model may call.
type Tool interface {
	Spec() ToolSpec
	// Call runs the tool. args is valid JSON that passed the executable check.
	// idempotencyKey is the same whenever the same call of a turn is made again.
	Call(ctx context.Context, args json.RawMessage, idempotencyKey string) (ToolResult, error)
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	// Parameters is a JSON Schema object.
	Parameters json.RawMessage
	// Timeout is how long a call may take; zero: as long as the caller has in mind.
	Timeout time.Duration
	// NeedsApproval keeps a call from being made before a person said so.
	NeedsApproval bool
}

// ToolResult is what a tool gives back to the model.
type ToolResult struct {
	Text    string
	IsError bool
	// Images are data URLs.
	Images []string
}

// Toolset is the tools that an agent may use in a turn.
type Toolset interface {
	Tools(ctx context.Context) ([]Tool, error)
}

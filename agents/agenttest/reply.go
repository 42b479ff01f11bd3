package agenttest

import (
	"net/http"
	"strconv"
	"time"
)

// Reply is a scripted answer, or a fault. Fields may be combined: a reply that is
// cut off still has its text.
type Reply struct {
	Text string
	// Reasoning is sent before the text. Nil sends no such field.
	Reasoning *string
	// ReasoningField is its name. Default reasoning_content; some say reasoning.
	ReasoningField string
	ToolCalls      []ReplyCall
	// FinishReason defaults to stop, or tool_calls if there are any.
	FinishReason string
	// PromptTokens and CompletionTokens default to the server's estimate.
	PromptTokens, CompletionTokens int
	// NoUsage leaves the usage out.
	NoUsage bool

	// ChunkRunes is how many runes one chunk of a stream holds. Default 8.
	ChunkRunes int
	// Delay passes before the first byte, ChunkDelay before each chunk.
	Delay, ChunkDelay time.Duration
	// NoStream answers a request for a stream with one JSON document.
	NoStream bool

	// Fault happens after so many chunks of a stream, or in a whole answer.
	Fault Fault
	After int

	// Status and Body answer literally, whatever else is set.
	Status      int
	Body        string
	ContentType string
	Header      http.Header
}

// ReplyCall is a tool call of a scripted answer, as it is: an empty or reused id
// or broken arguments are sent that way.
type ReplyCall struct {
	ID        string
	Name      string
	Arguments string
}

// Fault is a way to fail in the middle of a success.
type Fault string

// The faults.
const (
	// FaultCut ends the answer properly as HTTP sees it, but too early.
	FaultCut Fault = "cut"
	// FaultHangUp closes the connection.
	FaultHangUp Fault = "hang_up"
	// FaultSilence sends nothing more and keeps the connection open.
	FaultSilence Fault = "silence"
	// FaultBroken sends something that is not JSON.
	FaultBroken Fault = "broken"
	// FaultError sends an error object.
	FaultError Fault = "error"
	// FaultNoChoices sends an answer without choices.
	FaultNoChoices Fault = "no_choices"
)

// Say answers with a text.
func Say(text string) Reply { return Reply{Text: text} }

// Call answers with tool calls.
func Call(calls ...ReplyCall) Reply { return Reply{ToolCalls: calls} }

// Echo answers with the last user message.
func Echo(r *ChatRequest) Reply { return Reply{Text: r.Last("user").Text()} }

// Fail answers with a status and OpenAI's error object.
func Fail(status int, code, message string) Reply {
	return Reply{Status: status, Body: encode(errorBody("api_error", code, message)), ContentType: "application/json"}
}

// RateLimited answers 429 and asks to come back after some seconds; zero does not say when.
func RateLimited(seconds int) Reply {
	reply := Fail(http.StatusTooManyRequests, "rate_limit_exceeded", "Rate limit reached, please slow down.")
	if seconds > 0 {
		reply.Header = http.Header{"Retry-After": {strconv.Itoa(seconds)}}
	}
	return reply
}

// HTML answers 200 with a web page, as a captive portal or a wrong URL does.
func HTML() Reply {
	return Reply{Status: http.StatusOK, Body: "<!doctype html><title>Welcome</title>", ContentType: "text/html; charset=utf-8"}
}

// Repeat returns n times the same reply.
func Repeat(n int, reply Reply) []Reply {
	replies := make([]Reply, n)
	for i := range replies {
		replies[i] = reply
	}
	return replies
}

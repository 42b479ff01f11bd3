package openai

import (
	"fmt"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
)

// The finish reasons of the contract.
const (
	finishStop   = "stop"
	finishLength = "length"
	finishFilter = "content_filter"
)

// finishReason maps what providers say to the contract's words. Some of them
// report a failure this way.
func (a *answer) finishReason() (string, error) {
	if a.refused {
		return finishFilter, nil
	}
	switch a.finish {
	case "length", "max_tokens":
		return finishLength, nil
	case "content_filter", "sensitive", "refusal", "safety":
		return finishFilter, nil
	case "insufficient_system_resource", "network_error", "error": // DeepSeek, GLM, OpenRouter
		return "", &agents.Error{Kind: agents.Transient, Err: fmt.Errorf("provider gave up: finish reason %s", provider.Word(a.finish))}
	case "model_context_window_exceeded": // GLM
		return "", &agents.Error{Kind: agents.Overflow, Err: fmt.Errorf("finish reason %s", provider.Word(a.finish))}
	default:
		return finishStop, nil
	}
}

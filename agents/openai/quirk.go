package openai

import (
	"errors"
	"net/http"
	"strings"
)

// quirk is a set of ways in which a provider departs from the rest. They are
// learned from its refusals and remembered for the agent's life.
type quirk uint32

const (
	// noStreamOptions refuses stream_options; usage stays unknown.
	noStreamOptions quirk = 1 << iota
	// noReasoning refuses reasoning_content in what it is sent.
	noReasoning
	// needsReasoning wants reasoning_content with every message that calls tools,
	// also where it gave none.
	needsReasoning
	// completionTokens wants max_completion_tokens for max_tokens.
	completionTokens
)

func (q quirk) has(other quirk) bool { return q&other != 0 }

// with adds another quirk; the two about reasoning exclude each other.
func (q quirk) with(other quirk) quirk {
	switch other {
	case noReasoning:
		q &^= needsReasoning
	case needsReasoning:
		q &^= noReasoning
	}
	return q | other
}

// learn returns the quirk that a refusal tells of, zero if it tells of none.
func learn(err error) quirk {
	var refused *statusError
	if !errors.As(err, &refused) || (refused.status != http.StatusBadRequest && refused.status != http.StatusUnprocessableEntity) {
		return 0
	}
	text := strings.ToLower(refused.message)
	switch {
	case strings.Contains(text, "stream_options"), strings.Contains(text, "include_usage"):
		return noStreamOptions
	case strings.Contains(text, "max_completion_tokens"):
		return completionTokens
	case strings.Contains(text, "reasoning_content"):
		// Moonshot: "thinking is enabled but reasoning_content is missing in …";
		// DeepSeek: "the `reasoning_content` in the thinking mode must be passed back".
		for _, wanted := range []string{"missing", "must be passed", "required", "must be provided"} {
			if strings.Contains(text, wanted) {
				return needsReasoning
			}
		}
		return noReasoning
	}
	return 0
}

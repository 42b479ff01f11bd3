package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/models"
)

// Config is one agent's. Only BaseURL and Model are required.
type Config struct {
	// BaseURL is what the paths of the API are appended to, e.g. https://api.deepseek.com/v1.
	BaseURL string
	// APIKey is sent as bearer token; empty sends none.
	APIKey string
	// Model is used where a request names none.
	Model string
	// MaxTokens bounds the answer when positive; the smaller one of this and the
	// request's counts.
	MaxTokens int
	// Temperature is left to the provider when nil.
	Temperature *float64
	// Images sends pictures to the model; otherwise the text names them.
	Images bool
	// Headers are added to every request.
	Headers map[string]string
	// ExtraBody is merged into the top level of every request's body and wins over
	// what is there.
	ExtraBody map[string]json.RawMessage
	// Timeout bounds a whole turn: model calls, retries and tools. Default 120 s.
	Timeout time.Duration
	// MaxToolRounds bounds how often a turn runs tools. Default 10.
	MaxToolRounds int
	// ToolTimeout bounds one call of a tool. Default 60 s.
	ToolTimeout time.Duration
	// MaxToolResultBytes bounds one tool's result. Default 64 KiB.
	MaxToolResultBytes int
	// RetryBudget bounds how long failed calls of a turn are made again. Default
	// 20 s; negative makes no retries, which suits an agent that others stand in for.
	RetryBudget time.Duration
	// MaxAnswerBytes bounds an answer's text, reasoning and arguments together. An
	// answer beyond it is a failure. Default 8 MiB, the largest stored message.
	MaxAnswerBytes int
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Minute
	}
	if c.RetryBudget == 0 {
		c.RetryBudget = provider.DefaultRetryBudget
	}
	if c.MaxAnswerBytes <= 0 {
		c.MaxAnswerBytes = models.MaxContent
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	base, err := url.Parse(c.BaseURL)
	switch {
	case c.BaseURL == "":
		errs = append(errs, errors.New("base URL is missing"))
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		errs = append(errs, errors.New("base URL is not an absolute http or https URL"))
	}
	if strings.TrimSpace(c.Model) == "" {
		errs = append(errs, errors.New("model is missing"))
	}
	for name, value := range c.ExtraBody {
		if !json.Valid(value) {
			errs = append(errs, fmt.Errorf("extra body field %q is not valid JSON", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("openai: config: %w", err)
	}
	return nil
}

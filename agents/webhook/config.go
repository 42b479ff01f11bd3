package webhook

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/models"
)

// Config is one agent's. Only URL is required.
type Config struct {
	// URL is what the turn is posted to.
	URL string
	// Secret signs the request; empty sends no signature.
	Secret string
	// Headers are added to every request.
	Headers map[string]string
	// Timeout bounds a whole turn, retries included. Default 120 s.
	Timeout time.Duration
	// RetryBudget bounds how long a failed call is made again. Default 20 s;
	// negative makes no retries.
	RetryBudget time.Duration
	// MaxAnswerBytes bounds an answer's text. Default 8 MiB, the largest stored message.
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
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		err = errors.New("URL is missing")
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		err = errors.New("URL is not an absolute http or https URL")
	}
	if err != nil {
		return fmt.Errorf("webhook: config: %w", err)
	}
	return nil
}

package sessionmgr

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Config is the session section of the configuration. Its JSON form is that of
// the file: durations are texts such as "1h30m". Zero durations mean never.
type Config struct {
	// MaxMessages is how many messages Get and a context hold at most.
	MaxMessages int `json:"maxMessages"`
	// MaxTokenCount is how many tokens a context holds at most.
	MaxTokenCount int `json:"maxTokenCount"`
	// TTL is how long a session may be unused before it is deleted.
	TTL time.Duration `json:"ttl"`
	// IdleTimeout is how long after the last user input a session becomes idle.
	IdleTimeout time.Duration `json:"idleTimeout"`
	// ArchiveAfter is how long after becoming idle a session is archived.
	ArchiveAfter time.Duration    `json:"archiveAfter"`
	Pruning      PruningConfig    `json:"pruning"`
	Compaction   CompactionConfig `json:"compaction"`
}

// PruneMode says how old tool results are shortened.
type PruneMode string

// The modes of pruning.
const (
	PruneSoft     PruneMode = "soft"
	PruneHard     PruneMode = "hard"
	PruneCacheTTL PruneMode = "cache_ttl"
)

// PruningConfig says how tool results are pruned. Sizes are in characters.
type PruningConfig struct {
	Enabled            bool          `json:"enabled"`
	Mode               PruneMode     `json:"mode"`
	KeepRecentCount    int           `json:"keepRecentCount"`
	MaxToolResultSize  int           `json:"maxToolResultSize"`
	SaveToolCalls      bool          `json:"saveToolCalls"`
	KeepToolCallsCount int           `json:"keepToolCallsCount"`
	CacheTTL           time.Duration `json:"cacheTtl"`
}

// CompactionConfig says when a history is summarised.
type CompactionConfig struct {
	Enabled bool `json:"enabled"`
	// MaxTokenCount times TriggerThreshold is the size at which compaction is due.
	MaxTokenCount        int     `json:"maxTokenCount"`
	TriggerThreshold     float64 `json:"triggerThreshold"`
	KeepRecentCount      int     `json:"keepRecentCount"`
	MinMessagesToCompact int     `json:"minMessagesToCompact"`
	// Agent is the id of the agent that summarises; empty: the session's own.
	Agent string `json:"agent"`
}

// DefaultConfig returns the documented defaults. Decode JSON over it to keep them
// for what a document leaves out.
func DefaultConfig() Config {
	return Config{
		MaxMessages:   100,
		MaxTokenCount: 128000,
		IdleTimeout:   time.Hour,
		ArchiveAfter:  720 * time.Hour,
		Pruning: PruningConfig{
			Mode: PruneSoft, KeepRecentCount: 10, MaxToolResultSize: 2000,
			SaveToolCalls: true, KeepToolCallsCount: 5, CacheTTL: 5 * time.Minute,
		},
		Compaction: CompactionConfig{
			MaxTokenCount: 100000, TriggerThreshold: 0.8, KeepRecentCount: 10, MinMessagesToCompact: 20,
		},
	}
}

// withDefaults replaces what cannot be meant.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	orDefault(&c.MaxMessages, d.MaxMessages)
	orDefault(&c.MaxTokenCount, d.MaxTokenCount)
	orDefault(&c.Pruning.MaxToolResultSize, d.Pruning.MaxToolResultSize)
	orDefault(&c.Compaction.MaxTokenCount, d.Compaction.MaxTokenCount)
	orDefault(&c.Compaction.TriggerThreshold, d.Compaction.TriggerThreshold)
	if c.Pruning.Mode == "" {
		c.Pruning.Mode = d.Pruning.Mode
	}
	return c
}

func orDefault[N int | float64](n *N, d N) {
	if *n <= 0 {
		*n = d
	}
}

// Validate reports everything that is wrong, each as an [ErrInvalid].
func (c Config) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("session.%s: %w", fmt.Sprintf(format, args...), ErrInvalid))
		}
	}
	for _, f := range []struct {
		name  string
		value int64
		least int64
	}{
		{"maxMessages", int64(c.MaxMessages), 1},
		{"maxTokenCount", int64(c.MaxTokenCount), 1},
		{"ttl", int64(c.TTL), 0},
		{"idleTimeout", int64(c.IdleTimeout), 0},
		{"archiveAfter", int64(c.ArchiveAfter), 0},
		{"pruning.keepRecentCount", int64(c.Pruning.KeepRecentCount), 0},
		{"pruning.maxToolResultSize", int64(c.Pruning.MaxToolResultSize), 1},
		{"pruning.keepToolCallsCount", int64(c.Pruning.KeepToolCallsCount), 0},
		{"pruning.cacheTtl", int64(c.Pruning.CacheTTL), 0},
		{"compaction.maxTokenCount", int64(c.Compaction.MaxTokenCount), 1},
		{"compaction.keepRecentCount", int64(c.Compaction.KeepRecentCount), 0},
		{"compaction.minMessagesToCompact", int64(c.Compaction.MinMessagesToCompact), 0},
	} {
		refuse(f.value < f.least, "%s is less than %d", f.name, f.least)
	}
	switch c.Pruning.Mode {
	case PruneSoft, PruneHard, PruneCacheTTL:
	default:
		refuse(true, "pruning.mode %q is none of soft, hard, cache_ttl", c.Pruning.Mode)
	}
	t := c.Compaction.TriggerThreshold
	refuse(!(t > 0 && t <= 1), "compaction.triggerThreshold %v is not above 0 and at most 1", t)
	return errors.Join(errs...)
}

// duration is a time.Duration as the configuration file writes it.
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

// The plain types have the fields of the exported ones, but not their methods.
type (
	plainConfig  Config
	plainPruning PruningConfig
)

type configJSON struct {
	*plainConfig
	TTL          *duration `json:"ttl"`
	IdleTimeout  *duration `json:"idleTimeout"`
	ArchiveAfter *duration `json:"archiveAfter"`
}

func (c *Config) json() configJSON {
	return configJSON{(*plainConfig)(c), (*duration)(&c.TTL), (*duration)(&c.IdleTimeout), (*duration)(&c.ArchiveAfter)}
}

// MarshalJSON writes durations as texts.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.json()) }

// UnmarshalJSON reads durations from texts and keeps what data leaves out.
func (c *Config) UnmarshalJSON(data []byte) error {
	form := c.json()
	return json.Unmarshal(data, &form)
}

type pruningJSON struct {
	*plainPruning
	CacheTTL *duration `json:"cacheTtl"`
}

func (p *PruningConfig) json() pruningJSON {
	return pruningJSON{(*plainPruning)(p), (*duration)(&p.CacheTTL)}
}

// MarshalJSON writes durations as texts.
func (p PruningConfig) MarshalJSON() ([]byte, error) { return json.Marshal(p.json()) }

// UnmarshalJSON reads durations from texts and keeps what data leaves out.
func (p *PruningConfig) UnmarshalJSON(data []byte) error {
	form := p.json()
	return json.Unmarshal(data, &form)
}

package prune

import "time"

// Mode says what becomes of old tool results, and when.
type Mode string

// The modes.
const (
	// ModeSoft shortens them whenever a context is built.
	ModeSoft Mode = "soft"
	// ModeHard clears them, and deletes messages beyond the newest; only ahead of time.
	ModeHard Mode = "hard"
	// ModeCacheTTL shortens them, and clears some, once the provider's cache of the
	// context is cold; until then nothing changes.
	ModeCacheTTL Mode = "cache_ttl"
)

// Settings say how contexts are pruned.
type Settings struct {
	// Enabled is whether contexts are pruned as they are built.
	Enabled bool
	Mode    Mode
	// KeepRecent is how many of the newest messages are left as they are.
	KeepRecent int
	// MaxResultSize is how long an old tool result, and a large argument of an old
	// call, may be, in characters. Zero is no bound.
	MaxResultSize int
	// SaveToolCalls is false where no tool call of an earlier turn is sent at all.
	SaveToolCalls bool
	// KeepToolCalls is how many groups of tool calls of earlier turns are sent.
	KeepToolCalls int
	// CacheTTL is how long the provider keeps what it was sent.
	CacheTTL time.Duration
}

// Cold reports whether the provider's cache is over: the last call of a model,
// modelAt, is older than CacheTTL. A zero time is unknown and counts as older.
func (s Settings) Cold(modelAt, now time.Time) bool {
	return modelAt.IsZero() || now.Sub(modelAt) > s.CacheTTL
}

// Keeps reports whether contexts go on where the one before started while the
// provider's cache is warm.
func (s Settings) Keeps() bool { return s.Enabled && s.Mode == ModeCacheTTL }

// groups is how many groups of tool calls are kept.
func (s Settings) groups() int {
	if !s.SaveToolCalls {
		return 0
	}
	return max(0, s.KeepToolCalls)
}

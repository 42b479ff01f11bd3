package config

import (
	"errors"
	"strings"
	"time"
)

// Duration is a time.Duration written as 500ms, 30s or 1h30m. Negative ones
// are refused by Validate; what 0s means is said at each key.
type Duration time.Duration

var errDuration = errors.New("needs a duration with a unit, such as 500ms, 30s or 1h30m")

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String formats like time.Duration without trailing zero units: 24h, not
// 24h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return errDuration
	}
	*d = Duration(parsed)
	return nil
}

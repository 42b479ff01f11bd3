package config

import (
	"testing"
	"time"
)

func TestDurationText(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "500ms": 500 * time.Millisecond, "30s": 30 * time.Second, "2m": 2 * time.Minute, "1h": time.Hour,
		"1h30m": 90 * time.Minute, "720h": 720 * time.Hour, "1h0m5s": time.Hour + 5*time.Second, "10m": 10 * time.Minute, "1.5s": 1500 * time.Millisecond,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Std() != want {
			t.Errorf("%s: got %v, %v", text, d.Std(), err)
		}
		if got := d.String(); got != text {
			t.Errorf("%v is written %s, want %s", want, got, text)
		}
	}
	for _, text := range []string{"", "30", "1d", "soon", "1 h"} {
		if err := new(Duration).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

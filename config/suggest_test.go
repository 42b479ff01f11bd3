package config

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	keys := []string{"listen", "adminListen", "adminToken", "shutdownGrace"}
	for name, want := range map[string]string{
		"listn": "listen", "lisetn": "listen", "Listen": "listen", "admintoken": "adminToken", "admin_token": "adminToken",
		"shutdown": "", "x": "", "": "", "listening": "listen", strings.Repeat("a", 1000): "",
	} {
		if got := nearest(name, keys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", clip(name), got, want)
		}
	}
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

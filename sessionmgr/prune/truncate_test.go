package prune

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTruncate(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("汉", 100)} {
		for _, limit := range []int{0, -1, 100, 1000} {
			if got := Truncate(s, limit); got != s {
				t.Errorf("%d characters at most changed %q to %q", limit, s, got)
			}
		}
	}
	long := strings.Repeat("头", 500) + strings.Repeat("m", 5000) + strings.Repeat("尾", 500)
	got := Truncate(long, 200)
	if n := utf8.RuneCountInString(got); n != 200 || !strings.HasPrefix(got, "头头") || !strings.HasSuffix(got, "尾尾") || !strings.Contains(got, "6000") {
		t.Errorf("%d characters: %s", n, got)
	}
	if got := Truncate(long, 3); got != "头头头" {
		t.Errorf("3 characters: %q", got)
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("some text that is long enough to be cut somewhere in the middle of it, with 汉字 and 😀 inside, twice", 60)
	f.Add("\xff\xfe\xfd", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := Truncate(s, limit)
		if limit > 0 && utf8.RuneCountInString(got) > limit {
			t.Fatalf("%d characters, at most %d", utf8.RuneCountInString(got), limit)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("cut inside a rune: %q", got)
		}
		if (limit <= 0 || utf8.RuneCountInString(s) <= limit) && got != s {
			t.Fatalf("changed without need: %q", got)
		}
		if again := Truncate(got, limit); again != got {
			t.Fatalf("a second time gives %q", again)
		}
	})
}

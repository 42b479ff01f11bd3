package text

import (
	"regexp"
	"slices"
	"testing"
)

var verb = regexp.MustCompile(`%[a-z]`)

func TestEverySentenceHasBothLanguagesWithTheSameVerbs(t *testing.T) {
	for id, s := range sentences {
		if s.en == "" || s.zh == "" {
			t.Errorf("%s: a language is missing", id)
		}
		if en, zh := verb.FindAllString(s.en, -1), verb.FindAllString(s.zh, -1); !slices.Equal(en, zh) {
			t.Errorf("%s: verbs differ: %v and %v", id, en, zh)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		setting, text string
		want          Lang
	}{
		{"auto", "hello", English},
		{"auto", "你好", Chinese},
		{"", "ask 李雷", Chinese},
		{"en", "你好", English},
		{"zh", "hello", Chinese},
		{"auto", "", English},
	} {
		if got := Choose(c.setting, c.text); got != c.want {
			t.Errorf("Choose(%q, %q) = %s, want %s", c.setting, c.text, got, c.want)
		}
	}
}

package words

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for query, want := range map[string][]string{
		" Release　计划\n发布 ":            {"release", "计划", "发布"}, // an ideographic space parts too
		"a A a":                       {"a"},
		"ÄRGER Привет 😀":              {"ärger", "привет", "😀"},
		"100% _x \\ 'q'":              {"100%", "_x", "\\", "'q'"},
		strings.Repeat("长", MaxQuery): {strings.Repeat("长", MaxQuery)},
	} {
		if got, err := Parse(query); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", query, got, err)
		}
	}
	for query, want := range map[string]error{
		"": ErrNone, " \t　": ErrNone,
		strings.Repeat("长", MaxQuery+1): ErrTooMany,
		"a b c d e f g h i j k":         ErrTooMany,
	} {
		if _, err := Parse(query); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", query, err)
		}
	}
}

func TestMatch(t *testing.T) {
	const text = "明天部署 Zebra 到生产环境，ÉCOLE 😀 100%"
	for query, want := range map[string]bool{
		"部署": true, "署": true, "zebra": true, "生产 ZEB": true, "école": true, "😀": true, "100%": true,
		"部生": false, "zebra 测试": false, "🚗": false, "ecole": false, "10_%": false, "zeb%ra": false,
	} {
		words, err := Parse(query)
		if err != nil || Match(text, words) != want {
			t.Errorf("%q: %v, %v", query, !want, err)
		}
	}
	if Match("273 \u212a", []string{"k"}) {
		t.Error("the Kelvin sign is taken for a k")
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("前", 100) + "部署\n\n 完成" + strings.Repeat("后", 100)
	for _, tc := range []struct {
		text, word string
		size       int
		want       string
	}{
		{"short text", "text", 30, "short text"},
		{"", "x", 30, ""},
		{"a\n b\tc", "", 30, "a b c"},
		{"no such word in here at all", "部署", 10, "no such wo…"},
		{long, "部署", 12, "…前前前前部署 完成后…"},
		{long, "后", 3000, strings.Repeat("前", 100) + "部署 完成" + strings.Repeat("后", 100)},
		{"İİİİİİİİİİ end", "end", 6, "…İ end"},
	} {
		words, _ := Parse(tc.word)
		if got := Snippet(tc.text, words, tc.size); got != tc.want {
			t.Errorf("%.20q around %q: %q, want %q", tc.text, tc.word, got, tc.want)
		}
	}
}

// Whatever is looked for and found is shown, within bounds.
func TestSnippetShowsTheWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z部署环境İÉ😀%_]{1,8}`).Draw(t, "word")
		text := rapid.String().Draw(t, "before") + word + rapid.String().Draw(t, "after")
		words, err := Parse(word)
		if err != nil {
			t.Skip(err)
		}
		if !Match(text, words) {
			t.Fatalf("%q is not found in %q", words, text)
		}
		got := Snippet(text, words, 40)
		if utf8.RuneCountInString(got) > 42 || strings.ContainsAny(got, "\n\r") {
			t.Fatalf("snippet %q", got)
		}
		if !Match(got, words) {
			t.Fatalf("snippet %q does not show %q", got, words)
		}
	})
}

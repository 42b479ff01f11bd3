package markdown

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func under(n int) func(string) bool {
	return func(s string) bool { return len(s) <= n }
}

// underJSON measures as most platforms do: the text as a JSON string.
func underJSON(n int) func(string) bool {
	return func(s string) bool {
		b, _ := json.Marshal(s)
		return len(b) <= n
	}
}

func TestSplit(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := 1 // comment\n", 5) + "```\n"
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 5)
	for _, c := range []struct {
		name, text string
		fits       func(string) bool
		want       []string
	}{
		{"empty", "", under(10), nil},
		{"blank", " \n\n ", under(2), nil},
		{"fits", "hello", under(10), []string{"hello"}},
		{"paragraphs", "one two\n\nthree four\n\nfive", under(20), []string{"one two\n\nthree four\n", "\nfive"}},
		{"lines", "one two three\nfour five six\nseven", under(20), []string{"one two three\n", "four five six\nseven"}},
		{"sentences", "It is so. Then it is not so.", under(22), []string{"It is so. Then it is ", "not so."}},
		{"sentence in the second half", "It is so, or not. Then more.", under(24), []string{"It is so, or not. ", "Then more."}},
		{"chinese", "今天天气很好。我们去公园", under(27), []string{"今天天气很好。", "我们去公园"}},
		{"words", "aaaa bbbb cccc dddd", under(12), []string{"aaaa bbbb ", "cccc dddd"}},
		{"no boundary", strings.Repeat("a", 25), under(10), []string{"aaaaaaaaaa", "aaaaaaaaaa", "aaaaa"}},
		{"family stays whole", "aaaaaa👨‍👩‍👧b", under(20), []string{"aaaaaa", "👨‍👩‍👧b"}},
		{"cluster that cannot fit", "👨‍👩‍👧", under(4), []string{"👨", "\u200d", "👩", "\u200d", "👧"}},
		{"rune that cannot fit", "中文", under(1), []string{"中", "文"}},
		{"fence", code, under(70), []string{
			"```go\n" + strings.Repeat("x := 1 // comment\n", 3) + "```",
			"```go\n" + strings.Repeat("x := 1 // comment\n", 2) + "```\n",
		}},
		{"fence in quote", "> ~~~sh\n> aaaa\n> bbbb\n> ~~~\n", under(26), []string{
			"> ~~~sh\n> aaaa\n> ~~~", "> ~~~sh\n> bbbb\n> ~~~\n",
		}},
		{"fence left open is closed", "```\nab", under(100), []string{"```\nab\n```"}},
		{"table kept whole", "Intro.\n\n" + table, under(len(table)), []string{"Intro.\n\n", table}},
		{"table cut", table, under(50), []string{
			"| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 2),
			"| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 2),
			"| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 1),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Split(c.text, c.fits)
			if strings.Join(got, "¶") != strings.Join(c.want, "¶") || len(got) != len(c.want) {
				t.Fatalf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

var fragments = []string{
	"word ", "Sentence ends. ", "中文句子。", "\n", "\n\n", "```go\n", "```\n", "~~~~\n", "  ```\n", "> ", "> ```\n",
	"| a | b |\n|---|---|\n", "| 1 | 2 |\n", "# Title\n", "- item\n", "👨‍👩‍👧", "e\u0301", "`code`", "\r\n", "\t", "|", "<b>", "\\", "🇨🇳",
	"a-long-unbroken-run-of-characters-without-any-place-to-cut", "\xff",
}

func textGen() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 120).Draw(t, "fragments"), "")
	})
}

func TestSplitLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := textGen().Draw(t, "text")
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		checkSplit(t, text, underJSON(limit), limit >= 80)
	})
}

// checkSplit checks what holds for every text; roomy says that fences, headers
// and the longest cluster fit with room to spare.
func checkSplit(t interface{ Fatalf(string, ...any) }, text string, fits func(string) bool, roomy bool) {
	var joined strings.Builder
	for _, p := range split(text, fits) {
		whole := p.open + p.body + p.close
		if !fits(whole) && utf8.RuneCountInString(p.body) > 1 {
			t.Fatalf("piece does not fit: %q", whole)
		}
		if strings.TrimSpace(p.body) == "" {
			t.Fatalf("blank piece in %q", text)
		}
		if roomy {
			// A fence in a quote ends with the quote, marker or not.
			if !balanced(whole) && !strings.Contains(p.body, "> ```") {
				t.Fatalf("fence is open at the end of %q", whole)
			}
		}
		joined.WriteString(p.body)
	}
	if squeeze(joined.String()) != squeeze(text) {
		t.Fatalf("lost or added: %q became %q", text, joined.String())
	}
	if !roomy {
		return
	}
	at := 0
	bounds := map[int]bool{0: true}
	for g := uniseg.NewGraphemes(text); g.Next(); {
		_, end := g.Positions()
		bounds[end] = true
	}
	for _, p := range split(text, fits) {
		// Dropped blank pieces shift the offset to the next occurrence.
		i := strings.Index(text[at:], p.body)
		if i < 0 || !bounds[at+i] || !bounds[at+i+len(p.body)] {
			t.Fatalf("cut in a cluster: %q of %q", p.body, text)
		}
		at += i + len(p.body)
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func balanced(s string) bool { return CloseFence(s) == s }

func FuzzSplit(f *testing.F) {
	f.Add("```go\nx\n```\n| a |\n|---|\n| 1 |\n", 20)
	f.Add(strings.Join(fragments, ""), 100)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 1<<14 {
			return
		}
		limit = 8 + (limit&0x7fffffff)%5000
		checkSplit(t, text, under(limit), false)
	})
}

func BenchmarkSplit(b *testing.B) {
	for name, text := range map[string]string{
		"words":    strings.Repeat("some words of a text. ", 1<<20/22),
		"one-word": strings.Repeat("a", 1<<20),
		"chinese":  strings.Repeat("中文句子。", 1<<20/15),
		"code":     "```go\n" + strings.Repeat("x := 1\n", 1<<20/7) + "```\n",
		"table":    "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 1<<20/10),
		"ticks":    strings.Repeat("`", 1<<20),
		"bars":     strings.Repeat("|", 1<<20),
		"newlines": strings.Repeat("\n", 1<<20) + "x",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Split(text, underJSON(3500))
			}
		})
	}
}

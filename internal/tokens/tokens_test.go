package tokens

import (
	"strings"
	"sync"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
)

func TestEstimate(t *testing.T) {
	for s, want := range map[string]int{
		"":            0,
		"a":           1,
		"abcd":        1,
		"abcde":       2,
		"你好":          2,
		"你好ab":        3,
		"，。":          2,
		"한글":          2,
		"ひらがな":        4,
		"𠮷":           1,
		"😀":           1,
		"\xff\xff":    1,
		"привет мир!": 5,
	} {
		if got := Estimate(s); got != want {
			t.Errorf("Estimate(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestEstimateIsAtLeastWhatItPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		han, other := 0, 0
		for _, r := range s {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
				han++
			} else if r < 0x80 {
				other++
			}
		}
		if got := Estimate(s); got < han+other/bytesPerToken || got > len(s) {
			t.Fatalf("Estimate(%q) = %d: %d CJK, %d ASCII, %d bytes", s, got, han, other, len(s))
		}
	})
}

func TestMessage(t *testing.T) {
	reasoning := "abcd"
	m := &models.SessionMessage{
		Content:   "abcdefgh",
		Images:    []string{"data:image/png;base64," + strings.Repeat("A", 1<<20)},
		ToolCalls: []models.ToolCall{{ID: "call", Name: "tool", Arguments: `{"a":1}`}},
		Reasoning: &reasoning,
	}
	want := MessageOverhead + 2 + ImageCost + ToolCallOverhead + 1 + 1 + 2 + 1
	if got := Message(m, nil); got != want {
		t.Errorf("Message = %d, want %d", got, want)
	}
	if got := Message(&models.SessionMessage{ToolCallID: "call"}, nil); got != MessageOverhead+1 {
		t.Errorf("result = %d", got)
	}
}

func TestCounter(t *testing.T) {
	var c Counter
	for s, want := range map[string]int{"": 0, "hello world": 2, "tiktoken is great!": 6} {
		if got := c.Count(s); got != want {
			t.Errorf("Count(%q) = %d, want %d", s, got, want)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := c.Count("hello world"); got != 2 {
				t.Errorf("concurrent Count = %d", got)
			}
		})
	}
	wg.Wait()
}

func TestCounterOnHugeTexts(t *testing.T) {
	var c Counter
	for name, s := range map[string]string{
		"one run":     strings.Repeat("a", 1<<20),
		"words":       strings.Repeat("some words ", 1<<16),
		"hanzi":       strings.Repeat("汉字", 1<<17),
		"not UTF-8":   strings.Repeat("\xff", 1<<16),
		"white space": strings.Repeat(" ", 1<<20),
	} {
		if got := c.Count(s); got < 1 || got > len(s) {
			t.Errorf("%s: %d tokens for %d bytes", name, got, len(s))
		}
	}
}

func BenchmarkCounter(b *testing.B) {
	var c Counter
	c.Count("load")
	for name, s := range map[string]string{"prose": strings.Repeat("some words ", 100), "run": strings.Repeat("a", 64<<10)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				c.Count(s)
			}
		})
	}
}

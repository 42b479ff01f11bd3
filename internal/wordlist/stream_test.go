package wordlist

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestApply(t *testing.T) {
	f := New(Rule{Words: []string{"badword", "敏感词", "敏感", "he", "she", "hers", "Straße", "ＡＢＣ"}}, Rule{Words: []string{"毒品", "bomb"}, Refuse: true})
	for _, c := range []struct {
		text, want string
		refused    bool
	}{
		{"nothing to see", "nothing to see", false},
		{"a BadWord, too", "a ＊＊＊＊＊＊＊, too", false},
		{"ｂａｄｗｏｒｄ", "＊＊＊＊＊＊＊", false},
		{"这是敏感词。", "这是＊＊＊。", false},
		{"这很敏感", "这很＊＊", false},
		{"敏\u200b感\u00ad词", "＊＊＊", false},
		{"ushers", "u＊＊＊＊＊", false},
		{"badwor", "badwor", false},
		{"badwobadword", "badwo＊＊＊＊＊＊＊", false},
		{"敏感敏感词敏", "＊＊＊＊＊敏", false},
		{"STRAßE", "＊＊＊＊＊＊", false},
		{"abc", "＊＊＊", false},
		{"a BOMB", "", true},
		{"买毒品", "", true},
		{"", "", false},
		{"👨\u200d👩\u200d👧 stays", "👨\u200d👩\u200d👧 stays", false},
	} {
		got, refused := f.Apply(c.text)
		if refused != c.refused || !refused && got != c.want {
			t.Errorf("Apply(%q) = %q, %v, want %q, %v", c.text, got, refused, c.want, c.refused)
		}
	}
}

func TestNoWordsNoFilter(t *testing.T) {
	f := New(Rule{Words: []string{"\u200b"}})
	if f != nil {
		t.Fatal("a filter of nothing")
	}
	if got, refused := f.Apply("text"); got != "text" || refused {
		t.Errorf("%q, %v", got, refused)
	}
	s := f.Stream()
	if got := s.Write("te") + s.Write("xt") + s.Close(); got != "text" || s.Refused() {
		t.Errorf("%q", got)
	}
}

// However a text is cut into pieces, no part of a word is shown on the way, and in
// the end it is the text that Apply makes.
func TestPiecesMakeNoDifference(t *testing.T) {
	letters := []rune("abABＡ敏感词\u200b。")
	word := rapid.StringOfN(rapid.SampledFrom(letters), 1, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(word, 1, 6).Draw(t, "words")
		f := New(Rule{Words: list})
		text := rapid.StringOfN(rapid.SampledFrom(letters), 0, 40, -1).Draw(t, "text")
		want, _ := f.Apply(text)
		if f != nil && f.finds(want) && !strings.ContainsRune(strings.Join(list, ""), mask) {
			t.Fatalf("a word is left in %q", want)
		}
		s, shown := f.Stream(), ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 7)).Draw(t, "bytes")
			shown += s.Write(rest[:n])
			rest = rest[n:]
			if !strings.HasPrefix(want, shown) {
				t.Fatalf("%q was shown on the way to %q", shown, want)
			}
		}
		if shown += s.Close(); shown != want {
			t.Fatalf("%q, want %q", shown, want)
		}
	})
}

func TestNothingFollowsARefusedWord(t *testing.T) {
	s := New(Rule{Words: []string{"bomb"}, Refuse: true}).Stream()
	shown := s.Write("how to build a bo") + s.Write("mb: take") + s.Write(" this") + s.Close()
	if shown != "how to build a " || !s.Refused() {
		t.Errorf("%q, refused %v", shown, s.Refused())
	}
}

// An invisible character that nothing follows is not held back for ever.
func TestWhatCannotBecomeAWordIsShownAtOnce(t *testing.T) {
	s := New(Rule{Words: []string{"abc"}}).Stream()
	for _, piece := range []string{"x", "你", "a", "bx"} {
		s.Write(piece)
	}
	if len(s.held) != 0 {
		t.Errorf("%d characters are held back", len(s.held))
	}
}

func TestLoad(t *testing.T) {
	write := func(content string) string {
		name := filepath.Join(t.TempDir(), "words.txt")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	got, err := Load(write("\uFEFF# a list\r\n\r\n 敏感词 \r\nbad word\n"))
	if err != nil || strings.Join(got, "|") != "敏感词|bad word" {
		t.Errorf("%q, %v", got, err)
	}
	for content, complaint := range map[string]string{
		"":                                    "holds no word",
		"# nothing\n":                         "holds no word",
		"ok\n\xff\n":                          ":2: is not UTF-8",
		"ok\n" + strings.Repeat("长", 101):     ":2: is longer than 100 characters",
		strings.Repeat("word\n", MaxFile/5+1): "larger than 8 MiB",
	} {
		if _, err := Load(write(content)); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("error %v, want %s", err, complaint)
		}
	}
	for _, name := range []string{t.TempDir(), "/dev/null", filepath.Join(t.TempDir(), "none")} {
		if _, err := Load(name); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("bad敏感", "so bad 敏\u200b感", 3)
	f.Fuzz(func(t *testing.T, list, text string, n int) {
		filter := New(Rule{Words: strings.Fields(list)})
		if !utf8.ValidString(text) {
			return
		}
		want, _ := filter.Apply(text)
		s, shown := filter.Stream(), ""
		for rest := text; rest != ""; {
			n := min(max(n, 1), len(rest))
			shown += s.Write(rest[:n])
			rest = rest[n:]
		}
		if shown += s.Close(); shown != want {
			t.Errorf("%q, want %q", shown, want)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{100, 50_000} {
		random := rand.New(rand.NewPCG(1, 2))
		list := make([]string, n)
		for i := range list {
			for range 2 + random.IntN(4) {
				list[i] += string(rune(0x4e00 + random.IntN(3000)))
			}
		}
		filter := New(Rule{Words: list})
		text := strings.Repeat("今天的天气很好,我们一起去公园散步吧。The weather is fine. ", 100)
		b.Run(fmt.Sprintf("words=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				filter.Apply(text)
			}
		})
	}
}

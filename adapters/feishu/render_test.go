package feishu

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/markdown"
)

func TestRenderTables(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	table := "| name | value |\n|---|---|\n| a | 1 |\n\n"
	pieces := r.adapter.Render(adapters.Answer{Text: strings.Repeat(table, 8)})
	if len(pieces) != 1 || strings.Count(pieces[0], "|---|---|") != 8 {
		t.Fatalf("the text itself keeps its tables: %q", pieces)
	}
	if n := strings.Count(finalCard(pieces[0]), "|---|---|"); n != maxTables {
		t.Errorf("%d tables in the card, want %d", n, maxTables)
	}
	if n := strings.Count(finalCard(pieces[0]), "- **a**: 1"); n != 8-maxTables {
		t.Errorf("%d lists in the card", n)
	}
}

func TestRenderPictures(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	got := r.adapter.Render(adapters.Answer{Text: "![chart](https://x/y.png) ![k](img_v3_1)\n```\n![a](b)\n```"})[0]
	if want := "[chart](https://x/y.png) ![k](img_v3_1)\n```\n![a](b)\n```"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEscapedSizeIsTheWireSize(t *testing.T) {
	empty := wireSize(textOf(""))
	rapid.Check(t, func(t *rapid.T) {
		text := clean(rapid.String().Draw(t, "text") + rapid.StringMatching(`["\\\n\t<>&汉a👨‍👩‍👧]*`).Draw(t, "awkward"))
		if got, want := escapedSize(text), wireSize(textOf(text))-empty; got != want {
			t.Fatalf("%q: %d, want %d", text, got, want)
		}
	})
}

func TestWhatFitsIsSentAsACard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"汉字。", "word ", "\"<&>\\", "| a | b |\n|---|---|\n| 1 | 2 |\n\n", "```\ncode\n```\n", "👨‍👩‍👧"}).Draw(t, "unit")
		text := clean(strings.Repeat(unit, rapid.IntRange(1, 6000).Draw(t, "times")))
		for _, piece := range markdown.Split(text, fitsCard) {
			if n := wireSize(finalCard(piece)); n > maxContent {
				t.Fatalf("a card of %d bytes", n)
			}
			if n := wireSize(postOf(piece)); n > maxContent {
				t.Fatalf("a post of %d bytes", n)
			}
		}
	})
}

func BenchmarkRender(b *testing.B) {
	a := &Adapter{}
	for name, text := range map[string]string{
		"chinese": strings.Repeat("汉字不可断。", 6000),
		"tables":  strings.Repeat("| a |\n|---|\n| 汉字 |\n\ntext\n\n", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				a.Render(adapters.Answer{Text: text})
			}
		})
	}
}

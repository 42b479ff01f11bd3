package feishu

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
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

package dingtalk

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

func testAdapter(t testing.TB, cfg Config) *Adapter {
	t.Helper()
	cfg.Account, cfg.ClientID, cfg.ClientSecret = "main", "id", "secret"
	a, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestShape(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"single break", "one\ntwo\n\nthree", "one  \ntwo\n\nthree"},
		{"windows breaks", "one\r\ntwo", "one  \ntwo"},
		{"heading and list", "# T\ntext\n- a\n- b\n1. c", "# T\ntext\n- a\n- b\n1. c"},
		{"quote", "said:\n> a\n> b", "said:\n> a\n> b"},
		{"html is text", "a <div> b < c", "a &lt;div> b &lt; c"},
		{"br and autolink", "a<br>b <https://x.y/?a=1> c", "a  \nb https://x.y/?a=1 c"},
		{"code span", "run `a<b` <now>", "run `a<b` &lt;now>"},
		{"fence", "text:\n```html\n<div>\n# comment\n\n</div>\n```\nend", "text:\n```html\n<div>\n# comment\n\n</div>\n```\nend"},
		{"table", "see:\n| k | v |\n|---|---|\n| a | <1> |\nend", "see:\n\n- **a**: &lt;1>\nend"},
		{"table after blank", "see:\n\n| k | v |\n|---|---|\n| a | x<br>y |\n", "see:\n\n- **a**: x y\n"},
		{"control characters", "a\x00b\x1b[0m\u2028c", "ab[0m  \nc"},
		{"invalid utf-8", "a\xffb", "a\ufffdb"},
		{"blank", " \n\t", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shape(c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestCardShape(t *testing.T) {
	in := "one\ntwo\n\n```\na\nb\n```\n| k | v |\n|---|---|\n| a | 1 |\n"
	want := "one<br>\ntwo\n\n```\na\nb\n```\n| k | v |\n|---|---|\n| a | 1 |\n"
	if got := cardShape(in); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// What was shaped for a message is shown the same in a card.
	if got := cardShape(shape("one\ntwo <b>")); got != "one<br>\ntwo &lt;b>" {
		t.Errorf("shaped twice: %q", got)
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{
		"## Build is **green**\nmore": "Build is green",
		"a &lt;div> b":                "a <div> b",
		"一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十": "一二三四五六七八九十一二三四五六七八九十一二三…",
		"![](@media)":   "…",
		"text\n\n(2/3)": "text",
	} {
		if got := titleOf(in); got != want {
			t.Errorf("titleOf(%q) = %q, want %q", in, got, want)
		}
	}
	if long := titleOf("e" + strings.Repeat("\u0301", 10000)); len(long) > maxTitleBytes || !utf8.ValidString(long) {
		t.Errorf("%d bytes of title", len(long))
	}
}

func TestRenderMention(t *testing.T) {
	a := testAdapter(t, Config{})
	group, direct := models.Target{ChatID: "g"}, models.Target{ChatID: "d", Direct: true}
	for _, c := range []struct {
		text, id string
		target   models.Target
		want     string
	}{
		{"yes", "emp7", group, "@emp7 yes"},
		{"- a\n- b", "emp7", group, "@emp7\n\n- a\n- b"},
		{"```\nx\n```", "emp7", group, "@emp7\n\n```\nx\n```"},
		{"yes", "emp7", direct, "yes"},
		{"yes", "$:LWCP_v1:$x", group, "yes"},
		{"yes", "a b", group, "yes"},
		{"", "emp7", group, ""},
	} {
		got := strings.Join(a.Render(adapters.Answer{Text: c.text, Target: c.target, MentionID: c.id}), "¶")
		if got != c.want {
			t.Errorf("%q to %q: got %q, want %q", c.text, c.id, got, c.want)
		}
	}
}

func TestRenderSplitsAndNumbers(t *testing.T) {
	a := testAdapter(t, Config{})
	text := "intro\n\n```go\n" + strings.Repeat("x := 1 // 注释\n", 1500) + "```\n\noutro"
	pieces := a.Render(adapters.Answer{Text: text, MentionID: "emp7"})
	if len(pieces) < 3 {
		t.Fatalf("%d pieces", len(pieces))
	}
	lines := 0
	for i, p := range pieces {
		if !strings.HasSuffix(p, fmt.Sprintf("\n\n(%d/%d)", i+1, len(pieces))) {
			t.Errorf("piece %d is not numbered: %q", i+1, p[len(p)-20:])
		}
		if strings.Count(p, "```")%2 != 0 {
			t.Errorf("piece %d leaves a fence open", i+1)
		}
		if strings.HasPrefix(p, "@emp7") != (i == 0) {
			t.Errorf("piece %d: %q", i+1, p[:20])
		}
		lines += strings.Count(p, "x := 1 // 注释")
	}
	if lines != 1500 {
		t.Errorf("%d of 1500 lines are left", lines)
	}
}

func TestRenderFitsBothWays(t *testing.T) {
	for _, template := range []string{"", "card"} {
		a := testAdapter(t, Config{CardTemplateID: template})
		rapid.Check(t, func(t *rapid.T) {
			part := rapid.SampledFrom([]string{"word ", "汉字。", "\"\\", "\n", "\n\n", "```\n", "<x>", "😀", "| a | b |\n|---|---|\n| 1 | 2 |\n", "\t", "&"})
			text := strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
				return strings.Repeat(part.Draw(t, "part"), rapid.IntRange(1, 700).Draw(t, "times"))
			}), 0, 8).Draw(t, "parts"), "")
			for _, p := range a.Render(adapters.Answer{Text: text, MentionID: strings.Repeat("m", 256)}) {
				body, err := encode(webhookMessage(p, strings.Repeat("m", 256)))
				if err != nil || len(body) > 20000 {
					t.Fatalf("webhook body of %d bytes, %v", len(body), err)
				}
				if n := len(msgParam(p)); n > 15000 {
					t.Fatalf("msgParam of %d bytes", n)
				}
				if template != "" {
					if _, whole := fitCard(withoutMention(p, strings.Repeat("m", 256))); !whole {
						t.Fatalf("a piece of %d characters does not fit a card", utf8.RuneCountInString(p))
					}
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	a := testAdapter(b, Config{})
	text := strings.Repeat("Some **words** of an answer with `code`, <html> and 汉字。\nAnother line.\n\n", 1<<20/80)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a.Render(adapters.Answer{Text: text})
	}
}

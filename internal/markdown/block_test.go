package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBlocksJoinToTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := textGen().Draw(t, "text")
		var joined strings.Builder
		for _, b := range Blocks(text) {
			joined.WriteString(b.Text)
		}
		if joined.String() != text {
			t.Fatalf("%q became %q", text, joined.String())
		}
		if got := MapText(text, func(s string) string { return s }); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestBlocks(t *testing.T) {
	got := Blocks("a\n```go\n| x |\n|---|\n```\n\n| h |\n|---|\n| c |\nb\n")
	want := []Block{
		{Text, "a\n"},
		{Code, "```go\n| x |\n|---|\n```\n"},
		{Text, "\n"},
		{Table, "| h |\n|---|\n| c |\n"},
		{Text, "b\n"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("block %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestMapTextLeavesCodeAlone(t *testing.T) {
	text := "a<b `x<y` ``p`<q`` lone ` a<b\n```\na<b\n```\n<"
	want := "a&lt;b `x<y` ``p`<q`` lone ` a&lt;b\n```\na<b\n```\n&lt;"
	got := MapText(text, func(s string) string { return strings.ReplaceAll(s, "<", "&lt;") })
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableList(t *testing.T) {
	for _, c := range []struct{ name, block, want string }{
		{"two columns", "| k | v |\n|---|---|\n| a | 1 |\n| b | x \\| y |\n", "- **a**: 1\n- **b**: x | y\n"},
		{"three columns", "| n | x | y |\n|:-:|--|--|\n| a | 1 |  |\n|  | 2 | 3 |", "- **a**: x: 1\n- x: 2; y: 3"},
		{"code with pipe", "a|b\n-|-\n`p|q`|r\n", "- `p|q`: r\n"},
		{"header only", "| a | b |\n|---|---|\n", "- a, b\n"},
		{"no table", "plain\ntext\n", "plain\ntext\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := TableList(c.block); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct {
		text, want string
		n          int
	}{
		{"", "", 10},
		{"\n\n---\n## **Build** is [green](http://x)\nmore", "Build is green", 30},
		{"```go\nfunc main() {}\n```\nThe program", "The program", 30},
		{"```\nonly code\n```", "only code", 30},
		{"1. first\n2. second", "first", 30},
		{"| a | b |\n|---|---|\n", "a b", 30},
		{"一二三四五六", "一二三…", 4},
		{"👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", "👨‍👩‍👧…", 2},
		{"abcd", "abcd", 4},
		{"- [x] done", "done", 30},
	} {
		if got := Title(c.text, c.n); got != c.want {
			t.Errorf("Title(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestCloseFence(t *testing.T) {
	for text, want := range map[string]string{
		"a":              "a",
		"```go\nx":       "```go\nx\n```",
		"```go\nx\n":     "```go\nx\n```",
		"```go\nx\n```":  "```go\nx\n```",
		"~~~~\n```\nx\n": "~~~~\n```\nx\n~~~~",
		"```":            "```\n```",
		"  ```\nx":       "  ```\nx\n  ```",
	} {
		if got := CloseFence(text); got != want {
			t.Errorf("CloseFence(%q) = %q, want %q", text, got, want)
		}
	}
}

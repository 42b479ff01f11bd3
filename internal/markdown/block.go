package markdown

import (
	"regexp"
	"strings"
)

// BlockKind says what a block is.
type BlockKind int

// The kinds of blocks.
const (
	Text  BlockKind = iota // anything else
	Code                   // a fenced code block with its fences
	Table                  // a table with its header
)

// Block is a run of whole lines of one kind.
type Block struct {
	Kind BlockKind
	Text string
}

// Blocks divides text into blocks; joined they are the text again.
func Blocks(text string) []Block {
	var out []Block
	start := 0
	lines := scan(text)
	for i, l := range lines {
		if i+1 < len(lines) && sameBlock(l, lines[i+1]) {
			continue
		}
		kind := Text
		switch {
		case l.fence != nil:
			kind = Code
		case l.table != nil:
			kind = Table
		}
		out = append(out, Block{kind, text[start:l.end]})
		start = l.end
	}
	return out
}

func sameBlock(a, b line) bool { return a.fence == b.fence && a.table == b.table }

// MapText returns text with f applied to every stretch outside fenced code and
// code spans.
func MapText(text string, f func(string) string) string {
	var out strings.Builder
	for _, b := range Blocks(text) {
		if b.Kind == Code {
			out.WriteString(b.Text)
			continue
		}
		mapSpans(&out, b.Text, f)
	}
	return out.String()
}

// mapSpans applies f outside code spans: a span ends at the next run of as many
// backticks as began it, within its paragraph.
func mapSpans(out *strings.Builder, text string, f func(string) string) {
	for _, paragraph := range strings.SplitAfter(text, "\n\n") {
		rest, from := paragraph, 0
		// Runs that found no partner are not looked for again: the scan stays linear
		// in all but the number of different lengths.
		unmatched := map[int]bool{}
		for {
			i := strings.IndexByte(rest[from:], '`')
			if i < 0 {
				break
			}
			i += from
			n := backticks(rest[i:])
			end := -1
			if !unmatched[n] {
				end = closingRun(rest[i+n:], n)
			}
			if end < 0 {
				unmatched[n] = true
				from = i + n
				continue
			}
			if i > 0 {
				out.WriteString(f(rest[:i]))
			}
			out.WriteString(rest[i : i+n+end+n])
			rest, from = rest[i+n+end+n:], 0
		}
		if rest != "" {
			out.WriteString(f(rest))
		}
	}
}

func backticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// closingRun returns where the first run of exactly n backticks begins in s, -1 if nowhere.
func closingRun(s string, n int) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		run := backticks(s[at:])
		if run == n {
			return at
		}
		at += run
	}
}

// CloseFence returns text with a code fence that is still open at its end closed,
// as text that still grows needs it.
func CloseFence(text string) string {
	s := splitter{text: text, lines: scan(text)}
	f, _ := s.within(len(text))
	switch {
	case f == nil:
		return text
	case strings.HasSuffix(text, "\n"):
		return text + f.indent + f.marker
	}
	return text + "\n" + f.indent + f.marker
}

var (
	listMark = regexp.MustCompile(`^(?:[#>]+\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)+`)
	linkMark = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	emphasis = strings.NewReplacer("**", "", "__", "", "~~", "", "`", "", "*", "")
)

// Plain returns one line of Markdown without its marks.
func Plain(line string) string {
	s := listMark.ReplaceAllString(strings.TrimSpace(line), "")
	s = linkMark.ReplaceAllString(s, "$1")
	return strings.TrimSpace(emphasis.Replace(s))
}

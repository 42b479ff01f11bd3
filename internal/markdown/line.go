package markdown

import (
	"regexp"
	"sort"
	"strings"
)

type lineKind int

const (
	plain     lineKind = iota
	blank              // nothing but white space, outside code
	opener             // the first line of a code fence
	code               // a line inside a fence
	closer             // the last line of a fence
	tableHead          // a table's header or delimiter row
	tableRow
)

// line is one line of a text, its line break included.
type line struct {
	start, end int
	kind       lineKind
	fence      *fence // of opener, code and closer
	table      *table // of tableHead and tableRow
}

// fence is how a code block begins.
type fence struct {
	indent string // white space and quote marks before the fence
	marker string // e.g. "```"
	info   string // the rest of the line, e.g. "go"
}

// table is where a table's header is: both of its rows, line breaks included.
type table struct {
	start, end int
}

// scan sorts the lines of text by what they are.
func scan(text string) []line {
	lines := make([]line, 0, strings.Count(text, "\n")+1)
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		lines = append(lines, line{start: start, end: end})
		start = end
	}
	var open *fence
	var in *table
	for i := range lines {
		l := &lines[i]
		s := strings.TrimRight(text[l.start:l.end], "\r\n")
		if open != nil && open.endsBefore(s) {
			open = nil
		}
		switch {
		case open != nil:
			l.kind, l.fence = code, open
			if open.closedBy(s) {
				l.kind, open = closer, nil
			}
			continue
		case in != nil && i > 0 && lines[i-1].kind == tableHead && l.start < in.end:
			l.kind, l.table = tableHead, in
			continue
		case in != nil && strings.Contains(s, "|"):
			l.kind, l.table = tableRow, in
			continue
		}
		in = nil
		if open = openFence(s); open != nil {
			l.kind, l.fence = opener, open
			continue
		}
		if strings.TrimSpace(s) == "" {
			l.kind = blank
			continue
		}
		if i+1 < len(lines) && isTableHead(s, strings.TrimRight(text[lines[i+1].start:lines[i+1].end], "\r\n")) {
			in = &table{l.start, lines[i+1].end}
			l.kind, l.table = tableHead, in
		}
	}
	return lines
}

// lineAt returns the index of the line that holds the byte at p, len(lines) at the end.
func lineAt(lines []line, p int) int {
	return sort.Search(len(lines), func(i int) bool { return lines[i].end > p })
}

// openFence returns the fence that s opens, nil if none. Fences may be indented
// by any amount, as they are inside lists, and stand in quotes.
func openFence(s string) *fence {
	rest := strings.TrimLeft(s, " \t>")
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return nil
	}
	info := strings.TrimLeft(rest, rest[:1])
	marker := rest[:len(rest)-len(info)]
	if len(marker) < 3 || marker[0] == '`' && strings.Contains(info, "`") {
		return nil
	}
	return &fence{indent: s[:len(s)-len(rest)], marker: marker, info: info}
}

func (f *fence) quotes() int { return strings.Count(f.indent, ">") }

// closedBy reports whether s is the closing line of f.
func (f *fence) closedBy(s string) bool {
	rest := strings.TrimLeft(s, " \t>")
	return strings.Count(s[:len(s)-len(rest)], ">") == f.quotes() &&
		strings.HasPrefix(rest, f.marker) && strings.Trim(rest, f.marker[:1]+" \t") == ""
}

// endsBefore reports whether f stood in a quote that s is no longer part of.
func (f *fence) endsBefore(s string) bool {
	rest := strings.TrimLeft(s, " \t>")
	return strings.Count(s[:len(s)-len(rest)], ">") < f.quotes()
}

var delimiterRow = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)

func isTableHead(header, delimiters string) bool {
	return strings.Contains(header, "|") && strings.Contains(delimiters, "|") &&
		delimiterRow.MatchString(delimiters) && len(cells(header)) == len(cells(delimiters))
}

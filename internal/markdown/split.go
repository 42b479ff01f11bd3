package markdown

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Split cuts text into pieces for which fits is true. It prefers the ends of
// paragraphs, then of lines, sentences and words, and cuts no grapheme cluster.
// A code fence that is open at the end of a piece is closed there and reopened in
// the next with the same info string; a table is kept whole where it fits a piece
// of its own, else its header is repeated. Nothing else is added, and nothing is
// lost but pieces of nothing but white space. A blank text has no pieces.
//
// fits measures a piece as the platform will, encoding included; it must not get
// true again by adding text. If it refuses even a single cluster, clusters are cut
// at runes, and a rune that it refuses is a piece of its own.
func Split(text string, fits func(piece string) bool) []string {
	var out []string
	for _, p := range split(text, fits) {
		out = append(out, p.open+p.body+p.close)
	}
	return out
}

// piece is a part of a text with what was added around it.
type piece struct{ open, body, close string }

func split(text string, fits func(string) bool) []piece {
	s := &splitter{text: text, lines: scan(text), fits: fits, guess: 1024}
	var out []piece
	for pos := 0; pos < len(text); {
		end := s.next(pos)
		if body := text[pos:end]; strings.TrimSpace(body) != "" {
			out = append(out, s.piece(pos, end))
		}
		s.guess = max(end-pos, 16)
		pos = end
	}
	return out
}

type splitter struct {
	text  string
	lines []line
	fits  func(string) bool
	guess int // size of the piece before, where the search begins
}

// next returns the best end of the piece that begins at pos.
func (s *splitter) next(pos int) int {
	limit := s.reach(pos)
	if limit == len(s.text) {
		return limit
	}
	if t := s.wholeTable(pos, limit); t > pos {
		return t
	}
	length := limit - pos
	for _, least := range []int{length / 2, length / 4, 0} {
		if end := s.lineEnd(pos, pos+least, limit); end > pos {
			return end
		}
		if end := s.inLine(pos, pos+least, limit); end > pos {
			return end
		}
	}
	// A cluster that does not fit, or not even a rune.
	_, size := utf8.DecodeRuneInString(s.text[pos:])
	return max(limit, pos+size)
}

// reach returns the last rune boundary up to which a piece from pos fits, pos if none.
// It gallops from the size of the piece before, so that no text much longer than
// a piece is ever measured.
func (s *splitter) reach(pos int) int {
	fits := func(end int) bool {
		p := s.piece(pos, s.runeStart(end))
		return s.fits(p.open + p.body + p.close)
	}
	low, step := pos, s.guess
	high := min(pos+step, len(s.text))
	for fits(high) {
		if high == len(s.text) {
			return high
		}
		low, step = high, 2*step
		high = min(high+step, len(s.text))
	}
	n := sort.Search(high-low-1, func(i int) bool { return !fits(low + i + 1) })
	return s.runeStart(low + n)
}

func (s *splitter) runeStart(p int) int {
	for q := p; q > 0 && q < len(s.text) && p-q < utf8.UTFMax; q-- {
		if utf8.RuneStart(s.text[q]) {
			return q
		}
	}
	return p
}

// wholeTable returns the start of the table that limit would cut, if it lies
// behind pos and the table fits a piece of its own; else 0.
func (s *splitter) wholeTable(pos, limit int) int {
	i := lineAt(s.lines, limit)
	if i == len(s.lines) || s.lines[i].table == nil || s.lines[i].table.start <= pos {
		return 0
	}
	t := s.lines[i].table
	for i < len(s.lines) && s.lines[i].table == t {
		i++
	}
	end := s.lines[i-1].end
	if t.start >= limit || !s.fits(strings.TrimRight(s.text[t.start:end], "\n")) {
		return 0
	}
	return t.start
}

// lineEnd returns the best end of a line in [least, limit]: of a paragraph or
// block, else of a line of text, else of a line of code or row of a table; 0 if none.
func (s *splitter) lineEnd(pos, least, limit int) int {
	var text, inside int
	for i := lineAt(s.lines, limit); i > 0; i-- {
		start := len(s.text)
		if i < len(s.lines) {
			start = s.lines[i].start
		}
		if start <= pos || start < least {
			break
		}
		if start > limit || i == len(s.lines) {
			continue
		}
		before, after := s.lines[i-1].kind, s.lines[i].kind
		switch {
		case after == closer || before == opener || before == tableHead && s.lines[i].table != nil:
			// An empty block would be left behind.
		case after == code || after == tableRow:
			if inside == 0 && s.fitsTo(pos, start) {
				inside = start
			}
		case before != plain || after != plain || strings.HasPrefix(s.text[start:], "#"):
			if s.fitsTo(pos, start) {
				return start
			}
		case text == 0 && s.fitsTo(pos, start):
			text = start
		}
	}
	if text > 0 {
		return text
	}
	return inside
}

// inLine returns the best place in [least, limit] within the line that limit is
// in: the end of a sentence, else of a word, else of a cluster; 0 if none.
func (s *splitter) inLine(pos, least, limit int) int {
	from := pos
	if i := lineAt(s.lines, limit); i < len(s.lines) {
		from = max(pos, s.lines[i].start)
	}
	var sentence, word, cluster int
	// Some rules look ahead without end; a little is enough to judge what is before limit.
	rest, state := s.text[from:s.runeStart(min(limit+256, len(s.text)))], -1
	for at := from; at < limit && rest != ""; {
		var seg string
		var boundaries int
		seg, rest, boundaries, state = uniseg.StepString(rest, state)
		at += len(seg)
		if at > limit || at < least {
			continue
		}
		cluster = at
		if boundaries&uniseg.MaskLine == uniseg.LineCanBreak {
			word = at
			if boundaries&uniseg.MaskSentence != 0 {
				sentence = at
			}
		}
	}
	for _, end := range []int{sentence, word, cluster} {
		if end > pos && s.fitsTo(pos, end) {
			return end
		}
	}
	return 0
}

func (s *splitter) fitsTo(pos, end int) bool {
	p := s.piece(pos, end)
	return s.fits(p.open + p.body + p.close)
}

// piece returns the text from pos to end with what has to be added around it.
func (s *splitter) piece(pos, end int) piece {
	p := piece{body: s.text[pos:end]}
	if f, t := s.within(pos); f != nil {
		p.open, _ = s.fenceAround(f)
	} else if t != nil {
		// A header that takes more than half of a piece is not worth repeating.
		if head := s.text[t.start:t.end]; s.fits(head + head) {
			p.open = head
		}
	}
	if f, _ := s.within(end); f != nil && end > pos {
		_, p.close = s.fenceAround(f)
		if p.close != "" && !strings.HasSuffix(p.body, "\n") {
			p.close = "\n" + p.close
		}
	}
	return p
}

// fenceAround returns the lines that reopen and close f; both are empty if they
// would take more than half of a piece.
func (s *splitter) fenceAround(f *fence) (reopen, end string) {
	end = f.indent + f.marker
	for _, reopen := range []string{end + f.info + "\n", end + "\n"} {
		if s.fits(strings.Repeat(reopen+end, 2)) {
			return reopen, end
		}
	}
	return "", ""
}

// within returns the fence or table that a cut at p would break.
func (s *splitter) within(p int) (*fence, *table) {
	i := lineAt(s.lines, p)
	if i == len(s.lines) {
		if i > 0 && (s.lines[i-1].kind == opener || s.lines[i-1].kind == code) {
			return s.lines[i-1].fence, nil
		}
		return nil, nil
	}
	l := s.lines[i]
	switch l.kind {
	case code:
		return l.fence, nil
	case opener:
		if p >= l.start+len(l.fence.indent)+len(l.fence.marker) {
			return l.fence, nil
		}
	case closer:
		if strings.Count(s.text[l.start:p], l.fence.marker[:1]) < len(l.fence.marker) {
			return l.fence, nil
		}
	case tableRow:
		return nil, l.table
	}
	return nil, nil
}

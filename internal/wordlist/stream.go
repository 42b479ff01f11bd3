package wordlist

import (
	"strings"
	"unicode/utf8"
)

// mask stands for each character of a masked word. The narrow asterisk would make
// what stands between two masked words bold.
const mask = '＊'

// Stream masks a text that arrives in pieces. It holds back what may turn out to be
// the beginning of a word. A nil stream passes everything on.
type Stream struct {
	f       *Filter
	at      int32
	cut     string // the first bytes of a character that is not whole yet
	held    []glyph
	refused bool
}

// glyph is a character that is held back.
type glyph struct {
	r      rune
	masked bool
}

// Stream returns a stream at its beginning; nil for a nil filter.
func (f *Filter) Stream() *Stream {
	if f == nil {
		return nil
	}
	return &Stream{f: f}
}

// Write takes a piece and returns what can be shown by now. After a refused word
// that is nothing any more.
func (s *Stream) Write(piece string) string {
	if s == nil {
		return piece
	}
	text := s.cut + piece
	s.cut = ""
	for i, r := range text {
		if r == utf8.RuneError && !utf8.FullRuneInString(text[i:]) {
			s.cut = text[i:]
			break
		}
		s.take(r)
	}
	return s.release(int(s.f.nodes[s.at].depth))
}

// Close returns what is still held back.
func (s *Stream) Close() string {
	if s == nil {
		return ""
	}
	for _, r := range s.cut {
		s.take(r)
	}
	s.cut = ""
	return s.release(0)
}

// Refused reports whether the text so far holds a word that is refused.
func (s *Stream) Refused() bool { return s != nil && s.refused }

func (s *Stream) take(r rune) {
	s.held = append(s.held, glyph{r: r})
	if invisible(r) {
		return
	}
	s.at = s.f.follow(s.at, fold(r))
	n := s.f.nodes[s.at]
	s.refused = s.refused || n.stop
	for i, left := len(s.held)-1, n.match; left > 0; i-- {
		if !invisible(s.held[i].r) {
			left--
		}
		s.held[i].masked = true
	}
}

// release lets go of all but the last so many visible characters.
func (s *Stream) release(keep int) string {
	end := len(s.held)
	for ; keep > 0; end-- {
		if !invisible(s.held[end-1].r) {
			keep--
		}
	}
	var out strings.Builder
	for _, g := range s.held[:end] {
		switch {
		case !g.masked:
			out.WriteRune(g.r)
		case !invisible(g.r):
			out.WriteRune(mask)
		}
	}
	s.held = append(s.held[:0], s.held[end:]...)
	if s.refused {
		return ""
	}
	return out.String()
}

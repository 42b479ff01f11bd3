package wordlist

import (
	"unicode"

	"golang.org/x/text/width"
)

// fold gives all spellings of a character one form: full width becomes narrow, and
// the letters that differ in case alone become the smallest of them.
func fold(r rune) rune {
	if r < 0x80 {
		if 'a' <= r && r <= 'z' {
			return r - ('a' - 'A')
		}
		return r
	}
	if unicode.Is(unicode.Han, r) {
		return r
	}
	if narrow := width.LookupRune(r).Folded(); narrow != 0 {
		r = narrow
	}
	smallest := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		smallest = min(smallest, next)
	}
	return smallest
}

// invisible reports whether a character shows nothing: people hide words behind it.
func invisible(r rune) bool {
	switch r {
	case 0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF: // soft hyphen, zero-width space and (non-)joiners, BOM
		return true
	}
	return false
}

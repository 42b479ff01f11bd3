package toolloop

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// capped returns text in a form that can be stored, of about limit bytes at most: its head, a
// note of the original size, and its tail.
func capped(text string, limit int) string {
	size := len(text)
	if size > limit {
		// Both ends are cut before anything else looks at a text of megabytes.
		head := text[:runeStart(text, limit*3/4)]
		tail := text[runeStart(text, size-limit/4):]
		text = fmt.Sprintf("%s\n[… cut: the result had %d bytes …]\n%s", head, size, tail)
	}
	return storable(text)
}

// storable repairs a text that no store takes: invalid UTF-8 and NUL.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// runeStart returns the start of the rune that i lies in; i itself where there is none.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := range min(utf8.UTFMax, i) {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}

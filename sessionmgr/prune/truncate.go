package prune

import (
	"fmt"
	"unicode/utf8"
)

// Truncate shortens s to at most limit characters: its head, a note with the
// original size, and its tail. Where not even a short note fits it is the head
// alone. Cuts are on rune boundaries; a limit of zero or less is none.
func Truncate(s string, limit int) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	size := utf8.RuneCountInString(s)
	if size <= limit {
		return s
	}
	note := fmt.Sprintf("\n… [%d characters in all, the middle is left out] …\n", size)
	room := limit - utf8.RuneCountInString(note)
	if room < limit/2 {
		note = fmt.Sprintf("…[%d characters]…", size)
		room = limit - utf8.RuneCountInString(note)
	}
	if room < 2 {
		return s[:runeOffset(s, limit)]
	}
	tail := room / 3
	return s[:runeOffset(s, room-tail)] + note + s[runeOffset(s, size-tail):]
}

// runeOffset returns the byte offset of the n-th rune of s, counted from 0.
func runeOffset(s string, n int) int {
	for offset := range s {
		if n == 0 {
			return offset
		}
		n--
	}
	return len(s)
}

package key

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
)

const upperHex = "0123456789ABCDEF"

// reserved reports whether a byte of an id is percent-escaped in a key.
func reserved(b byte) bool {
	return b <= 0x20 || b == 0x7F || b == '%' || b == ':' || b == '/'
}

// Escape writes an id as a part of a key: the bytes up to 0x20, 0x7F, '%', ':'
// and '/' become %XX in upper-case hex, every other byte stays.
func Escape(id string) string {
	n := 0
	for i := range len(id) {
		if reserved(id[i]) {
			n++
		}
	}
	if n == 0 {
		return id
	}
	var b strings.Builder
	b.Grow(len(id) + 2*n)
	for i := range len(id) {
		if c := id[i]; reserved(c) {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&0xF]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Unescape is the inverse of [Escape]. It accepts only what Escape writes, so
// that an id has one spelling; anything else is an [ErrInvalid].
func Unescape(s string) (string, error) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && reserved(byte(r)) }) {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c != '%' && reserved(c):
			return "", invalid("byte 0x%02X must be escaped", c)
		case c != '%':
			b.WriteByte(c)
		case i+2 >= len(s):
			return "", invalid("escape is cut off at the end")
		default:
			hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
			if hi < 0 || lo < 0 {
				return "", invalid("escape %q is not two upper-case hex digits", s[i:i+3])
			}
			decoded := byte(hi<<4 | lo)
			if !reserved(decoded) {
				return "", invalid("escape %q is not needed", s[i:i+3])
			}
			b.WriteByte(decoded)
			i += 2
		}
	}
	return b.String(), nil
}

// checkID refuses ids that no platform or caller may have. The bytes are taken
// as they are, but must be UTF-8: a key that JSON cannot carry cannot be used.
func checkID(what, id string) error {
	switch {
	case id == "":
		return invalid("%s is empty", what)
	case len(id) > models.MaxForeignID:
		return invalid("%s has %d bytes, at most %d are allowed", what, len(id), models.MaxForeignID)
	case !utf8.ValidString(id):
		return invalid("%s is not valid UTF-8", what)
	}
	return nil
}

func checkName(what, name string) error {
	if !models.ValidName(name) {
		return invalid("%s %q is not a name of 1 to %d letters, digits, '.', '_' or '-'", what, truncate(name), models.MaxName)
	}
	return nil
}

// truncate keeps error texts short whatever a caller sent.
func truncate(s string) string {
	if len(s) <= models.MaxName {
		return s
	}
	return s[:models.MaxName] + "…"
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

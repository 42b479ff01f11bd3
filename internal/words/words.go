package words

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a query.
const (
	MaxQuery = 200 // characters
	MaxWords = 10
)

// Errors of [Parse].
var (
	ErrNone    = errors.New("words: there is no word to look for")
	ErrTooMany = fmt.Errorf("words: more than %d words or %d characters to look for", MaxWords, MaxQuery)
)

// Parse returns the words of a query, each once, in lower case. None at all is
// [ErrNone], more than the bounds [ErrTooMany].
func Parse(query string) ([]string, error) {
	var out []string
	for w := range strings.FieldsSeq(query) {
		if w = fold(w); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	switch {
	case len(out) == 0:
		return nil, ErrNone
	case len(out) > MaxWords || utf8.RuneCountInString(query) > MaxQuery:
		return nil, ErrTooMany
	}
	return out, nil
}

// Match reports whether a text has all the words, as [Parse] returns them.
func Match(text string, words []string) bool {
	text = fold(text)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Snippet returns the part of a text around the first of the words that it has, on
// one line, of about size characters; without such a word its beginning.
func Snippet(text string, words []string, size int) string {
	folded, at := fold(text), len(text)
	for _, w := range words {
		if i := strings.Index(folded, w); i >= 0 {
			at = min(at, i)
		}
	}
	from := 0
	if at < len(folded) { // a text and its fold have the same number of characters
		from = max(0, utf8.RuneCountInString(folded[:at])-size/3)
	}
	return cut(text, from, size)
}

// cut takes size characters of a text from one on, and marks what is missing.
func cut(text string, from, size int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		switch {
		case n == from+size:
			return mark(b.String(), from > 0) + "…"
		case n >= from:
			b.WriteRune(r)
		}
		n++
	}
	return mark(b.String(), from > 0)
}

func mark(text string, cut bool) string {
	text = strings.Join(strings.Fields(text), " ")
	if cut {
		return "…" + text
	}
	return text
}

func fold(s string) string { return strings.Map(Fold, s) }

// Fold returns the letter that stands for r in all cases. ASCII letters stand for
// themselves alone, as they do in a database that knows no other cases.
func Fold(r rune) rune {
	lower := unicode.ToLower(r)
	if lower < utf8.RuneSelf && r >= utf8.RuneSelf { // the Kelvin sign
		return r
	}
	return lower
}

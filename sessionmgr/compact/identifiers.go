package compact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
)

const (
	// scanned is how much of each end of a text is searched for identifiers, in bytes.
	scanned = 32 << 10
	// longestID is the longest one that is kept, in bytes; what is longer is no name.
	longestID = 300
	// mostIDs bounds how many the program adds to a summary, candidates how many it
	// looks at for that.
	mostIDs, candidates = 100, 1000
)

// ends is what no address or path goes beyond: blanks, quotes, brackets, and the
// punctuation of Chinese text.
const ends = "\\s\"'`<>|，。；：！？、（）【】《》「」“”‘’"

// What has to be repeated exactly, in the order in which it is looked for.
var (
	address = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^` + ends + `]+`)
	email   = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`)
	rooted  = regexp.MustCompile(`(?:^|[` + ends + `(\[=])((?:~|\.{1,2}|[A-Za-z]:)?[/\\][^` + ends + `()\[\]]+)`)
	file    = regexp.MustCompile(`(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]{2,}(?:\.[a-z0-9_-]+)*\.[a-z][a-z0-9]{1,5}\b`)
	// word is what may be a name, a number, a date or a hash. Commas are part of a
	// number, colons of a time.
	word = regexp.MustCompile(`[#+]?[A-Za-z0-9]+(?:[._:/#@-]+[A-Za-z0-9]+|,[0-9]{3}\b)*%?`)
)

// identifiersIn returns what of a text has to be repeated exactly: addresses, paths,
// and words that no language has; loose numbers only if numbers is set.
func identifiersIn(text string, numbers bool) []string {
	text = marked(endsOf(text))
	var found []string
	take := func(mark string, pattern *regexp.Regexp, group int, keep func(string) bool) {
		if !strings.ContainsAny(text, mark) {
			return
		}
		rest := []byte(text)
		for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
			id := strings.TrimRight(text[at[2*group]:at[2*group+1]], ".,;:!?)]}")
			if len(id) <= longestID && (keep == nil || keep(id)) {
				found = append(found, id)
			}
			for i := at[0]; i < at[1]; i++ {
				rest[i] = ' ' // its parts are not names of their own
			}
		}
		text = string(rest)
	}
	take("/", address, 0, nil)
	take("@", email, 0, nil)
	take(`/\`, rooted, 1, func(id string) bool {
		return strings.Count(id, "/")+strings.Count(id, `\`) > 1 || strings.Contains(id, ".")
	})
	take(".", file, 0, nil)
	take("0123456789_", word, 0, func(id string) bool { return exact(id, numbers) })
	return found
}

// marked keeps of a text the words, as blanks divide them, that an identifier may be
// in: no pattern goes beyond a blank.
func marked(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsAny(word, `0123456789/\@_`) || strings.Contains(word[:len(word)-1], ".") {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// exact reports whether a word is one of those that cannot be said differently.
func exact(id string, numbers bool) bool {
	digits, letters, marks := 0, 0, 0
	for _, r := range id {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		default:
			marks++
		}
	}
	switch {
	case letters > 0:
		return digits > 0 && len(id) >= 3 || strings.Contains(id, "_")
	case numbers:
		return digits >= 3 || digits == 2 && marks > 0 || strings.HasSuffix(id, "%")
	}
	return false
}

// endsOf bounds what is searched of a text, at the borders of runes.
func endsOf(text string) string {
	if len(text) <= 2*scanned {
		return text
	}
	head, tail := scanned, len(text)-scanned
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + "\n" + text[tail:]
}

// collect returns the identifiers of what is replaced, each once, the most needed
// first: what people and the assistant said, newest first; then those of the earlier
// summary; then those of tool results, whose loose numbers do not count.
func collect(earlier string, messages []*models.SessionMessage) []string {
	var out []string
	seen := map[string]bool{}
	add := func(text string, numbers bool) {
		if len(out) >= candidates {
			return
		}
		for _, id := range identifiersIn(text, numbers) {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	for _, m := range slices.Backward(messages) {
		if m.Role == models.RoleTool {
			continue
		}
		add(m.Content, true)
		if m.Quote != nil {
			add(m.Quote.Text, true)
		}
		for _, c := range m.ToolCalls {
			add(c.Arguments, true)
		}
	}
	add(earlier, true)
	for _, m := range slices.Backward(messages) {
		if m.Role == models.RoleTool {
			add(m.Content, false)
		}
	}
	return out[:min(len(out), candidates)]
}

// says reports whether a text holds an identifier, and not as a part of another one.
func says(text, id string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], id)
		if at < 0 {
			return false
		}
		at += from
		if !goesOn(reversed(text[:at])) && !goesOn(text[at+len(id):]) {
			return true
		}
		from = at + 1
	}
}

// reversed returns the last two characters of a text, the last one first.
func reversed(text string) string {
	last, size := utf8.DecodeLastRuneInString(text)
	if size == 0 {
		return ""
	}
	text = text[:len(text)-size]
	if before, size := utf8.DecodeLastRuneInString(text); size > 0 {
		return string(last) + string(before)
	}
	return string(last)
}

// goesOn reports whether a text that follows an identifier makes it another one: it
// begins with a letter, or with a mark and a letter behind it.
func goesOn(text string) bool {
	letter := func(r rune) bool {
		return r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || letter(first) || !strings.ContainsRune("./-:,@#?&=%", first) {
		return size > 0 && letter(first)
	}
	second, _ := utf8.DecodeRuneInString(text[size:])
	return letter(second)
}

package compact

import "strings"

// The headings of a summary, in their order.
const (
	Decisions   = "## Decisions"
	OpenTasks   = "## Open tasks"
	Constraints = "## Constraints"
	PendingAsks = "## Pending asks"
	Identifiers = "## Exact identifiers"
)

// Headings returns all of them, in their order.
func Headings() []string {
	return []string{Decisions, OpenTasks, Constraints, PendingAsks, Identifiers}
}

// arrange gives a model's summary the headings in their spelling and order, those
// that it lacks too. What stands before the first one stays there; a heading of the
// model's own stays in the section it stands in.
func arrange(text string) string {
	all := Headings()
	sections := make([][]string, len(all)+1) // before the headings, then theirs
	at := 0
	for line := range strings.SplitSeq(unfenced(text), "\n") {
		if i := headingOf(line); i >= 0 {
			at = i + 1
			continue
		}
		sections[at] = append(sections[at], line)
	}
	var b strings.Builder
	put := func(lines []string) {
		if body := strings.Trim(strings.Join(lines, "\n"), "\n"); body != "" {
			b.WriteString(body + "\n")
		}
	}
	put(sections[0])
	for i, heading := range all {
		b.WriteString(heading + "\n")
		put(sections[i+1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headingOf returns which heading a line is, however it is dressed, or -1.
func headingOf(line string) int {
	const dress = "#*_:： \t"
	name := strings.Trim(strings.TrimSpace(line), dress)
	if name == strings.TrimSpace(line) {
		return -1 // the bare words may be anything
	}
	for i, heading := range Headings() {
		if strings.EqualFold(name, strings.Trim(heading, dress)) {
			return i
		}
	}
	return -1
}

// unfenced takes off a code fence around the whole text.
func unfenced(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	first, rest, more := strings.Cut(text, "\n")
	if !more || !strings.HasPrefix(first, "```") || !strings.HasSuffix(rest, "\n```") {
		return text
	}
	if body := strings.TrimSuffix(rest, "\n```"); !strings.Contains(body, "\n```") {
		return body
	}
	return text
}

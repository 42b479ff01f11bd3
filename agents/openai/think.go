package openai

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkFilter parts a model's thoughts from its answer where the provider leaves
// them in the text: <think>…</think> at the very start. Anywhere else the tag is
// part of the answer.
type thinkFilter struct {
	state thinkState
	held  string // what cannot be decided yet
}

type thinkState int

const (
	thinkStart  thinkState = iota // nothing but blanks and a part of the tag so far
	thinkInside                   // between the tags
	thinkAfter                    // behind the closing tag, before the answer's first letter
	thinkDone                     // in the answer
)

// write takes the next piece and returns what is certain by now.
func (f *thinkFilter) write(piece string) (text, thought string) {
	f.held += piece
	for {
		switch f.state {
		case thinkStart:
			trimmed := strings.TrimLeft(f.held, " \t\r\n")
			if rest, ok := strings.CutPrefix(trimmed, thinkOpen); ok {
				f.state, f.held = thinkInside, rest
				continue
			}
			if strings.HasPrefix(thinkOpen, trimmed) {
				return "", thought
			}
			f.state = thinkDone
		case thinkInside:
			before, after, closed := strings.Cut(f.held, thinkClose)
			if !closed {
				keep := partialSuffix(f.held, thinkClose)
				thought += f.held[:len(f.held)-keep]
				f.held = f.held[len(f.held)-keep:]
				return "", thought
			}
			thought += before
			f.state, f.held = thinkAfter, after
		case thinkAfter:
			f.held = strings.TrimLeft(f.held, " \t\r\n")
			if f.held == "" {
				return "", thought
			}
			f.state = thinkDone
		case thinkDone:
			text, f.held = f.held, ""
			return text, thought
		}
	}
}

// flush returns what was held back at the end of the answer.
func (f *thinkFilter) flush() (text, thought string) {
	held := f.held
	f.held = ""
	if f.state == thinkInside {
		return "", held
	}
	return held, ""
}

// partialSuffix returns how many bytes at the end of s may begin tag.
func partialSuffix(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasPrefix(tag, s[len(s)-n:]) {
			return n
		}
	}
	return 0
}

package feishu

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/markdown"
)

// Render turns an answer into pieces, each of which fits a card and a post.
func (a *Adapter) Render(answer adapters.Answer) []string {
	text := clean(answer.Text)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lead := ""
	if !answer.Target.Direct && a.cfg.chat(answer.Target.ChatID).Mention {
		if tag := mentionTag(answer.MentionID); tag != "" {
			lead = tag + separator(text)
		}
	}
	pieces := markdown.Split(text, func(piece string) bool { return fitsCard(lead + piece) })
	for i, piece := range pieces {
		pieces[i] = strings.Trim(piece, "\n")
	}
	pieces[0] = lead + pieces[0]
	return pieces
}

// separator keeps a mention from spoiling what begins a line.
func separator(text string) string {
	if strings.ContainsAny(text[:1], "#>|`~-*+0123456789 \t") {
		return "\n"
	}
	return " "
}

// frame is more than what a card or post adds to its text, the summary included.
const frame = 2 << 10

// fitsCard reports whether a card and a post hold text. Splitting asks often, so it
// counts instead of encoding.
func fitsCard(text string) bool {
	return escapedSize(text)+frame <= maxContent && escapedSize(limitTables(text))+frame <= maxContent
}

// escapedSize is the size of a clean text in a request: a JSON string within a JSON
// string, the outer one with the characters of HTML escaped.
func escapedSize(text string) int {
	n := len(text)
	for i := range len(text) {
		switch text[i] {
		case '"', '\\':
			n += 3
		case '\n', '\t':
			n += 2
		case '<', '>', '&':
			n += 5
		}
	}
	return n
}

var (
	atLike      = regexp.MustCompile(`(?i)<(/?at\b)`)
	linkedImage = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)[^)]*\)`)
)

// clean makes an agent's text safe to show: it mentions nobody on its own, and
// pictures that the platform cannot show become links.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029': // line and paragraph separator
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, text)
	text = atLike.ReplaceAllString(text, "<\u200b$1")
	return markdown.MapText(text, func(s string) string {
		return linkedImage.ReplaceAllStringFunc(s, func(image string) string {
			parts := linkedImage.FindStringSubmatch(image)
			if strings.HasPrefix(parts[2], "img_") {
				return image
			}
			name := parts[1]
			if strings.TrimSpace(name) == "" {
				name = parts[2]
			}
			return "[" + name + "](" + parts[2] + ")"
		})
	})
}

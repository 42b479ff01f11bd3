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

func fitsCard(text string) bool {
	// What is certainly too long need not be encoded to be measured.
	return len(text) <= maxContent && wireSize(finalCard(text)) <= maxContent && wireSize(postOf(text)) <= maxContent
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

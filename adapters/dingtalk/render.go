package dingtalk

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/markdown"
)

// Limits of one message. Those of the platform are in bytes of the encoded body;
// the margins are for what is added after measuring: mention, title, numbering.
const (
	maxWebhookBody = 20000 - 1000 // code 460101 above 20000
	maxMsgParam    = 15000 - 500
	maxRunes       = 3500 // longer texts are shown badly
	maxCardRunes   = 2800 // above about 3000 a card is blank although the call succeeds
	titleLength    = 24   // grapheme clusters; the chat list shows about as much
	maxTitleBytes  = 120
)

// Render shapes the Markdown for the platform and cuts it into pieces that fit
// both ways out. Pieces of one answer are numbered; the first mentions the asker.
func (a *Adapter) Render(answer adapters.Answer) []string {
	text := shape(answer.Text)
	limit := maxRunes
	if a.cfg.streams() {
		limit = maxCardRunes
	}
	pieces := markdown.Split(text, func(piece string) bool {
		if utf8.RuneCountInString(piece) > limit {
			return false
		}
		body, _ := encode(webhookMessage(piece, ""))
		return len(body) <= maxWebhookBody && len(msgParam(piece)) <= maxMsgParam
	})
	for i, piece := range pieces {
		piece = strings.TrimRight(strings.Trim(piece, "\r\n"), " \n")
		if len(pieces) > 1 {
			piece = fmt.Sprintf("%s\n\n(%d/%d)", piece, i+1, len(pieces))
		}
		if i == 0 && !answer.Target.Direct && mentionable(answer.MentionID) {
			piece = mention(answer.MentionID) + separator(piece) + piece
		}
		pieces[i] = piece
	}
	return pieces
}

// mentionable reports whether id is a staff id: the opaque ids of people from
// outside cannot be mentioned.
func mentionable(id string) bool {
	return id != "" && !strings.HasPrefix(id, "$:") && !strings.ContainsFunc(id, unicode.IsSpace)
}

func mention(staffID string) string { return "@" + staffID }

var startsBlock = regexp.MustCompile("^\\s*(?:[#>|]|```|~~~|[-*+] |\\d+[.)] )")

// separator stands between the mention and the text: a block needs its own line.
func separator(text string) string {
	if startsBlock.MatchString(text) {
		return "\n\n"
	}
	return " "
}

// withoutMention takes the mention off a piece, for ways out that cannot mention.
func withoutMention(text, staffID string) string {
	if rest, ok := cutMention(text, staffID); ok {
		return strings.TrimLeft(rest, " \n")
	}
	return text
}

func cutMention(text, staffID string) (string, bool) {
	if staffID == "" {
		return text, false
	}
	rest, ok := strings.CutPrefix(text, mention(staffID))
	return rest, ok && (rest == "" || rest[0] == ' ' || rest[0] == '\n')
}

// titleOf is what the chat list and notifications show of a message.
func titleOf(text string) string {
	title := markdown.Title(numbering.ReplaceAllString(text, ""), titleLength)
	title = strings.NewReplacer("&lt;", "<", "<br>", " ").Replace(title)
	for len(title) > maxTitleBytes {
		_, size := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-size]
	}
	if title == "" {
		return "…"
	}
	return title
}

var (
	numbering = regexp.MustCompile(`\n\n\(\d+/\d+\)$`)
	autolink  = regexp.MustCompile(`<((?:https?|mailto):[^<>\s]+)>`)
	lineBreak = regexp.MustCompile(`(?i)<br\s*/?>[ \t]*\n?`)
)

// shape rewrites Markdown into what DingTalk shows as meant: a single line break
// breaks the line, HTML is text, tables are lists. Code stays as it is.
func shape(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var out strings.Builder
	for _, b := range markdown.Blocks(printable(text)) {
		switch b.Kind {
		case markdown.Code:
			out.WriteString(b.Text)
		case markdown.Table:
			// A list that follows text at once would be part of its paragraph.
			out.WriteString(apart(out.String()) + breakLines(escape(markdown.TableList(lineBreak.ReplaceAllString(b.Text, " "))), "  \n"))
		default:
			out.WriteString(breakLines(escape(b.Text), "  \n"))
		}
	}
	return out.String()
}

// cardShape rewrites Markdown, shaped or not, for AI cards, where only <br>
// breaks a line.
func cardShape(text string) string {
	var out strings.Builder
	for _, b := range markdown.Blocks(printable(text)) {
		switch b.Kind {
		case markdown.Text:
			out.WriteString(breakLines(escape(b.Text), "<br>\n"))
		default:
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

func apart(before string) string {
	switch {
	case before == "" || strings.HasSuffix(before, "\n\n"):
		return ""
	case strings.HasSuffix(before, "\n"):
		return "\n"
	}
	return "\n\n"
}

// escape makes HTML readable text, code spans excepted.
func escape(text string) string {
	return markdown.MapText(text, func(s string) string {
		s = autolink.ReplaceAllString(s, "$1")
		s = lineBreak.ReplaceAllString(s, "\n")
		return strings.ReplaceAll(s, "<", "&lt;")
	})
}

// breakLines ends every line that another one follows with the given break. Lines
// around it that begin or end a block break by themselves.
func breakLines(text, lineEnd string) string {
	lines := strings.Split(text, "\n")
	var out strings.Builder
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if i == len(lines)-1 {
			out.WriteString(l)
			break
		}
		trimmed := strings.TrimRight(l, " ")
		next := strings.TrimSpace(lines[i+1])
		if trimmed == "" || next == "" || startsBlock.MatchString(next) || heading.MatchString(trimmed) {
			out.WriteString(trimmed + "\n")
			continue
		}
		out.WriteString(trimmed + lineEnd)
	}
	return out.String()
}

var heading = regexp.MustCompile(`^\s*(?:#{1,6}\s|[-*_=]{3,}\s*$)`)

// printable returns valid UTF-8 without control characters, which clients show as
// boxes or not at all.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return r
		case unicode.IsControl(r):
			return -1
		case r == '\u2028' || r == '\u2029':
			return '\n'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

package compact

import (
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
)

const (
	// maxResult bounds what a model is shown of a tool's call or result, in tokens:
	// what the assistant made of it follows.
	maxResult = 500
	// leastText is what is worth showing of a text, in tokens.
	leastText = 8
	// maxSpeaker is how long a speaker's or tool's name may be, in characters.
	maxSpeaker = 32
)

// entry is a message as the record of a conversation shows it.
type entry struct {
	text   string
	tokens int
}

// recorder writes messages down for a model.
type recorder struct {
	tools map[string]string // by the id of the call
}

func newRecorder(messages []*models.SessionMessage) *recorder {
	r := &recorder{tools: map[string]string{}}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			r.tools[c.ID] = c.Name
		}
	}
	return r
}

// entry writes one message down in at most limit tokens. All that was said stands in
// lines that nothing inside can end.
func (r *recorder) entry(m *models.SessionMessage, limit int) entry {
	var b strings.Builder
	left := limit
	put := func(heading, text string, most int) {
		heading = "[" + heading + "]\n"
		most = min(most, left) - tokens.Estimate(heading) - 1
		if most < leastText || strings.TrimSpace(text) == "" {
			return
		}
		piece := heading + quoted(text, most) + "\n"
		b.WriteString(piece)
		left -= tokens.Estimate(piece)
	}
	most := limit
	switch {
	case m.Role == models.RoleTool:
		most = maxResult
	case len(m.ToolCalls) > 0:
		most = limit * 2 / 3
	}
	put(r.heading(m), contentOf(m), most)
	for _, c := range m.ToolCalls {
		put("assistant calls "+nameOf(c.Name), c.Arguments, maxResult)
	}
	return entry{b.String(), limit - left}
}

func (r *recorder) heading(m *models.SessionMessage) string {
	name := nameOf(m.SenderName)
	switch {
	case m.Role == models.RoleTool:
		return strings.TrimSpace("result of " + nameOf(r.tools[m.ToolCallID]))
	case m.Role != models.RoleUser || name == "":
		return string(m.Role)
	case m.Observed:
		return "overheard " + name
	default:
		return "user " + name
	}
}

func nameOf(name string) string { return prune.Truncate(window.CleanName(name), maxSpeaker) }

// contentOf is what was said, with what it answered and what came with it.
func contentOf(m *models.SessionMessage) string {
	text := m.Content
	if m.Quote != nil && m.Quote.Text != "" {
		text = fmt.Sprintf("(about: %s)\n%s", m.Quote.Text, text)
	}
	if len(m.Images) > 0 || m.ImagesOmitted {
		text += "\n(with pictures)"
	}
	return text
}

// quoted puts every line of a text behind a mark, in at most limit tokens: the middle
// of a longer text is left out.
func quoted(text string, limit int) string {
	return shorten(text, limit, func(short string) string {
		return "> " + strings.Join(strings.FieldsFunc(short, window.LineBreak), "\n> ")
	})
}

// clipped cuts the middle out of a text of more than limit tokens.
func clipped(text string, limit int) string {
	return shorten(text, limit, func(short string) string { return short })
}

// maxCharsPerToken is where the search for a cut begins: few tokens are longer.
const maxCharsPerToken = 8

// shorten returns the form of a text, or of as much of it as has at most limit tokens
// in that form. What it counts is bounded, however long the text is.
func shorten(text string, limit int, form func(string) string) string {
	for size := max(1, maxCharsPerToken*limit); ; {
		short := form(prune.Truncate(text, size))
		n := tokens.Estimate(short)
		if n <= limit || size == 1 {
			return short
		}
		size = max(1, min(size-1, size*limit/n))
	}
}

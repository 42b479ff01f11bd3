package toolloop

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
)

// errorMark begins the text of every result that is a failure.
const errorMark = "Error: "

func refusal(err error) agents.ToolResult {
	return agents.ToolResult{Text: errorMark + err.Error(), IsError: true}
}

// origin is what is known of a result besides what a model sees of it.
type origin struct {
	tool string
	size int    // of the whole, in bytes
	id   string // what the whole is kept under; empty: it is not
}

// message is a result as a model sees it and as it is stored.
func (r *runner) message(ctx context.Context, call models.ToolCall, result agents.ToolResult) *models.SessionMessage {
	text := result.Text
	if result.IsError && !strings.HasPrefix(text, errorMark) {
		text = errorMark + text // the protocol to the model has no other place for it
	}
	m := &models.SessionMessage{Role: models.RoleTool, ToolCallID: call.ID, Content: storable(text), Images: result.Images}
	r.origins[m] = &origin{tool: call.Name, size: len(text)}
	r.shorten(ctx, m, r.cfg.MaxResultBytes)
	return m
}

// shorten cuts what a model sees of a result to limit bytes; the whole is kept. It
// reports whether there was anything to cut.
func (r *runner) shorten(ctx context.Context, m *models.SessionMessage, limit int) bool {
	from := r.origins[m]
	over := len(m.Content) > limit
	if over && from.id == "" && r.keep != nil {
		id, err := r.keep(ctx, from.tool, m.Content[:runeStart(m.Content, models.MaxFullResult)])
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "tool result could not be kept whole", "tool", from.tool, "bytes", from.size, "error", err)
		}
		from.id = id
	}
	m.Content = capped(m.Content, limit, *from)
	return over
}

// capped returns text in a form that can be stored, of about limit bytes at most: its
// head, a note of what is missing, and its tail.
func capped(text string, limit int, whole origin) string {
	if size := len(text); size > limit {
		head := text[:runeStart(text, limit*3/4)]
		tail := text[runeStart(text, size-limit/4):]
		more := ""
		if whole.id != "" {
			more = fmt.Sprintf("; read_more with result %q and offset %d goes on from here", whole.id, len(head))
		}
		text = fmt.Sprintf("%s\n[… cut: the result had %d bytes%s …]\n%s", head, whole.size, more, tail)
	}
	return storable(text)
}

// storable repairs a text that no store takes: invalid UTF-8 and NUL.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// runeStart returns the start of the rune that i lies in; i itself where there is none.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := range min(utf8.UTFMax, i) {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/store"
)

// readMore is how much one call of read_more shows, in bytes.
const readMore = 32 << 10

// readMoreTool shows parts of results that were too large for the context.
type readMoreTool struct{ set *Set }

var readMoreSpec = agents.ToolSpec{
	Name:        ReadMore,
	Description: "Reads on in an earlier tool result that was cut: a note in its place says the result's id and an offset.",
	Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"result":{"type":"string","minLength":1,"description":"the id that the note says"},` +
		`"offset":{"type":"integer","minimum":0,"description":"the byte to begin at; leave it out for the beginning"}},` +
		`"required":["result"],"additionalProperties":false}`),
}

// Spec describes the tool.
func (readMoreTool) Spec() agents.ToolSpec { return readMoreSpec }

var errNoResult = errors.New("there is no such result; it may be too old")

// Call shows a part.
func (t readMoreTool) Call(ctx context.Context, args json.RawMessage, _ string) (agents.ToolResult, error) {
	var a struct {
		Result string
		Offset int
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("read more: %w", err)
	}
	key, err := session(ctx)
	if err != nil {
		return agents.ToolResult{}, err
	}
	result, err := t.set.notebook.Result(ctx, key, a.Result)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return agents.ToolResult{}, errNoResult
	case err != nil:
		return agents.ToolResult{}, refused(err, "there is no such result")
	case a.Offset >= len(result.Text):
		return agents.ToolResult{}, fmt.Errorf("the result has %d bytes", len(result.Text))
	}
	from, to := runeStart(result.Text, a.Offset), runeStart(result.Text, a.Offset+readMore)
	note := "the end"
	if to < len(result.Text) {
		note = fmt.Sprintf("offset %d goes on", to)
	} else if result.Size > len(result.Text) {
		note = "the rest was not kept"
	}
	return agents.ToolResult{Text: fmt.Sprintf("%s\n[bytes %d to %d of %d; %s]", result.Text[from:to], from, to, result.Size, note)}, nil
}

// runeStart returns the start of the rune that i lies in.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

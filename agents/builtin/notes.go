package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// maxRecalled is how many notes one call of recall shows.
const maxRecalled = 50

// rememberTool keeps a note for the session.
type rememberTool struct{ set *Set }

var rememberSpec = agents.ToolSpec{
	Name:        Remember,
	Description: "Keeps a note for this chat, beyond what the conversation holds. A note with a key replaces the earlier one with that key.",
	Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"text":{"type":"string","minLength":1,"maxLength":4096,"description":"what to remember"},` +
		`"key":{"type":"string","maxLength":40,"description":"a short name for what it is about, such as birthday"}},` +
		`"required":["text"],"additionalProperties":false}`),
}

// Spec describes the tool.
func (rememberTool) Spec() agents.ToolSpec { return rememberSpec }

// Call keeps the note. Made again, it finds its own note.
func (t rememberTool) Call(ctx context.Context, args json.RawMessage, idempotencyKey string) (agents.ToolResult, error) {
	var a struct{ Text, Key string }
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("remember: %w", err)
	}
	key, err := session(ctx)
	if err != nil {
		return agents.ToolResult{}, err
	}
	note := &models.Note{
		ID:  "note_" + idempotencyKey[:min(len(idempotencyKey), models.MaxName-len("note_"))],
		Key: strings.TrimSpace(a.Key), Value: strings.TrimSpace(a.Text), CreatedAt: t.set.clock.Now().UTC(),
	}
	if err := t.set.notebook.PutNote(ctx, key, note); err != nil && !errors.Is(err, store.ErrExists) {
		return agents.ToolResult{}, refused(err, "the note is too long, or there are too many notes")
	}
	return agents.ToolResult{Text: "Remembered."}, nil
}

// recallTool shows notes of the session.
type recallTool struct{ set *Set }

var recallSpec = agents.ToolSpec{
	Name:        Recall,
	Description: "Shows the notes of this chat, newest first: all, or those that have certain words.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"words":{"type":"string",` +
		`"description":"words that a note must all have; leave it out for all notes"}},"additionalProperties":false}`),
}

// Spec describes the tool.
func (recallTool) Spec() agents.ToolSpec { return recallSpec }

// Call shows what there is.
func (t recallTool) Call(ctx context.Context, args json.RawMessage, _ string) (agents.ToolResult, error) {
	var a struct{ Words string }
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("recall: %w", err)
	}
	key, err := session(ctx)
	if err != nil {
		return agents.ToolResult{}, err
	}
	notes, err := t.set.notebook.Notes(ctx, key, models.MaxNotes)
	if err != nil {
		return agents.ToolResult{}, refused(err, "the notes cannot be read")
	}
	var lines []string
	for _, n := range notes {
		line := n.Value
		if n.Key != "" {
			line = n.Key + ": " + line
		}
		if !hasAll(line, strings.Fields(a.Words)) {
			continue
		}
		if len(lines) == maxRecalled {
			lines = append(lines, "… and older ones; ask for words that they have")
			break
		}
		lines = append(lines, "- "+line)
	}
	if len(lines) == 0 {
		return agents.ToolResult{Text: "There are no such notes."}, nil
	}
	return agents.ToolResult{Text: strings.Join(lines, "\n")}, nil
}

func hasAll(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// refused says in the model's terms why a store did not do something; what the store
// says is for the log.
func refused(err error, tooLarge string) error {
	switch {
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid):
		return errors.New(tooLarge)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return errors.New("it cannot be reached now")
}

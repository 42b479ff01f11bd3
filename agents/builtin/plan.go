package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
)

// planTool reads and writes the session's plan files.
type planTool struct{ set *Set }

var planSpec = agents.ToolSpec{
	Name:        Plan,
	Description: "Shows a plan file of this chat, or replaces it when a text is given. Keep what has to be done over several turns here.",
	Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"file":{"type":"string","enum":["PLAN.md","TODO.md"],"description":"leave it out for PLAN.md"},` +
		`"text":{"type":"string","description":"the whole new text, as Markdown; leave it out to read"}},"additionalProperties":false}`),
}

// Spec describes the tool.
func (planTool) Spec() agents.ToolSpec { return planSpec }

// Call shows or replaces a file.
func (t planTool) Call(ctx context.Context, args json.RawMessage, _ string) (agents.ToolResult, error) {
	var a struct {
		File string
		Text *string
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("plan: %w", err)
	}
	if a.File == "" {
		a.File = models.PlanFiles()[0]
	}
	key, err := session(ctx)
	if err != nil {
		return agents.ToolResult{}, err
	}
	if a.Text != nil {
		if err := t.set.notebook.PutFile(ctx, key, a.File, *a.Text); err != nil {
			return agents.ToolResult{}, refused(err, "the text is too long, or there is no such file")
		}
		return agents.ToolResult{Text: a.File + " is written."}, nil
	}
	text, err := t.set.notebook.File(ctx, key, a.File)
	if err != nil {
		return agents.ToolResult{}, refused(err, "there is no such file")
	}
	if text == "" {
		text = a.File + " is empty."
	}
	return agents.ToolResult{Text: text}, nil
}

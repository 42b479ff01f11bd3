package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/agents"
)

// TaskCall is what a model asks about the scheduled tasks of its turn's chat.
type TaskCall struct {
	Action string `json:"action"`
	When   string `json:"when"`
	Prompt string `json:"prompt"`
	ID     string `json:"id"`
}

// taskTool keeps the scheduled tasks of the turn's chat.
type taskTool struct{ set *Set }

var taskSpec = agents.ToolSpec{
	Name: Task,
	Description: "Schedules work for later in this chat, for the person you answer, and shows or changes what they scheduled. " +
		"When its time comes the prompt is put to you as a message, and what you answer is sent here; answer NO_REPLY to send nothing. " +
		"Use it only when asked to do something later or again and again.",
	Parameters: json.RawMessage(`{"type":"object","properties":{` +
		`"action":{"type":"string","enum":["add","list","pause","resume","delete"]},` +
		`"when":{"type":"string","maxLength":256,"description":"of add: once as in 18:00, tomorrow 9:15, friday 6pm, in 2 hours, 2026-12-24 20:00; ` +
		`repeating as in every 10m, every weekday at 9:00, every mon and thu 18:30, or five cron fields. In the time zone of this chat."},` +
		`"prompt":{"type":"string","maxLength":16384,"description":"of add: what is to be done then, understandable by itself"},` +
		`"id":{"type":"string","maxLength":64,"description":"of pause, resume and delete: the task"}},` +
		`"required":["action"],"additionalProperties":false}`),
}

// Spec describes the tool.
func (taskTool) Spec() agents.ToolSpec { return taskSpec }

// Call does what is asked. An add that is made again finds its own task.
func (t taskTool) Call(ctx context.Context, args json.RawMessage, idempotencyKey string) (agents.ToolResult, error) {
	var call TaskCall
	if err := json.Unmarshal(args, &call); err != nil {
		return agents.ToolResult{}, fmt.Errorf("task: %w", err)
	}
	inboundID, ok := agents.InboundIDFromContext(ctx)
	if !ok {
		return agents.ToolResult{}, errors.New("there is no chat here to schedule anything for")
	}
	say, err := t.set.chats.TaskFromTurn(ctx, inboundID, call, idempotencyKey)
	return agents.ToolResult{Text: say}, err
}

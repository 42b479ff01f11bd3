package toolloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/models"
)

// maxHeld bounds the calls of a turn that wait for a person.
const maxHeld = 8

// What a model learns of a call that was not made.
const (
	heldText  = "Not run yet: a person must approve this call first and has been asked. Its result comes in a later message. Do not call it again meanwhile; tell the user that it waits."
	againText = "Not run: this very call waits for a person's approval already."
)

var errTooManyHeld = errors.New("too many calls of this turn wait for a person's approval; the tool was not run")

// hold puts a call aside that a person must approve, and says so to the model.
func (r *runner) hold(j job, reasoning *string) agents.ToolResult {
	for _, before := range r.held {
		if before.Tool == j.name && string(before.Arguments) == string(j.arguments) {
			return agents.ToolResult{Text: againText}
		}
	}
	if len(r.held) >= maxHeld {
		return refusal(errTooManyHeld)
	}
	r.held = append(r.held, agents.HeldCall{Tool: j.name, Arguments: j.arguments, Key: j.key, Reasoning: reasoning})
	return agents.ToolResult{Text: heldText}
}

// decided is a tool that makes a call a person has decided on, or knows what became of it.
type decided struct {
	agents.Tool // nil: there is no such tool any more

	call *agents.DecidedCall
}

// Call resolves the call.
func (d decided) Call(ctx context.Context, arguments json.RawMessage, key string) (agents.ToolResult, error) {
	return d.call.Resolve(ctx, func(ctx context.Context) agents.ToolResult {
		if d.Tool == nil {
			return refusal(fmt.Errorf("there is no tool %q any more; it was not run", d.call.Tool))
		}
		return invoke(ctx, job{tool: d.Tool, name: d.call.Tool, arguments: arguments, key: key})
	}), nil
}

// resume begins a turn with a call that a person has decided on, as if the model had
// just made it.
func (l *loop) resume(ctx context.Context, call *agents.DecidedCall) error {
	message := &models.SessionMessage{
		Role: models.RoleAssistant, Reasoning: call.Reasoning,
		ToolCalls: []models.ToolCall{{Name: call.Tool, Arguments: string(call.Arguments)}},
	}
	l.ids.repair(message.ToolCalls)
	l.add(message)
	tool, timeout := l.runner.tools.byName[call.Tool], l.runner.cfg.ToolTimeout
	if tool != nil {
		timeout = l.runner.timeout(tool)
	}
	results, err := l.runner.runJobs(ctx, message.ToolCalls, []job{{
		tool: decided{tool, call}, name: call.Tool, arguments: call.Arguments, key: call.Key, timeout: timeout,
	}}, make([]*models.SessionMessage, 1))
	if err != nil {
		return err
	}
	l.add(results...)
	return nil
}

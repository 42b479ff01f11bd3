package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/agents"
)

// timeTool tells the time.
type timeTool struct{ set *Set }

var timeSpec = agents.ToolSpec{
	Name:        Time,
	Description: "Tells the current date, time and weekday.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string",` +
		`"description":"IANA time zone such as Asia/Shanghai or UTC; leave it out for the zone of this chat"}},"additionalProperties":false}`),
}

// Spec describes the tool.
func (timeTool) Spec() agents.ToolSpec { return timeSpec }

type timeArguments struct {
	Zone string `json:"zone"`
}

// timeAnswer is told as JSON. Models are bad at weekdays and at offsets.
type timeAnswer struct {
	Time    string `json:"time"` // RFC 3339
	Weekday string `json:"weekday"`
	Zone    string `json:"zone"`
	Unix    int64  `json:"unix"` // seconds
}

// Call tells the time in the zone that was asked for.
func (t timeTool) Call(_ context.Context, args json.RawMessage, _ string) (agents.ToolResult, error) {
	var a timeArguments
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("time: %w", err)
	}
	zone := t.set.zone
	if a.Zone != "" {
		var err error
		if zone, err = time.LoadLocation(a.Zone); err != nil {
			return agents.ToolResult{}, fmt.Errorf("there is no time zone %q: use a name such as Asia/Shanghai, Europe/Berlin or UTC", a.Zone)
		}
	}
	now := t.set.clock.Now().In(zone)
	name, _ := now.Zone()
	if zone.String() != "Local" {
		name = zone.String()
	}
	text, err := json.Marshal(timeAnswer{now.Format(time.RFC3339), now.Weekday().String(), name, now.Unix()})
	return agents.ToolResult{Text: string(text)}, err
}

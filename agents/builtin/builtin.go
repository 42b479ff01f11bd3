package builtin

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// The names of the tools.
const (
	Time = "time"
)

// Names lists the tools that there are.
func Names() []string { return []string{Time} }

// Set makes the tools. It is safe for concurrent use.
type Set struct {
	clock clock.Clock
	zone  *time.Location
}

// New returns a set whose times are in zone unless a model asks for another one.
func New(zone *time.Location, c clock.Clock) *Set { return &Set{clock: c, zone: zone} }

// Toolset returns the tools with the given names; a name that is none is left out.
func (s *Set) Toolset(names []string) agents.Toolset {
	var out tools
	for _, name := range names {
		if name == Time {
			out = append(out, timeTool{s})
		}
	}
	return out
}

// tools is a fixed list.
type tools []agents.Tool

// Tools returns the list.
func (t tools) Tools(context.Context) ([]agents.Tool, error) { return t, nil }

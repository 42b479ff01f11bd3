package builtin

import (
	"context"
	"errors"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
)

// The names of the tools.
const (
	Time     = "time"
	Remember = "remember"
	Recall   = "recall"
	Plan     = "plan"
)

// Names lists the tools that there are.
func Names() []string { return []string{Time, Remember, Recall, Plan} }

// Notebook is what sessions keep beside their messages.
type Notebook interface {
	// Notes returns the newest limit notes, newest first.
	Notes(ctx context.Context, sessionKey string, limit int) ([]*models.Note, error)
	// PutNote adds a note, or replaces the one with the same non-empty key. A note
	// whose id is there already was put before.
	PutNote(ctx context.Context, sessionKey string, n *models.Note) error
	// File returns a plan file, "" if it was never written.
	File(ctx context.Context, sessionKey, name string) (string, error)
	// PutFile replaces a plan file.
	PutFile(ctx context.Context, sessionKey, name, text string) error
}

// Set makes the tools. It is safe for concurrent use.
type Set struct {
	notebook Notebook
	clock    clock.Clock
	zone     *time.Location
}

// New returns a set whose times are in zone unless a model asks for another one.
func New(zone *time.Location, n Notebook, c clock.Clock) *Set {
	return &Set{notebook: n, clock: c, zone: zone}
}

// Toolset returns the tools with the given names; a name that is none is left out.
func (s *Set) Toolset(names []string) agents.Toolset {
	var out tools
	for _, name := range names {
		switch name {
		case Time:
			out = append(out, timeTool{s})
		case Remember:
			out = append(out, rememberTool{s})
		case Recall:
			out = append(out, recallTool{s})
		case Plan:
			out = append(out, planTool{s})
		}
	}
	return out
}

// tools is a fixed list.
type tools []agents.Tool

// Tools returns the list.
func (t tools) Tools(context.Context) ([]agents.Tool, error) { return t, nil }

// errNoSession is what a model learns where nothing is kept, as in a stateless call.
var errNoSession = errors.New("there is no session here to keep anything in")

// session is the one that a call belongs to. It never comes from arguments: a model
// reaches its own session and no other.
func session(ctx context.Context) (string, error) {
	key, ok := chatctx.SessionKeyFromContext(ctx)
	if !ok {
		return "", errNoSession
	}
	return key, nil
}

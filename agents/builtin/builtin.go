package builtin

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
	"github.com/chatkeep/chatkeep/store"
)

// The names of the tools.
const (
	Time     = "time"
	Remember = "remember"
	Recall   = "recall"
	Plan     = "plan"
	ReadMore = "read_more"

	HistorySearch = "history_search"
	SendToChat    = "send_to_chat"
	Task          = "task"
)

// Names lists the tools that there are.
func Names() []string {
	return []string{Time, Remember, Recall, Plan, ReadMore, HistorySearch, SendToChat, Task}
}

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
	// Result returns a tool's result that is kept whole, or [store.ErrNotFound].
	Result(ctx context.Context, sessionKey, id string) (*models.FullResult, error)
}

// Set makes the tools. It is safe for concurrent use.
type Set struct {
	notebook Notebook
	history  store.Search
	chats    Chats
	clock    clock.Clock
	zone     *time.Location
}

// New returns a set whose times are in zone unless a model asks for another one.
func New(zone *time.Location, n Notebook, h store.Search, chats Chats, c clock.Clock) *Set {
	return &Set{notebook: n, history: h, chats: chats, clock: c, zone: zone}
}

// Toolset returns the tools with the given names; a name that is none is left out.
// Besides their own one they may send to the chats in sendTo (channel/account/chatId).
func (s *Set) Toolset(names, sendTo []string) agents.Toolset {
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
		case ReadMore:
			out = append(out, readMoreTool{s})
		case HistorySearch:
			out = append(out, historyTool{s})
		case SendToChat:
			out = append(out, sendTool{set: s, chats: sendTo})
		case Task:
			out = append(out, taskTool{s})
		}
	}
	return out
}

// tools is a fixed list.
type tools []agents.Tool

// Tools returns the list for one turn.
func (t tools) Tools(context.Context) ([]agents.Tool, error) {
	out := slices.Clone(t)
	for i, tool := range out {
		if send, ok := tool.(sendTool); ok {
			send.sent = new(atomic.Int32)
			out[i] = send
		}
	}
	return out, nil
}

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

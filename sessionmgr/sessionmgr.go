package sessionmgr

import (
	"context"

	"github.com/chatkeep/chatkeep/models"
)

// SessionManager keeps sessions. What it takes and gives are copies. It is safe
// for concurrent use.
type SessionManager interface {
	// GetOrCreate returns the session that the request means, with its messages as
	// Get, and creates it if need be. Of several creators at once all get the same.
	GetOrCreate(ctx context.Context, req SessionRequest) (*models.Session, error)
	// Get returns a session with the newest Config.MaxMessages messages of its
	// current slot, or an ErrSessionNotFound.
	Get(ctx context.Context, key string) (*models.Session, error)
	// AddMessage appends a message to the session's current slot. Id, time, tokens,
	// slot and seq are given to it where they are missing; the argument stays as it is.
	AddMessage(ctx context.Context, key string, message *models.SessionMessage) error
	// AppendTurn appends messages to the current slot, all or none. Over a storage
	// that is no TurnStorage it is an ErrTurnsUnsupported.
	AppendTurn(ctx context.Context, key string, messages []*models.SessionMessage) error
	// GetHistory returns the newest limit messages of the current slot, oldest
	// first; all of them if limit is zero or less.
	GetHistory(ctx context.Context, key string, limit int) ([]*models.SessionMessage, error)
	// Update changes what a session says of itself. It never touches messages, what
	// is counted of them, the key and what follows from it, and the creation time.
	Update(ctx context.Context, session *models.Session) error
	// Delete removes a session and all that belongs to it, or is an ErrSessionNotFound.
	Delete(ctx context.Context, key string) error
	// List returns the sessions that match, without messages, in a stable order.
	List(ctx context.Context, query SessionQuery) ([]*models.Session, error)
	// CompactIfNeeded compacts a session's current slot if the configuration says
	// so, and reports whether it did. See [WithCompactor].
	CompactIfNeeded(ctx context.Context, key string) (bool, error)
	// GetConfig returns the configuration in effect.
	GetConfig() Config
}

// SessionRequest says which session is meant. A given ScopeID is the last part of
// the key as it is; else it follows from the ids (see [key.DeriveCaller]).
type SessionRequest struct {
	AgentID string
	Channel string
	Account string
	Scope   models.Scope // default per_peer
	// ScopeID is in its escaped form, as in models.Session.
	ScopeID  string
	ChatID   string
	ThreadID string
	UserID   string
}

// SessionQuery selects sessions; an empty field matches all.
type SessionQuery struct {
	AgentID string
	Channel string
	Scope   models.Scope
	State   models.SessionState
	// Limit is the most to return; zero or less is no limit.
	Limit int
	// Offset is how many to skip first; less than zero is zero.
	Offset int
}

// Matches reports whether the query selects s; Limit and Offset play no part.
func (q SessionQuery) Matches(s *models.Session) bool {
	return (q.AgentID == "" || q.AgentID == s.AgentID) &&
		(q.Channel == "" || q.Channel == s.Channel) &&
		(q.Scope == "" || q.Scope == s.Scope) &&
		(q.State == "" || q.State == s.State)
}

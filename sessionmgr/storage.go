package sessionmgr

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chatkeep/chatkeep/models"
)

// Sentinels of sessions and their storages.
var (
	ErrSessionNotFound      = errors.New("session not found")
	ErrSessionExists        = errors.New("session exists")
	ErrTurnsUnsupported     = errors.New("the storage cannot append a turn as a whole")
	ErrVariablesUnsupported = errors.New("the session manager keeps no variables")
	// ErrInvalid is wrapped for input that can never be stored; the text says why.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge is wrapped for input beyond the limits of package models.
	ErrTooLarge = errors.New("too large")
)

// SessionStorage is what keeps sessions and their messages: all that [New] needs.
// What it takes and gives must be copies, down to the last slice; keys are
// compared byte for byte; it must be safe for concurrent use. The manager checks
// its input before. Package storagetest tests an implementation.
type SessionStorage interface {
	// Create stores a session without its Messages. Of several creators of a key
	// one succeeds and the others get an ErrSessionExists.
	Create(ctx context.Context, session *models.Session) error
	// Get returns a session, with or without Messages, or an ErrSessionNotFound.
	Get(ctx context.Context, key string) (*models.Session, error)
	// Update replaces a session and leaves its messages as they are, whatever its
	// Messages hold. A session that does not exist is an ErrSessionNotFound.
	Update(ctx context.Context, session *models.Session) error
	// Delete removes a session with its messages, or is an ErrSessionNotFound. A
	// session created later under the key begins without messages.
	Delete(ctx context.Context, key string) error
	// AddMessage appends a message, or is an ErrSessionNotFound.
	AddMessage(ctx context.Context, key string, message *models.SessionMessage) error
	// GetHistory returns the newest limit messages in the order in which they were
	// appended; all of them if limit is zero or less. It may leave out those of
	// other slots than the session's current one. A session that does not exist is
	// an ErrSessionNotFound.
	GetHistory(ctx context.Context, key string, limit int) ([]*models.SessionMessage, error)
	// List returns the sessions that match, without Messages, in an order that
	// stays while nothing changes.
	List(ctx context.Context, query SessionQuery) ([]*models.Session, error)
}

// TurnStorage is a storage that can append several messages together.
type TurnStorage interface {
	SessionStorage
	// AppendTurn appends the messages in their order, all or none, with no others
	// between them, or is an ErrSessionNotFound.
	AppendTurn(ctx context.Context, key string, messages []*models.SessionMessage) error
}

// CounterStorage is a storage that keeps by itself what follows from messages and
// slots: Seq and Slot of a message; MessageCount, TotalTokenCount,
// CompactionCount, CompactedSummary, CurrentSlot, State and the times of a
// session. It does so in the same step that appends; its Update leaves the counts
// alone and may refuse or ignore the others. Over any other storage the manager
// does it, one append of a session after the other within the process.
type CounterStorage interface {
	SessionStorage
	// KeepsCounters does nothing; it tells that the storage keeps the rule above.
	KeepsCounters()
}

// VariableStorage keeps the variables of sessions, as JSON values. Over a storage
// without it the manager keeps them in memory.
type VariableStorage interface {
	// Variables returns all variables of a session; none is an empty map or nil.
	Variables(ctx context.Context, key string) (map[string]json.RawMessage, error)
	// SetVariable adds or replaces a variable, or is an ErrSessionNotFound.
	SetVariable(ctx context.Context, key, name string, value json.RawMessage) error
	// DeleteVariable removes a variable if there is one.
	DeleteVariable(ctx context.Context, key, name string) error
}

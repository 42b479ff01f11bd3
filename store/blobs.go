package store

import (
	"context"

	"github.com/chatkeep/chatkeep/models"
)

// Blobs keeps the whole text of results that were too large for a context. They go
// with their session, and after the retention of inbound messages.
type Blobs interface {
	// PutResult stores a result of a turn that is running under the claim; [ErrStopped]
	// or [ErrLeaseLost] otherwise. One of the same id is replaced. Beyond
	// models.MaxFullResults of a session the oldest go.
	PutResult(ctx context.Context, c Claim, r *models.FullResult) error
	// Result returns one with its text, or [ErrNotFound].
	Result(ctx context.Context, sessionKey, id string) (*models.FullResult, error)
	// Results returns all of a session without their texts, newest first.
	Results(ctx context.Context, sessionKey string) ([]*models.FullResult, error)
}

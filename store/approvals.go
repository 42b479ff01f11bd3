package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Approvals keeps calls of tools that wait for a person. They are stored with the
// turn that made them ([TurnCommit].Approvals).
type Approvals interface {
	// Approval returns one by its code, or [ErrNotFound]; so for one of a deleted session.
	Approval(ctx context.Context, code string) (*models.Approval, error)
	// ListApprovals returns a page, newest first.
	ListApprovals(ctx context.Context, q ApprovalQuery) (items []*models.Approval, nextCursor string, err error)
	// BeginCall marks an approved call as begun, once: the first caller gets true and
	// must make the call. Everybody later gets false with the approval as it is: done
	// with its result or, where a process died in the call, still running.
	BeginCall(ctx context.Context, code string) (*models.Approval, bool, error)
	// EndCall stores what a call came to that BeginCall gave to the caller.
	EndCall(ctx context.Context, code string, result []byte) error
}

// ApprovalsTx decides on calls. The session is that of the call.
type ApprovalsTx interface {
	// Approval returns a call of the session, or [ErrNotFound].
	Approval(code string) (*models.Approval, error)
	// Decide makes a pending call approved or denied; [ErrConflict] if it is decided
	// or has expired.
	Decide(code string, d Decision) error
	// Promote makes a command, which has no outcome yet, a message that asks for a turn
	// of a slot: it waits in the lane at its place, is never merged, and has another
	// payload. [ErrConflict] if it has its outcome.
	Promote(id, slot string, payload []byte) error
}

// Decision is what somebody decided on a call.
type Decision struct {
	State models.ApprovalState // approved or denied
	By    string
	// InboundID is the message that said so.
	InboundID string
	Now       time.Time
}

// ApprovalQuery selects approvals.
type ApprovalQuery struct {
	State  models.ApprovalState // as stored; empty: any
	Limit  int
	Cursor string
}

package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Access keeps who asked to be let in, and who was.
type Access interface {
	// RequestAccess stores a request that is pending. If the subject has one already that
	// has not expired, or was approved or denied, nothing changes: it returns that one
	// and false. [ErrQueueFull] if most of the account are pending; [ErrExists] if the
	// code names another request: choose another.
	RequestAccess(ctx context.Context, r *models.AccessGrant, most int) (*models.AccessGrant, bool, error)
	// Approved returns those of the subjects that are approved, in one query; at most
	// 1000 subjects.
	Approved(ctx context.Context, subjects []models.AccessSubject) ([]models.AccessSubject, error)
	// ListAccess returns a page, newest first. Expired requests are left out.
	ListAccess(ctx context.Context, q AccessQuery) (items []*models.AccessGrant, nextCursor string, err error)
	// DecideAccess approves or denies the pending request of a code; [ErrNotFound] if
	// there is none, or it has expired.
	DecideAccess(ctx context.Context, d AccessDecision) (*models.AccessGrant, error)
	// RemoveAccess forgets what was requested or decided under an id and returns it, or
	// [ErrNotFound]. The subject is unknown then.
	RemoveAccess(ctx context.Context, id string) (*models.AccessGrant, error)
	// TellOnce stores deliveries of one session, or none, unless this was done under the
	// key and until is not over yet. It reports whether it stored them.
	TellOnce(ctx context.Context, key string, now, until time.Time, deliveries []*models.Delivery) (bool, error)
}

// AccessTx is what a chat command may do about access, in its own transaction.
type AccessTx interface {
	// DecideAccess is [Access].DecideAccess.
	DecideAccess(d AccessDecision) (*models.AccessGrant, error)
	// PendingAccess returns the newest pending requests of an account.
	PendingAccess(channel, account string, now time.Time, limit int) ([]*models.AccessGrant, error)
	// CountTry counts a try under a key and returns how many there were since the first
	// of them, this one included; after window it begins anew.
	CountTry(key string, now time.Time, window time.Duration) (int, error)
}

// AccessDecision approves or denies a request.
type AccessDecision struct {
	Code string
	// Channel and Account, when not empty, are the only ones whose requests count.
	Channel, Account string
	State            models.AccessState // approved or denied
	By               string
	Now              time.Time
}

// AccessQuery selects requests and grants.
type AccessQuery struct {
	State   models.AccessState // empty: approved and denied
	Channel string             // empty: any
	Account string             // empty: any
	Now     time.Time
	Limit   int
	Cursor  string
}

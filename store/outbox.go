package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// TargetClaim is the right to send to one chat or thread, until the lease ends.
type TargetClaim struct {
	// Channel and Account say which adapter sends.
	Channel string
	Account string
	// ID is the store's own name of the target.
	ID    string
	Fence int64
}

// Outbox sends messages, in order per target.
type Outbox interface {
	// Enqueue stores deliveries that belong to no turn: pushes. With a key in once it
	// happens once; a repeat returns false and the first delivery's id in
	// deliveries[0].ID, or [ErrConflict] if it has another fingerprint. With remember set the texts are appended to the session (as
	// assistant messages of the current slot) when they are delivered; those with an
	// Observed payload become observed messages of the session's lane instead.
	Enqueue(ctx context.Context, deliveries []*models.Delivery, once Once, remember *models.Session) (bool, error)
	// ClaimTargets claims up to limit targets that have something to send now.
	ClaimTargets(ctx context.Context, c ClaimRequest, limit int) ([]TargetClaim, error)
	// RenewTargets extends leases and returns those claims that are lost.
	RenewTargets(ctx context.Context, claims []TargetClaim, lease time.Duration) (lost []TargetClaim, err error)
	// NextDelivery marks the target's next delivery sending and returns it. Nil: none is
	// due now, and the target is released. A delivery that was sending when its process
	// died is returned again, marked ambiguous and with that attempt counted.
	NextDelivery(ctx context.Context, c TargetClaim, now time.Time) (*models.Delivery, error)
	// FinishDelivery stores what became of a delivery that was sending, and returns the
	// target's next one as NextDelivery does. A final state forgets the stream card that
	// the delivery finishes. [ErrLeaseLost] if the claim is not the newest.
	FinishDelivery(ctx context.Context, c TargetClaim, r DeliveryResult) (*models.Delivery, error)
	// ReleaseTarget hands a target back; a sending delivery stays as it is.
	ReleaseTarget(ctx context.Context, c TargetClaim, delay time.Duration) error

	// Delivery returns one delivery, or [ErrNotFound].
	Delivery(ctx context.Context, id string) (*models.Delivery, error)
	// AnsweredTarget returns where an answer in a chat, outside of its threads, went: it
	// tells the kind of chat. [ErrNotFound] if none is kept.
	AnsweredTarget(ctx context.Context, channel, account, chatID string) (models.Target, error)
	// ListDeliveries returns a page, newest first.
	ListDeliveries(ctx context.Context, q DeliveryQuery) (items []*models.Delivery, nextCursor string, err error)
	// RetryDelivery makes a failed or dead delivery pending again, queued now, under a new
	// id if its idempotency window may have passed; [ErrConflict] in any other state.
	RetryDelivery(ctx context.Context, id string, now time.Time) (*models.Delivery, error)
	// CloseTarget gives up everything that waits to be sent to a chat that is gone, in all
	// of its threads; for a target without a chat, to its user. [ErrInvalid] for neither.
	CloseTarget(ctx context.Context, channel, account string, t models.Target, reason string, now time.Time) (int, error)
}

// Once makes something happen once.
type Once struct {
	// Key is the same for every repeat; empty: nothing is a repeat.
	Key string
	// Fingerprint of what the key stands for: under another one the key is taken.
	// Empty: whatever comes under the key is a repeat.
	Fingerprint string
}

// DeliveryResult is what became of an attempt to send.
type DeliveryResult struct {
	ID    string
	State models.DeliveryState
	// Error is one line for the operator; empty if all went well.
	Error             string
	PlatformMessageID string
	// RetryAt goes with state pending.
	RetryAt time.Time
	// Ambiguous marks the delivery as possibly sent; it is never unmarked. A delivery
	// that was sending when its process died is marked by NextDelivery.
	Ambiguous bool
	// CountAttempt is false if the attempt says nothing about the delivery (the platform was down).
	CountAttempt bool
	Now          time.Time
}

// DeliveryQuery selects deliveries.
type DeliveryQuery struct {
	State  models.DeliveryState // empty: any
	Limit  int
	Cursor string
}

// Previews keep stream cards findable, so that each of them is finished.
type Previews interface {
	// SavePreview inserts or updates a preview of a turn that is running under the
	// claim; [ErrStopped] or [ErrLeaseLost] otherwise.
	SavePreview(ctx context.Context, c Claim, p *models.Preview) error
	// Preview returns one, or [ErrNotFound].
	Preview(ctx context.Context, id string) (*models.Preview, error)
	// UpdatePreviewState stores the adapter's state of a preview that is being finished.
	UpdatePreviewState(ctx context.Context, id string, state []byte) error
	// TargetBusy reports whether something waits to be sent to the target.
	TargetBusy(ctx context.Context, channel, account string, t models.Target) (bool, error)
}

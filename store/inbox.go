package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Inbox takes messages in.
type Inbox interface {
	// Accept stores a message, once, in one transaction: it takes the next place in
	// the session's order, binds slot and epoch, makes the lane due, and claims it if
	// that was asked for and the lane is idle (the message is then running).
	// A duplicate changes nothing and returns the first message.
	Accept(ctx context.Context, r *AcceptRequest) (*Accepted, error)
	// Inbound returns one message, or [ErrNotFound]; so for a message of a deleted session.
	Inbound(ctx context.Context, id string) (*models.Inbound, error)
	// InboundBatch returns those of the messages that exist, without their payloads,
	// in one query; at most 1000 ids.
	InboundBatch(ctx context.Context, ids []string) ([]*models.Inbound, error)
	// ListInbound returns a page, newest first, without payloads.
	ListInbound(ctx context.Context, q InboundQuery) (items []*models.Inbound, nextCursor string, err error)
	// FindInbound returns the message that was accepted under a deduplication key, or [ErrNotFound].
	FindInbound(ctx context.Context, dedupKey string) (*models.Inbound, error)
	// Tombstone remembers a deduplication key of a message that must not be accepted
	// when it comes (it was recalled first). It reports false if it was accepted already.
	Tombstone(ctx context.Context, dedupKey string) (bool, error)
	// ResolveThread returns the thread that one of the ids is an alias of, or "".
	ResolveThread(ctx context.Context, channel, account string, ids []string) (string, error)
	// Observed returns the newest observed messages of a session's lane with a place
	// after seq, received since the given time, oldest first, with payloads.
	Observed(ctx context.Context, sessionKey string, after int64, since time.Time, limit int) ([]*models.Inbound, error)
	// LatestMessage returns the newest message of a session that asked for a turn,
	// whatever became of it, or [ErrNotFound].
	LatestMessage(ctx context.Context, sessionKey string) (*models.Inbound, error)
	// ClaimCommands claims commands whose process died before they were carried out, and
	// what was deferred ([SessionTx].Defer) as well.
	ClaimCommands(ctx context.Context, c ClaimRequest, limit int) ([]*models.Inbound, error)
	// RenewCommands extends the leases of commands that an owner carries out, and returns
	// those that are still its own: the others have their outcome, or were taken over.
	RenewCommands(ctx context.Context, ids []string, c ClaimRequest) (held []string, err error)
	// ReleaseCommand hands a deferred command of an owner's back before it has its outcome:
	// it is due at once, and the attempt does not count.
	ReleaseCommand(ctx context.Context, id, owner string) error
}

// AcceptRequest is a message to be stored.
type AcceptRequest struct {
	// Inbound gives ID, SessionKey, Channel, Account, PlatformMessageID, Kind,
	// SenderID, Awaited, CreatedAt, ReceivedAt, Payload, and Slot if the caller chose
	// one (else the session's current slot is bound). The rest is the store's to set.
	// Kind ignored needs Code and Error.
	Inbound models.Inbound
	// DedupKeys are the keys under which the message counts as the same. The first
	// is the message's own; others (an event id) are stored with it.
	DedupKeys []string
	// Fingerprint of what was said: a duplicate with another one is [Accepted.Differs].
	Fingerprint []byte
	// RunAgain lets a duplicate whose first run failed, died or was cancelled run
	// again as the same message: it keeps its id and takes a new place in the order.
	// It is then accepted, not a duplicate: Duplicate stays false.
	RunAgain bool
	// Claim asks for the lane if it is idle. Ignored with a Delay.
	Claim *ClaimRequest
	// Rate bounds messages that ask for a turn; nil: no bound. One too many is stored as
	// failed with [models.CodeRateLimited] and wakes nobody; one that was to run again
	// stays as it is.
	Rate *Rate
	// Delay keeps an idle lane from being claimed for so long.
	Delay time.Duration
	// Cap bounds the waiting messages of the session (not counting a running one)
	// when positive. Over it the message is refused with [ErrQueueFull] if Reject is
	// set, else the oldest waiting ones are superseded by it.
	Cap    int
	Reject bool
	// Interrupt supersedes what the same sender of the same account has running in the
	// lane, in the same slot; the texts of the interrupted messages belong before the new
	// one's ([models.Inbound].Replaces).
	Interrupt bool
	// Same says whether a running message goes to the same place (chat and thread) as one
	// that interrupts it, which a store does not know; it must be pure. Nil: it does.
	Same func(running, next *models.Inbound) bool
	// Notice makes the notice for messages that are superseded by this one; it must
	// be pure. Nil: none.
	Notice func(superseded []*models.Inbound) []*models.Delivery
	// Aliases are further ids of the message's thread.
	Aliases []ThreadAlias
}

// ThreadAlias is one more id that a thread goes by.
type ThreadAlias struct {
	Channel string
	Account string
	Alias   string
	Thread  string
}

// Accepted is what became of a message.
type Accepted struct {
	// Inbound is the message as stored, or the first one if this was a duplicate; nil
	// if it was recalled before it came, or the first one's session was deleted.
	Inbound   *models.Inbound
	Duplicate bool
	// Differs is set on a duplicate with another fingerprint.
	Differs bool
	// Claim is set if the lane is now the caller's and Inbound is its running message.
	Claim *Claim
	// Limited is set if the rate did not let the message run.
	Limited bool
	// Superseded are the messages that this one replaced.
	Superseded []*models.Inbound
}

// InboundQuery selects inbound messages.
type InboundQuery struct {
	State  models.InboundState // empty: any
	Limit  int
	Cursor string
}
